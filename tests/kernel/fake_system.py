"""The fake as a system to play random operations to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from numa_agent.core import cpulist
from tests.kernel.kernel import Kernel, OpenFile
from tests.kernel.notices import Notices
from tests.kernel.operations import TASKS


@dataclass(slots=True)
class FakeSystem:
    """A fake kernel with the tasks TASKS; what it reads, it reads from the folder's files too."""

    kernel: Kernel
    watches: Notices = field(default_factory=Notices)
    pids: dict[str, int] = field(default_factory=dict)
    unused: Iterator[int] = field(default_factory=lambda: count(1000))

    def __post_init__(self) -> None:
        self.watches.watch("", self.kernel.root)
        for task in TASKS:
            self._start(task)

    def pid(self, task: str) -> int:
        return self.pids[task]

    def mkdir(self, group: str) -> None:
        self.kernel.mkdir(group)
        self.watches.watch(group, self.kernel.root / group)

    def rmdir(self, group: str) -> None:
        self.kernel.rmdir(group)

    def open(self, group: str, file: str) -> OpenFile:
        return self.kernel.open(self.kernel.root / group / file)

    def read(self, group: str, file: str) -> str:
        said = self.kernel.read(group, file)
        assert (self.kernel.root / group / file).read_text() == said
        return said

    def set_online(self, cpu: int, online: bool) -> None:
        (self.kernel.online if online else self.kernel.offline)(cpu)

    def set_affinity(self, task: str, cpus: frozenset[int]) -> None:
        self.kernel.set_affinity(self.pid(task), cpus)

    def restart(self, task: str) -> None:
        self.kernel.exit(self.pid(task))
        self._start(task)

    def status(self, task: str) -> str:
        allowed = self.kernel.task_allowed(self.pid(task)), self.kernel.task_mems(self.pid(task))
        return " ".join(map(cpulist.render, allowed))

    def notices(self) -> list[str]:
        return [line for line in self.watches.read() if "cgroup.events" not in line]

    def _start(self, task: str) -> None:
        self.pids[task] = next(self.unused)
        self.kernel.start(self.pids[task])
