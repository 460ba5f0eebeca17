"""What is measured of one container: its cgroups, its tasks, its memory and its devices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from numa_agent.agent.binding import Cpusets, Planned
from numa_agent.agent.fights import writer_of
from numa_agent.core.asked import Asked
from numa_agent.core.cgroups import ContainerGroups, Group, PodGroups, TaskAllowed
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.errors import SourceError
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Container, Pod
from numa_agent.core.verdict import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What of the machine a container is measured against.

    `spilled` are bytes by NUMA node. `closely` says that processes are looked into, too: their
    page tables and open files, which costs more than a pass may.
    """

    holders: Holders
    spilled: Mapping[int, int] = field(default_factory=dict)
    topology_policy: str | None = None
    closely: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The facts, and how many tasks' masks they stand on."""

    facts: Facts
    tasks_seen: int


def measure(
    cpusets: Cpusets,
    planned: Planned,
    around: Around,
    groups: PodGroups | None,
    who: tuple[Pod, Container, Asked],
) -> Measured:
    """Everything that is seen of a container; what isn't there is told as unseen."""
    pod, container, wanted = who
    own = None if groups is None else container_of(groups, container)
    leaves = [] if own is None else _populated(own)
    effective = _in_force([group.effective_cpus for group in leaves])
    tasks, unseen = _tasks(cpusets, leaves)
    held = around.holders.of(pod, container.name)
    if own is not None and around.closely and held.unseen is not None:
        names = cpusets.open_devices(own.group.path, [group.path for group in leaves])
        held = around.holders.by_files(names, held)
    closely = [group.path for group in leaves] if around.closely else []
    masks = [each.cpus for each in tasks]
    facts = Facts(
        decided=wanted.cpus,
        decided_mems=wanted.mems,
        effective=effective,
        effective_mems=_in_force([group.effective_mems for group in leaves]),
        used=_used(masks, effective) if tasks and not unseen else None,
        strayed=_strayed(masks, effective) & planned.inputs.topology.online,
        masked=_masked(masks, effective, some=around.closely),
        unseen="its cgroup wasn't found" if own is None else "no task is in its cgroup",
        memory=None if own is None else cpusets.memory(own.group.path, closely),
        devices=held.devices,
        devices_unseen=held.unseen,
        tasks_unseen=unseen,
        cpu_quota=_quota(cpusets, groups, own),
        limit=_limit(groups, own, wanted.cpus),
        written=_written(planned, pod, own, wanted.cpus),
        free_memory=planned.inputs.free_memory,
        spilled=around.spilled,
        topology_policy=around.topology_policy,
    )
    return Measured(facts=facts, tasks_seen=len(tasks))


def container_of(groups: PodGroups, container: Container) -> ContainerGroups | None:
    """A container's cgroups among its pod's."""
    return next((each for each in groups.containers if each.id == container.id), None)


def _quota(
    cpusets: Cpusets, groups: PodGroups | None, own: ContainerGroups | None
) -> float | None:
    """The smaller of the pod's and the container's quota."""
    if groups is None or own is None:
        return None
    quotas = [cpusets.quota(group.path) for group in (groups.group, own.group)]
    return min((each for each in quotas if each is not None), default=None)


def _populated(container: ContainerGroups) -> list[Group]:
    """The groups in which processes may be: the innermost ones, or the container's own.

    There is none where the kernel moved them out: on v1, when all CPUs of a group went offline.
    """
    parents = {group.path.rpartition("/")[0] for group in container.nested}
    inner = [
        group
        for group in container.nested
        if group.path not in parents and group.populated is not False
    ]
    return inner or ([] if container.group.populated is False else [container.group])


def _in_force(sets: list[frozenset[int] | None]) -> frozenset[int] | None:
    """The sets of every group together, None where one can't be read or there is none."""
    known = [each for each in sets if each is not None]
    return frozenset[int]().union(*known) if known and len(known) == len(sets) else None


def _tasks(cpusets: Cpusets, leaves: Iterable[Group]) -> tuple[list[TaskAllowed], int]:
    """The tasks of the groups whose masks are seen, and how many aren't."""
    seen: list[TaskAllowed] = []
    unseen = 0
    for group in leaves:
        try:
            allowed = cpusets.tasks_allowed(group.path)
        except SourceError:
            continue
        seen += allowed.tasks
        unseen += allowed.unseen
    return seen, unseen


def _limit(
    groups: PodGroups | None, own: ContainerGroups | None, cpus: CpuSet | None
) -> str | None:
    """Which cgroup above a container, the highest first, has less than was decided for it."""
    if groups is None or own is None or cpus is None:
        return None
    for group in (*groups.above, groups.group, own.group):
        effective = group.effective_cpus
        if effective is not None and not cpus <= effective:
            return f"{group.path or 'the root'} has CPUs {render(effective)} only"
    return None


def _written(
    planned: Planned, pod: Pod, own: ContainerGroups | None, cpus: CpuSet | None
) -> str | None:
    """Who likely wrote the container's own set, where that isn't what was decided."""
    held = None if own is None else own.group.cpus
    if own is None or cpus is None or held is None or held == cpus:
        return None
    if not held:
        return "its cgroup has no set of its own: nobody has written it yet"
    path = own.group.path
    because = writer_of((path, "cpus"), held, cpus, pod, planned.inputs).because
    return f"{path}/cpuset.cpus: {because}"


def _used(masks: Iterable[CpuSet | None], effective: CpuSet | None) -> CpuSet | None:
    """Where tasks may run by their own masks (sched_setaffinity(2)), None where one isn't told."""
    known = [*masks]
    if effective is None or None in known:
        return None
    return frozenset[int]().union(*(mask for mask in known if mask)) & effective


def _masked(
    masks: Iterable[CpuSet | None], effective: CpuSet | None, *, some: bool
) -> tuple[int, int, CpuSet] | None:
    """The tasks that keep to less than what is in force, where that are all of them or `some` are
    of interest: programs that pin their threads are many.
    """
    known = [mask for mask in masks if mask]
    narrow = [mask for mask in known if effective is not None and mask < effective]
    if not narrow or not (some or len(narrow) == len(known)):
        return None
    return len(narrow), len(known), frozenset[int]().union(*narrow)


def _strayed(masks: Iterable[CpuSet | None], effective: CpuSet | None) -> CpuSet:
    """Where tasks may run outside their cgroup's set: Linux 5.10 lets those that are cloned into
    a cgroup keep the CPUs that they had."""
    if not effective:
        return frozenset()
    return frozenset[int]().union(*(mask for mask in masks if mask)) - effective
