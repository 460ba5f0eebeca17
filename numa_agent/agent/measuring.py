"""What is measured of one container: its cgroups, its tasks, its memory and its devices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numa_agent.agent.binding import Cpusets, Planned
from numa_agent.agent.fights import writer_of
from numa_agent.agent.running import running
from numa_agent.core.asked import Asked
from numa_agent.core.cgroups import ContainerGroups, PodGroups
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.errors import SourceError
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Container, Pod
from numa_agent.core.verdict import Facts

_HUGEPAGES = "hugepages-"


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
    found, online = running(cpusets, own), planned.inputs.topology.online
    if found.strayed & online:
        # Its set may have grown between the two looks: kubelet's pool of shared CPUs does.
        groups = _anew(cpusets, pod)
        own = None if groups is None else container_of(groups, container)
        found = running(cpusets, own)
    paths = [group.path for group in found.groups] if around.closely else []
    held = around.holders.of(pod, container.name)
    if own is not None and around.closely and held.unseen is not None:
        held = around.holders.by_files(cpusets.open_devices(own.group.path, paths), held)
    memory = None if own is None else cpusets.memory(own.group.path, paths)
    facts = Facts(
        decided=wanted.cpus,
        decided_mems=wanted.mems,
        effective=found.effective,
        effective_mems=found.effective_mems,
        used=found.used,
        strayed=found.strayed & online,
        masked=found.masked(some=around.closely),
        unseen="its cgroup wasn't found" if own is None else "no task is in its cgroup",
        memory=memory,
        hugepages_unseen=(
            memory is not None and not memory.hugepages and _may_have_hugepages(pod, container)
        ),
        devices=held.devices,
        devices_unseen=held.unseen,
        devices_unlisted=held.unlisted,
        devices_asked=held.asked,
        tasks_unseen=found.unseen,
        cpu_quota=_quota(cpusets, groups, own),
        limit=_limit(groups, own, wanted.cpus),
        written=_written(planned, pod, own, wanted.cpus),
        free_memory=planned.inputs.free_memory,
        spilled=around.spilled,
        topology_policy=around.topology_policy,
        refused=wanted.refused,
    )
    return Measured(facts=facts, tasks_seen=len(found.masks))


def container_of(groups: PodGroups, container: Container) -> ContainerGroups | None:
    """A container's cgroups among its pod's."""
    return next((each for each in groups.containers if each.id == container.id), None)


def _anew(cpusets: Cpusets, pod: Pod) -> PodGroups | None:
    """A pod's cgroups as they are now, None where they aren't seen (any more)."""
    try:
        return cpusets.finder()(pod)
    except SourceError:
        return None


def _may_have_hugepages(pod: Pod, container: Container) -> bool:
    """Whether its spec asks for any: kubelet lets nobody else have some."""
    wanted = pod.demands.of(container.name).items()
    return any(size and name.startswith(_HUGEPAGES) for name, size in wanted)


def _quota(
    cpusets: Cpusets, groups: PodGroups | None, own: ContainerGroups | None
) -> float | None:
    """The smaller of the pod's and the container's quota."""
    if groups is None or own is None:
        return None
    quotas = [cpusets.quota(group.path) for group in (groups.group, own.group)]
    return min((each for each in quotas if each is not None), default=None)


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
