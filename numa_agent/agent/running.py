"""Where the tasks of one container may run: their groups' sets in force, and their own masks."""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_agent.agent.binding import Cpusets
from numa_agent.core.cgroups import ContainerGroups, Group, MemSet, TasksAllowed
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import GoneError, SourceError

_NOTHING = TasksAllowed(tasks=(), unseen=0)
_UNREADABLE = TasksAllowed(tasks=(), unseen=1)
"""A group whose tasks can't be listed: one at least may be in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The groups that hold a container's tasks, the masks that are seen, and how many aren't.

    A mask is where a task may run (sched_setaffinity(2)), None where the kernel doesn't tell it.
    """

    groups: tuple[Group, ...] = ()
    masks: tuple[CpuSet | None, ...] = ()
    unseen: int = 0

    @property
    def effective(self) -> CpuSet | None:
        """The CPUs in force of all groups together, None where one isn't told or there is none."""
        return _together([group.effective_cpus for group in self.groups])

    @property
    def effective_mems(self) -> MemSet | None:
        """The memory nodes in force, in the same way."""
        return _together([group.effective_mems for group in self.groups])

    @property
    def used(self) -> CpuSet | None:
        """The CPUs that the tasks keep themselves to, None where one's mask isn't told."""
        effective = self.effective
        if effective is None or self.unseen or not self.masks or None in self.masks:
            return None
        return _all(self.masks) & effective

    @property
    def strayed(self) -> CpuSet:
        """Where tasks may run outside their cgroup's set: Linux 5.10 lets those that are cloned
        into a cgroup keep the CPUs that they had."""
        effective = self.effective
        return _all(self.masks) - effective if effective else frozenset()

    def masked(self, *, some: bool) -> tuple[int, int, CpuSet] | None:
        """The tasks that keep to less than what is in force, where that are all of them or `some`
        are of interest: programs that pin their threads are many.
        """
        effective = self.effective
        known = [mask for mask in self.masks if mask]
        narrow = [mask for mask in known if effective is not None and mask < effective]
        if not narrow or not (some or len(narrow) == len(known)):
            return None
        return len(narrow), len(known), frozenset[int]().union(*narrow)


def running(cpusets: Cpusets, container: ContainerGroups | None) -> Running:
    """What is seen of a container's tasks, group by group.

    There is no group where the kernel moved them out: on v1, when all CPUs of one went offline.
    """
    groups, masks, unseen = [], [], 0
    for group, tasks in _populated(cpusets, container):
        groups.append(group)
        masks += [task.cpus for task in tasks.tasks]
        unseen += tasks.unseen
    return Running(groups=tuple(groups), masks=tuple(masks), unseen=unseen)


def _populated(
    cpusets: Cpusets, container: ContainerGroups | None
) -> Iterator[tuple[Group, TasksAllowed]]:
    """The groups with tasks, and those.

    Whether a group is populated tells of those inside it, too: one that has some in it, which on
    v1 and among threaded ones may have tasks as well, counts only with tasks of its own.
    """
    every = () if container is None else (container.group, *container.nested)
    found = [group for group in every if group.populated is not False]
    parents = {group.path.rpartition("/")[0] for group in found}
    for group in found:
        tasks = _tasks(cpusets, group)
        if group.path not in parents or tasks.tasks or tasks.unseen:
            yield group, tasks


def _tasks(cpusets: Cpusets, group: Group) -> TasksAllowed:
    try:
        return cpusets.tasks_allowed(group.path)
    except GoneError:
        return _NOTHING
    except SourceError:
        return _UNREADABLE


def _together(sets: list[frozenset[int] | None]) -> frozenset[int] | None:
    known = [each for each in sets if each is not None]
    return frozenset[int]().union(*known) if known and len(known) == len(sets) else None


def _all(masks: tuple[CpuSet | None, ...]) -> CpuSet:
    return frozenset[int]().union(*(mask for mask in masks if mask))
