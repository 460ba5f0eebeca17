"""Real agents as processes, and what they answer to scrapes, second by second."""

import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.ports import free_address
from tests.recorded import copied, machine

START_SECONDS = 90.0


def copy_of(name: str, folder: Path) -> Path:
    """A copy of a recorded machine, since an agent writes to it."""
    copied(machine(name), folder)
    return folder


@dataclass(kw_only=True)
class Agent:
    """A running `numa-agent run`, and what it answered so far: moment and text, or None."""

    root: Path
    node: str
    process: subprocess.Popen[bytes]
    address: str
    config: Path
    context: ssl.SSLContext | None = None
    scrapes: list[tuple[float, str | None]] = field(default_factory=list)

    @property
    def labels(self) -> dict[str, str]:
        """The target's labels, as the PodMonitor gives them."""
        return {"job": "numa-agent/numa-agent", "instance": self.address, "node": self.node}

    def answer(self) -> str | None:
        """What /metrics says now, None where nobody answers."""
        scheme = "http" if self.context is None else "https"
        url = f"{scheme}://{self.address}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=30, context=self.context) as found:
                text: str = found.read().decode()
        except OSError:
            return None
        return text

    def scrape(self) -> str | None:
        """Ask once and keep it."""
        moment, text = time.time(), self.answer()
        self.scrapes.append((moment, text))
        return text

    def wait_for(self, line: str) -> None:
        """Wait until one of the lines of /metrics begins so."""
        deadline = time.monotonic() + START_SECONDS
        while not any(each.startswith(line) for each in (self.answer() or "").splitlines()):
            assert self.process.poll() is None, f"the agent on {self.node} ended"
            assert time.monotonic() < deadline, f"{self.node} never says {line}"
            time.sleep(0.1)

    def restart(self) -> None:
        """End it and start another one."""
        self.end()
        self.process = _started(self.config)

    def end(self) -> None:
        """End it as kubelet does."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


def each_second(count: int) -> Iterator[int]:
    """So many numbers, a second apart or more: who was held up doesn't hurry afterwards."""
    for number in range(count):
        began = time.monotonic()
        yield number
        time.sleep(max(0.0, began + 1.0 - time.monotonic()))


def _started(config: Path) -> subprocess.Popen[bytes]:
    """Start one that dies with the thread that did, even where the tests are killed."""
    guard = ("setpriv", "--pdeathsig", "KILL")
    with config.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            [*guard, sys.executable, "-m", "numa_agent", "run", "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


@contextmanager
def agent(root: Path, node: str, *, scheme: str = "http", **settings: object) -> Iterator[Agent]:
    """An agent on a machine's folder, from its first pass on until the block ends."""
    address = free_address()
    config = root.parent / f"{root.name}.yaml"
    given = {"hostRoot": root, "metrics": address, "passSeconds": 5, **settings}
    config.write_text("".join(f"{key}: {value}\n" for key, value in given.items()))
    context = None
    if scheme == "https":
        context = ssl.create_default_context(cafile=str(settings["metricsTlsCert"]))
    running = Agent(
        root=root,
        node=node,
        process=_started(config),
        address=address,
        config=config,
        context=context,
    )
    try:
        running.wait_for("numa_agent_passes_total")
        yield running
    finally:
        running.end()
