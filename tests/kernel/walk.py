"""What a system, the fake or a real kernel, answers to random operations on control groups.

`Player.play` tells after each operation how it ended, which file or task now says something else,
and which notices inotify gave. Two systems with the same rules play to equal lists.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from tests.kernel import operations as single
from tests.kernel import scenes
from tests.kernel.operations import ODD, ODD_PIDS, TASKS, Operation, beginning, end
from tests.kernel.refusals import name

ROOT_FILES = {
    "v2": ("cpuset.cpus.effective", "cpuset.mems.effective"),
    "v1": ("cpuset.cpus", "cpuset.mems", "cpuset.effective_cpus", "cpuset.effective_mems"),
}
FILES = {
    "v2": (
        *("cpuset.cpus", "cpuset.mems", *ROOT_FILES["v2"], "cpuset.cpus.partition"),
        *("cgroup.procs", "cgroup.threads", "cgroup.type", "cgroup.events"),
        *("cgroup.controllers", "cgroup.subtree_control"),
    ),
    "v1": (
        *ROOT_FILES["v1"],
        *("cpuset.memory_migrate", "cgroup.clone_children", "cgroup.procs", "tasks"),
    ),
}
"""What is read of each group; of the root, whose other files tell of the whole machine, less."""

SLICES = 4
"""Every one of so many seeds in a row tries another part of the odd spellings."""


def operations(seed: int, count: int, hierarchy: str) -> list[Operation]:
    """`count` kinds of operations, between those that make groups and those that remove them.

    They come from the seed and nothing else.
    """
    random = Random(seed)
    choices = {**single.V2, **scenes.V2} if hierarchy == "v2" else {**single.V1, **scenes.V1}
    kinds = random.choices(list(choices), list(choices.values()), k=count)
    spellings = [
        *(("write", "p", "cpuset.cpus", text) for text in ODD[seed % SLICES :: SLICES]),
        *(("write", "p", "cgroup.procs", text) for text in ODD_PIDS[seed % SLICES :: SLICES]),
    ]
    between = [operation for kind in kinds for operation in kind(random)]
    return [*beginning(random, hierarchy), *spellings, *between, *end()]


class OpenFile(Protocol):
    """A file that is open for writing."""

    def write(self, text: str) -> None:
        """Write once. Raises OSError."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class System(Protocol):
    """A kernel with one cgroup hierarchy and the tasks TASKS. All but `pid` raise OSError."""

    def pid(self, task: str) -> int: ...
    def mkdir(self, group: str) -> None: ...
    def rmdir(self, group: str) -> None: ...
    def open(self, group: str, file: str) -> OpenFile: ...
    def read(self, group: str, file: str) -> str: ...
    def set_online(self, cpu: int, online: bool) -> None: ...
    def set_affinity(self, task: str, cpus: frozenset[int]) -> None: ...
    def restart(self, task: str) -> None: ...
    def status(self, task: str) -> str: ...
    def notices(self) -> list[str]: ...


@dataclass(slots=True)
class Player:
    """Gives operations to a system and looks at everything after each."""

    system: System
    hierarchy: str
    groups: dict[str, None] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    file: OpenFile | None = None

    def play(self, operations: Iterable[Operation]) -> Iterator[dict[str, object]]:
        """What is seen after each operation, as a JSON object: its errno, files, notices."""
        self.said = self._readings()
        for operation in operations:
            result = self._result(operation)
            now = self._readings()
            changed = {key: text for key, text in now.items() if self.said.get(key) != text}
            self.said = now
            yield {"result": result, "changed": changed, "notices": self.system.notices()}

    def _result(self, operation: Operation) -> str:
        try:
            self._do(*operation)
        except OSError as error:
            return name(error)
        return "ok"

    def _do(self, verb: str, *words: str) -> None:
        match (verb, *words):
            case "mkdir", group:
                self.system.mkdir(group)
                self.groups[group] = None
            case "rmdir", group:
                self.system.rmdir(group)
                del self.groups[group]
            case "write", group, file, text:
                self._write(group, file, text)
            case "attach", group, file, task:
                self._write(group, file, str(self.system.pid(task)))
            case "open", group, file:
                self._close()
                self.file = self.system.open(group, file)
            case "write open", text:
                if self.file is not None:
                    self.file.write(text)
            case ("close",):
                self._close()
            case "online" | "offline", cpu:
                self.system.set_online(int(cpu), verb == "online")
            case "affinity", task, cpus:
                self.system.set_affinity(task, frozenset(map(int, cpus.split(","))))
            case "restart", task:
                self.system.restart(task)
            case _:
                raise AssertionError(f"no such operation: {verb} {words}")

    def _write(self, group: str, file: str, text: str) -> None:
        opened = self.system.open(group, file)
        try:
            opened.write(text)
        finally:
            opened.close()

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
        self.file = None

    def _readings(self) -> dict[str, str]:
        """What every file and task says; pids by the names of their tasks."""
        tasks = {str(self.system.pid(task)): task for task in TASKS}
        said = {}
        for group in ("", *self.groups):
            for file in FILES[self.hierarchy] if group else ROOT_FILES[self.hierarchy]:
                said[f"{group}/{file}"] = self._text(group, file, tasks)
        return said | {task: self.system.status(task) for task in TASKS}

    def _text(self, group: str, file: str, tasks: Mapping[str, str]) -> str:
        try:
            text = self.system.read(group, file)
        except OSError as error:
            return name(error)
        if file in ("cgroup.procs", "cgroup.threads", "tasks"):
            return " ".join(sorted(tasks[pid] for pid in text.split()))
        return text
