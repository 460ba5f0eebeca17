"""Whose each CPU is, and what the kernel holds pods to already."""

from collections.abc import Collection, Iterable, Mapping

from numa_agent.core.assignment import Assignment
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets.observed import bound_cpus, follows
from numa_agent.core.cpusets.refusals import node_fault
from numa_agent.core.cpusets.values import Inputs
from numa_agent.core.pods import Pod


class Holders:
    """Whose each CPU is: kubelet's first, then those of the pods that are given some."""

    def __init__(self, pods: Iterable[Pod], inputs: Inputs) -> None:
        self._names = {pod.uid: f"pod {pod.full_name}" for pod in pods}
        known = {pod.cgroup_uid: self._names[pod.uid] for pod in pods}
        state = inputs.kubelet
        # A pod that isn't listed may be newer than the list, and kubelet clears dead ones away.
        self._kubelet = {
            cpu: f"kubelet's CPU manager, for {known.get(uid, f'the pod with uid {uid}')}"
            for uid, cpus in sorted(({} if state is None else state.by_pod).items())
            for cpu in cpus
        }
        self._pods: dict[int, str] = {}

    def hold(self, uid: str, cpus: CpuSet) -> None:
        """Give a pod these CPUs and no others."""
        for cpu in [cpu for cpu, holder in self._pods.items() if holder == uid]:
            del self._pods[cpu]
        self._pods.update(dict.fromkeys(cpus, uid))

    def taken(self, uid: str, cpus: CpuSet) -> str | None:
        """Which of the CPUs belong to others than a pod, and to whom the first of them does."""
        holders = {cpu: self._pods[cpu] for cpu in cpus if self._pods.get(cpu, uid) != uid}
        owners = {cpu: self._names[holder] for cpu, holder in holders.items()}
        owners |= {cpu: self._kubelet[cpu] for cpu in cpus if cpu in self._kubelet}
        return f"{render(owners)} belong to {owners[min(owners)]}" if owners else None


def followed(pods: Iterable[Pod], inputs: Inputs) -> frozenset[str]:
    """The uids of the pods that the kernel holds to the CPUs that were decided for them."""
    return frozenset(
        pod.uid
        for pod in pods
        if (groups := inputs.observed.get(pod.uid)) is not None
        and isinstance(said := inputs.decisions.get(pod.uid), Assignment)
        and said.cpus
        and follows(pod, groups, said, inputs.topology.online)
    )


def in_force(pods: Iterable[Pod], inputs: Inputs, follow: frozenset[str]) -> dict[str, CpuSet]:
    """The own CPUs that the kernel holds pods to which don't `follow` their assignment, by uid.

    In the first pass nobody knows whether a pod has those for itself: it counts so where no other
    pod is held to any of them. What kubelet gave to others isn't a pod's own.
    """
    live = list(pods)
    bound: dict[str, CpuSet] = {}
    for pod in live:
        groups = inputs.observed.get(pod.uid)
        if groups is not None:
            bound[pod.uid] = bound_cpus(groups, static=inputs.kubelet_static) or CpuSet()
    state = inputs.kubelet
    by_pod = {} if state is None else state.by_pod
    given = CpuSet().union(*by_pod.values())
    left = _left(live, follow, inputs) - given
    return {
        pod.uid: cpus
        for pod in live
        if (cpus := bound.get(pod.uid))
        and pod.uid not in follow
        and pod.cgroup_uid not in by_pod
        and _may_have_own(pod, inputs)
        and cpus.isdisjoint(given)
        and _its_own(pod.uid, bound, inputs.before, left)
    }


def _may_have_own(pod: Pod, inputs: Inputs) -> bool:
    """Whether a pod is or was given CPUs of its own, or nobody can tell by its assignment."""
    said = inputs.decisions.get(pod.uid)
    if isinstance(said, Assignment) and not said.cpus:
        return pod.uid in (inputs.before or {}) or node_fault(pod, said, inputs) is not None
    return said is not None


def _its_own(
    uid: str,
    bound: Mapping[str, CpuSet],
    before: Mapping[str, CpuSet] | None,
    left: CpuSet,
) -> bool:
    if before is not None:
        return bound[uid] <= before.get(uid, CpuSet())
    if left and bound[uid] >= left:
        # That is what a pod that shares is held to.
        return False
    return all(bound[uid].isdisjoint(cpus) for other, cpus in bound.items() if other != uid)


def _left(live: Iterable[Pod], follow: Collection[str], inputs: Inputs) -> CpuSet:
    """What the pods that are bound as they were decided leave to share."""
    own = CpuSet().union(
        *(
            said.cpus
            for pod in live
            if pod.uid in follow and isinstance(said := inputs.decisions.get(pod.uid), Assignment)
        )
    )
    isolated = inputs.topology.isolated or CpuSet()
    return inputs.topology.online - own - isolated
