"""The CPUs that are nobody's own, and who may use them.

What is left of several NUMA nodes is put together, as koordlet does:
pkg/koordlet/runtimehooks/hooks/cpuset/rule.go in https://github.com/koordinator-sh/koordinator.
"""

from collections.abc import Mapping

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets.values import Inputs, Options


class Shares:
    """What is left on the machine for all who share."""

    def __init__(self, inputs: Inputs, options: Options, assigned: Mapping[str, CpuSet]) -> None:
        self._inputs = inputs
        self._borrowers = inputs.borrowers if options.borrow else frozenset[str]()
        self._lent = CpuSet().union(*(assigned.get(uid, ()) for uid in inputs.lenders))
        # A pod that isn't told of now may run on, in what this agent keeps for it.
        named = {pod.uid for pod in inputs.pods}
        unnamed = (said.cpus for uid, said in inputs.own.items() if uid not in named)
        self._own = CpuSet().union(*assigned.values(), *unnamed)

    def of(self, uid: str, nodes: frozenset[int]) -> CpuSet:
        """What a pod may use, in these NUMA nodes if there are any; empty where none is left.

        Online, not isolated, and nobody's own: neither by an assignment nor by kubelet. What
        kubelet reserves for the system is shared, as it is by kubelet itself, unless its static
        policy keeps it out.
        """
        topology, kubelet = self._inputs.topology, self._inputs.kubelet
        own = self._own - self._lent if uid in self._borrowers else self._own
        free = topology.online.difference(topology.isolated or (), own)
        if kubelet is not None:
            free = free.difference(*kubelet.by_pod.values())
            free = free & kubelet.shared if self._inputs.kubelet_static else free
        if nodes:
            here = (node.cpus or () for node in topology.nodes if node.id in nodes)
            free &= CpuSet().union(*here)
        return free
