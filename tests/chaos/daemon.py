"""`numa-agent run` as a process: its settings, its pages, what it says, and its end."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests import waits

SECONDS = 45.0
"""No test waits longer for what must come: a busy computer takes its time."""
AT_ONCE = 3.0
"""What follows an event comes within this; what waits for the next pass mostly doesn't."""
MEANWHILE = 1.0
"""So long is looked whether something comes that mustn't."""
ENDS_SECONDS = 5.0
"""Half a second, and what a busy computer adds; none of what it may be waiting for is over."""

Page = tuple[int, str]
"""Status and text of a page; (0, why) where there was none."""


def eventually(what: Callable[[], object], seconds: float = SECONDS) -> float:
    """Wait until something is true; answers the seconds that took."""
    return waits.eventually(what, seconds)


class Settings:
    """A configuration file in a folder that is swapped whole, as kubelet does with a ConfigMap."""

    def __init__(self, folder: Path, values: Mapping[str, object]) -> None:
        self._folder = folder
        self._values = dict(values)
        self._number = 0
        folder.mkdir()
        self.path = folder / "config.yaml"
        self.path.symlink_to("..data/config.yaml")
        self.change()

    def change(self, **values: object) -> None:
        """Swap the file for one in which these settings are others."""
        self._values |= values
        self.text("".join(f"{key}: {value}\n" for key, value in self._values.items()))

    def repair(self, key: str) -> None:
        """Leave out a setting from the next change on."""
        del self._values[key]

    def text(self, content: str) -> None:
        """Swap the file for one with this text."""
        self._number += 1
        data = self._folder / f"..{self._number}"
        data.mkdir()
        (data / "config.yaml").write_text(content)
        fresh = self._folder / "..data_tmp"
        fresh.symlink_to(data.name)
        fresh.rename(self._folder / "..data")


class Daemon:
    """One process; `before` is put in front of its command, `environment` beside its own.

    It dies with the thread that started it, even where the tests are killed.
    """

    def __init__(
        self,
        settings: Settings,
        port: int,
        log: Path,
        *,
        options: Sequence[str] = (),
        before: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        output: Path | None = None,
    ) -> None:
        self._port = port
        self._log = log
        unset = ("NODE_NAME", "KUBECONFIG", "KUBERNETES_SERVICE_HOST")
        own = {key: value for key, value in os.environ.items() if key not in unset}
        command = [sys.executable, "-m", "numa_agent", "run", "--config", str(settings.path)]
        guard = ("setpriv", "--pdeathsig", "KILL")
        with (output or log).open("ab") as said:
            self.process = subprocess.Popen(
                [*guard, *before, *command, *options],
                env={**own, **(environment or {})},
                cwd=Path(__file__).parents[2],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def said(self) -> str:
        """All that it printed until now, whole once it has ended."""
        return self._log.read_text()

    def says(self, text: str) -> bool:
        """Wait until it has printed something: its pages say it first."""
        eventually(lambda: text in self.said())
        return True

    def page(self, path: str) -> Page:
        """Ask one of its pages."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        with closing(connection):
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
            except (OSError, http.client.HTTPException) as error:
                return 0, str(error)

    def ready(self) -> bool:
        """Whether /readyz says so."""
        self.check_running()
        return self.page("/readyz")[0] == 200

    def quiet(self) -> bool:
        """Whether it is ready and names nothing that fails."""
        self.check_running()
        return self.page("/readyz") == (200, "ready\n")

    def names(self, text: str) -> bool:
        """Whether /readyz names something that fails with these words."""
        self.check_running()
        return text in self.page("/readyz")[1]

    def report(self) -> dict[str, Any]:
        """The last pass."""
        status, text = self.page("/statusz")
        assert status == 200, text
        found: dict[str, Any] = json.loads(text)
        return found

    def outcomes(self) -> list[str]:
        """What became of the objects by the last pass."""
        return [each["outcome"] for each in self.report()["publications"]]

    def metric(self, line: str) -> float:
        """A sample's value, 0 where there is none yet; `line` is all that stands before it."""
        for each in self.page("/metrics")[1].splitlines():
            if each.startswith(f"{line} "):
                return float(each.rpartition(" ")[2])
        return 0.0

    def check_running(self) -> None:
        code = self.process.poll()
        assert code is None, f"it ended with status {code}:\n{self.said()}"

    def ends(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Send a signal and wait for the end; the seconds until then."""
        self.process.send_signal(number)
        return eventually(lambda: self.process.poll() is not None)

    def wait(self) -> int:
        """Wait for an end that it finds by itself; its exit code."""
        return self.process.wait(SECONDS)

    def close(self) -> None:
        """End it whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)
