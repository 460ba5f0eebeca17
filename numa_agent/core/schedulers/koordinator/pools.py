"""The CPUs that pods without CPUs of their own share, and those that kubelet has given away.

pkg/koordlet/statesinformer/impl/states_noderesourcetopology.go in
https://github.com/koordinator-sh/koordinator has the rules.
"""

from collections.abc import Iterator, Sequence

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pod_keys import QOS_CLASS as QOS_CLASS
from numa_agent.core.pods import Pod
from numa_agent.core.schedulers.koordinator.cpus import Cpu, socket_of
from numa_agent.core.view import Json, View

_EXCLUSIVE = "LSE"
"""Pods whose CPUs nobody shares; those of LSR are shared with best-effort pods."""

_NEVER_PINNED = {"LS", "BE"}


def kubelet_allocations(view: View) -> list[Json]:
    """The pods that kubelet's static policy pinned, by uid.

    A pod that Koordinator placed isn't among them, nor one labelled LS or BE, which it manages.
    """
    return [_allocation(uid, cpus, pod) for uid, cpus, pod in _pinned(view)]


def shared_cpus(view: View) -> CpuSet:
    """The CPUs for pods of class LS: no other pod that isn't finished is assigned them.

    CPUs that kubelet keeps for the system are among them, for it keeps them from exclusive use
    only.
    """
    held = (cpus for uid, cpus in view.assigned.items() if uid not in _finished(view))
    return view.topology.online - _kubelet_cpus(view) - frozenset[int]().union(*held)


def best_effort_cpus(view: View) -> CpuSet:
    """The CPUs for pods of class BE: all but those of pods of class LSE."""
    exclusive = {
        pod.uid
        for pod in view.pods
        if not pod.finished and pod.labels.get(QOS_CLASS) == _EXCLUSIVE
    }
    held = (cpus for uid, cpus in view.assigned.items() if uid in exclusive)
    return view.topology.online - _kubelet_cpus(view) - frozenset[int]().union(*held)


def pools(cpus: Sequence[Cpu], free: CpuSet, kept: CpuSet) -> list[Json]:
    """A pool for each node that pods leave any CPUs of, sorted by socket and node.

    Where all that they leave is kept by the admin, the pool stays, without CPUs. The socket is
    that of the node's CPUs, not of those left, so that it doesn't change with the pods.
    """
    found: list[tuple[int, int, CpuSet]] = []
    for node in sorted({cpu.node for cpu in cpus}):
        own = [cpu for cpu in cpus if cpu.node == node]
        left = frozenset(cpu.id for cpu in own) & free
        if left:
            found.append((socket_of(own), node, left - kept))
    return [_pool(*pool) for pool in sorted(found, key=lambda pool: pool[:2])]


def _pool(socket: int, node: int, cpus: CpuSet) -> Json:
    pool: Json = {"socket": socket, "node": node}
    if cpus:
        pool["cpuset"] = render(cpus)
    return pool


def _allocation(uid: str, cpus: CpuSet, pod: Pod | None) -> Json:
    who: Json = {} if pod is None else {"namespace": pod.namespace, "name": pod.name}
    return {**who, "uid": uid, "cpuset": render(cpus), "managedByKubelet": True}


def _pinned(view: View) -> Iterator[tuple[str, CpuSet, Pod | None]]:
    pods = {pod.cgroup_uid: pod for pod in view.pods}
    for uid, cpus in sorted(view.kubelet_exclusive.items()):
        pod = pods.get(uid)
        if cpus and not (pod is not None and _managed(view, pod)):
            yield uid, cpus, pod


def _kubelet_cpus(view: View) -> CpuSet:
    return frozenset[int]().union(*(cpus for _, cpus, _ in _pinned(view)))


def _managed(view: View, pod: Pod) -> bool:
    return pod.labels.get(QOS_CLASS) in _NEVER_PINNED or bool(view.assigned.get(pod.uid))


def _finished(view: View) -> set[str]:
    return {pod.uid for pod in view.pods if pod.finished}
