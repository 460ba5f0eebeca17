"""What a pod's cgroups tell of how it is bound already."""

from collections.abc import Iterator

from numa_agent.core.assignment import Assignment
from numa_agent.core.cgroups import ContainerGroups, PodGroups, Version
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets.sides import around
from numa_agent.core.pods import Pod


def bound_cpus(groups: PodGroups, *, static: bool) -> CpuSet | None:
    """The configured CPUs that hold a pod to less than what is around it, None where none do.

    On v2 that is the pod's directory. Elsewhere it is what its containers' directories hold
    together, unless kubelet's `static` policy writes those; one that holds all is newer than the
    binding.
    """
    outer = around(groups, "cpus")
    if outer is None:
        return None
    if groups.version is Version.V2 and _narrow(groups.group.cpus, outer):
        return groups.group.cpus
    if static:
        return None
    narrow = [each.group.cpus for each in groups.containers if _narrow(each.group.cpus, outer)]
    return frozenset[int]().union(*(cpus for cpus in narrow if cpus)) or None


def follows(pod: Pod, groups: PodGroups, said: Assignment, online: CpuSet) -> bool:
    """Whether the kernel holds a pod to its own CPUs as they were decided.

    CPUs that went offline since are still configured on v2, and gone on v1.
    """
    if groups.version is Version.V2 and _holds(groups.group.cpus, said.cpus, online):
        return True
    own = list(_own_containers(pod, groups, said))
    return bool(own) and all(
        _holds(container.group.cpus or groups.group.cpus, cpus, online) for container, cpus in own
    )


def has_run(pod: Pod, groups: PodGroups) -> bool:
    """Whether a container of the pod has had a process, besides its sandbox.

    The status names a container up to a second after it started.
    """
    if any(each.id is not None for each in pod.containers):
        return True
    return sum(each.group.populated is not False for each in groups.containers) > 1


def _narrow(cpus: CpuSet | None, outer: CpuSet) -> bool:
    return bool(cpus) and cpus is not None and not cpus >= outer


def _holds(cpus: CpuSet | None, decided: CpuSet, online: CpuSet) -> bool:
    return bool(cpus) and cpus is not None and decided & online <= cpus <= decided


def _own_containers(
    pod: Pod, groups: PodGroups, said: Assignment
) -> Iterator[tuple[ContainerGroups, CpuSet]]:
    """The containers seen that have CPUs of their own, with those."""
    names = {each.id: each.name for each in pod.containers}
    for container in groups.containers:
        name = names.get(container.id)
        if name is not None and said.of(name).cpus:
            yield container, said.of(name).cpus
