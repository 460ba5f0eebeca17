"""A control group, its cpuset and its tasks, and the types that cgroup v2 tells groups apart by.

https://docs.kernel.org/admin-guide/cgroup-v2.html#threads
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from numa_agent.core.cpulist import CpuSet

Kind = Literal["cpus", "mems"]
"""Which of the two sets of a cpuset: of CPUs or of memory nodes."""

KINDS: tuple[Kind, ...] = ("cpus", "mems")

THREADED = frozenset({"cpuset", "cpu", "perf_event", "pids"})
"""The controllers that can tell the threads of a process apart."""


@dataclass(slots=True, eq=False)
class Cpuset:
    """What was written for a group, and what is in force."""

    configured: dict[Kind, CpuSet] = field(
        default_factory=lambda: dict.fromkeys(KINDS, frozenset())
    )
    effective: dict[Kind, CpuSet] = field(
        default_factory=lambda: dict.fromkeys(KINDS, frozenset())
    )
    memory_migrate: bool = False


@dataclass(slots=True, eq=False)
class Task:
    """A process of one thread: the CPUs and nodes it may use, and the CPUs it asked for itself."""

    pid: int
    cpus: CpuSet
    mems: CpuSet
    asked: CpuSet | None = None


@dataclass(slots=True, eq=False)
class Group:
    """A control group. `cpuset` is None where the controller isn't enabled."""

    name: str
    parent: "Group | None"
    cpuset: Cpuset | None = None
    children: dict[str, "Group"] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    subtree_control: frozenset[str] = frozenset()
    threaded: bool = False
    clone_children: bool = False
    removed: bool = False

    @property
    def path(self) -> str:
        """The path from the root group, which is the empty one."""
        above = "" if self.parent is None else self.parent.path
        return f"{above}/{self.name}" if above else self.name

    @property
    def lineage(self) -> Iterator["Group"]:
        """The group and those above it, upwards."""
        yield self
        if self.parent is not None:
            yield from self.parent.lineage

    @property
    def subtree(self) -> Iterator["Group"]:
        """The group and those below it, each before its children."""
        yield self
        for child in self.children.values():
            yield from child.subtree

    @property
    def populated(self) -> bool:
        """Whether a task is in the group or below it."""
        return any(group.tasks for group in self.subtree)

    @property
    def domain(self) -> "Group":
        """The group that the processes of this one count for: itself unless it is threaded."""
        return self.parent.domain if self.threaded and self.parent is not None else self

    @property
    def cpuset_children(self) -> Iterator["Group"]:
        """The children with a cpuset."""
        return (child for child in self.children.values() if child.cpuset is not None)

    @property
    def confined_tasks(self) -> Iterator[Task]:
        """The tasks that this group's cpuset holds for: those below without a nearer one too."""
        yield from self.tasks.values()
        for child in self.children.values():
            if child.cpuset is None:
                yield from child.confined_tasks

    @property
    def processes(self) -> Iterator[Task]:
        """The tasks that count for this group, those in its threaded subtree included."""
        yield from self.tasks.values()
        for child in self.children.values():
            if child.threaded:
                yield from child.processes


def nearest_cpuset(group: Group) -> tuple[Group, Cpuset]:
    """The cpuset that holds for the tasks of a group, and the group that has it."""
    for holder in group.lineage:
        if holder.cpuset is not None:
            return holder, holder.cpuset
    raise AssertionError("the root group has no cpuset")


def can_be_thread_root(group: Group) -> bool:
    """Whether a group may have tasks and threaded controllers, or threaded children."""
    if group.parent is None:
        return True
    inner = any(child.populated and not child.threaded for child in group.children.values())
    return not (group.threaded or inner or group.subtree_control - THREADED)


def is_thread_root(group: Group) -> bool:
    """Whether a group is the domain of a threaded subtree."""
    if group.threaded:
        return False
    if any(child.threaded for child in group.children.values()):
        return True
    return bool(group.tasks and group.subtree_control & THREADED)


def is_valid_domain(group: Group) -> bool:
    """Whether a group may hold processes of its own, going by where it is."""
    above = list(group.lineage)[1:]
    return not group.threaded and not any(
        ancestor.threaded or (ancestor.parent is not None and is_thread_root(ancestor))
        for ancestor in above
    )


def type_of(group: Group) -> str:
    """What `cgroup.type` says."""
    if group.threaded:
        return "threaded"
    if not is_valid_domain(group):
        return "domain invalid"
    return "domain threaded" if is_thread_root(group) else "domain"
