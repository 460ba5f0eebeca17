"""The writes that take back what was bound: everything that is there to have, written out.

The kernel refuses an empty list in the cpuset of a cgroup that has tasks (ENOSPC), so that nothing
can be made to inherit again.
"""

from numa_agent.core.cgroups import File, MemSet, PodGroups
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets.sides import Ids, found_in
from numa_agent.core.cpusets.steps import steps
from numa_agent.core.cpusets.values import PodTarget, Step
from numa_agent.core.pods import Pod


def restore_steps(
    pod: Pod, groups: PodGroups, *, cpus: CpuSet, mems: MemSet, pod_level_only: bool = False
) -> tuple[Step, ...]:
    """The writes that give a pod's tasks all CPUs and memory nodes in force around it.

    None of them loses anything. What inherits goes on to, and what is nested in a container keeps
    the part that it took. An empty set asks for nothing. `pod_level_only` leaves containers'
    directories to kubelet.
    """
    target = PodTarget(
        pod=pod,
        cpus=_whole(groups, "cpus", cpus),
        mems=_whole(groups, "mems", mems),
        reason="restored: it may use what its parent may",
        pod_level_only=pod_level_only,
    )
    return steps(target, groups)


def _whole(groups: PodGroups, file: File, around: Ids) -> Ids | None:
    held, effective = found_in(groups.group, file)
    # What is offline comes back by itself, as long as it is configured.
    return around.union(held or (), effective or ()) if around else None
