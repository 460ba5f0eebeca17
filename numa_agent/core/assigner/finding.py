"""The CPUs that pods have for their own by the kernel's word, where no file tells it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from numa_agent.core.assigner.asking import Asking
from numa_agent.core.cgroups import PodGroups, Version
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Inputs
from numa_agent.core.pods import Pod


def found_in_force(
    pods: Iterable[Pod], inputs: Inputs, taken: CpuSet, asked: Mapping[str, Asking]
) -> Mapping[str, CpuSet]:
    """By uid the set that a pod's cgroup has and no other pod's has any CPU of.

    Pods that share CPUs have sets in common, so that theirs aren't among them; a single one's may
    be, which the number of CPUs asked for tells apart. Where containers of a pod share, as it has
    `asked` by uid, its own CPUs are those of its other containers.
    """
    found: dict[str, CpuSet] = {}
    for pod in pods:
        groups, wanted = inputs.observed.get(pod.uid), asked.get(pod.uid)
        if groups is None:
            continue
        mixed = wanted is not None and wanted.sharing and wanted.containers
        cpus = _parts(pod, groups, wanted.containers) if wanted and mixed else _set(groups)
        if cpus:
            found[pod.uid] = cpus
    counted = Counter(cpu for cpus in found.values() for cpu in cpus)
    return {
        uid: cpus
        for uid, cpus in found.items()
        if cpus.isdisjoint(taken)
        and cpus <= inputs.topology.online
        and all(counted[cpu] == 1 for cpu in cpus)
    }


def _parts(pod: Pod, groups: PodGroups, names: Collection[str]) -> CpuSet:
    """What these containers' own directories have together."""
    ids = {each.id for each in pod.containers if each.name in names}
    return frozenset[int]().union(
        *(each.group.cpus or () for each in groups.containers if each.id in ids)
    )


def _set(groups: PodGroups) -> CpuSet | None:
    """What the pod's own directory has (v2), or its containers' together (v1)."""
    if groups.version is Version.V2:
        return groups.group.cpus
    return frozenset[int]().union(*(each.group.cpus or () for each in groups.containers))
