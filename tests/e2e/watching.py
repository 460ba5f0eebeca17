"""What the kernel held pods to in every moment of a scenario, as a program in the guest saw it."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.e2e.bench.guest import Guest


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """From `at` on a cgroup below kubepods had these CPUs in force, or, with None, was gone.

    Seconds since the machine's start; `late` is how long nobody had looked before.
    """

    at: float
    late: float
    group: str
    cpus: str | None


class Watch:
    """Looks at the CPUs of each pod's and container's cgroup while the `with` block goes on.

    It has looked once when that begins.

    `changes` has what was seen so far, in its order.
    """

    def __init__(self, node: Guest, name: str) -> None:
        self._node = node
        self._file = f"{name}.watch"

    def __enter__(self) -> Self:
        python = Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name
        share = "/run/share"
        file = f"{share}/{self._file}"
        command = f"{python} {share}/watch_cpus.py {file}"
        # There is always a pod to tell of: the agent's.
        first = f"until [ -s {file} ] || [ ! -d /proc/$! ]; do sleep 0.1; done"
        shell = f"rm -f {file}; {command} >{file}.said 2>&1 </dev/null & {first}; echo $!"
        self._pid = int(self._node.run(shell))
        return self

    def __exit__(self, *_: object) -> None:
        self._node.run(f"kill {self._pid}", check=False)

    @property
    def changes(self) -> Iterator[Change]:
        """All that was seen. AssertionError where nobody looks any more."""
        self._node.run(f"test -d /proc/{self._pid}")
        text = (self._node.share / self._file).read_text()
        for line in text[: text.rfind("\n") + 1].splitlines():
            yield Change(**json.loads(line))

    def seen(self, group: str) -> set[str]:
        """All that was ever in force in a pod's cgroup, a folder, and in those below it."""
        own = group.rpartition("/")[2]
        return {
            change.cpus
            for change in self.changes
            if own in change.group.split("/") and change.cpus is not None
        }
