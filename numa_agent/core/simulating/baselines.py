"""Other ways to choose a pod's CPUs, to compare with: by their ids, and as kubelet does.

Both look at CPUs alone: neither at the pod's devices nor at its memory.
"""

from collections.abc import Callable, Collection, Sequence

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import Topology

Chooser = Callable[[CpuSet, int], CpuSet | None]
"""So many CPUs of the free ones; None where there are too few."""


def first_fit(free: CpuSet, number: int) -> CpuSet | None:
    """The free CPUs with the lowest ids."""
    return frozenset(sorted(free)[:number]) if number <= len(free) else None


class KubeletStatic:
    """The documented order of kubelet's static CPU manager with its default options.

    Whole NUMA nodes and packages, those that hold the others first, while the pod takes at least
    as many CPUs; then whole cores; then single threads, on packages that it has cores of already
    and of cores that are in use first. Of several: where the fewest CPUs are free, then the lowest
    ids. It is the CPU manager alone: what a policy of the Topology Manager would hint isn't here.
    https://kubernetes.io/docs/concepts/policy/node-resource-managers/ and
    https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/2625-cpumanager-policies-thread-placement
    """

    def __init__(self, topology: Topology) -> None:
        """Take how CPUs group; where no file tells, all are of one package, each a core."""
        online = topology.online
        packages = [group.cpus & online for group in topology.packages or ()] or [online]
        nodes = [node.cpus or frozenset() for node in topology.cpu_nodes]
        self._outer, self._inner = (
            (nodes, packages) if len(packages) >= len(nodes) else (packages, nodes)
        )
        known = [core & online for core in topology.cores or ()]
        alone = [frozenset({cpu}) for cpu in sorted(online.difference(*known))]
        self._cores = [core for core in known if core] + alone
        self._places = {
            core: (_place(self._outer, core), _place(self._inner, core)) for core in self._cores
        }

    def __call__(self, free: CpuSet, number: int) -> CpuSet | None:
        """So many CPUs of the free ones."""
        if number > len(free):
            return None
        taken: CpuSet = frozenset()
        for level in (self._outer, self._inner):
            taken = _whole(
                sorted(level, key=lambda each: (len(each), min(each, default=0))),
                free,
                taken,
                number,
            )
        cores = self._in_order(free - taken)
        taken = _whole(cores, free, taken, number)
        for core in self._in_order(free - taken, taken):
            taken |= frozenset(sorted(core & free - taken)[: number - len(taken)])
        return taken

    def _in_order(self, free: CpuSet, taken: CpuSet = frozenset()) -> list[CpuSet]:
        """The cores with free CPUs, those where the fewest are free first."""
        outer = [(-len(group & taken), len(group & free)) for group in self._outer]
        inner = [len(group & free) for group in self._inner]

        def order(core: CpuSet) -> tuple[object, ...]:
            at, within = self._places[core]
            return (outer[at], at, inner[within], within, len(core & free), min(core))

        return sorted((core for core in self._cores if core & free), key=order)


def _place(level: Sequence[CpuSet], core: CpuSet) -> int:
    return next((at for at, group in enumerate(level) if core & group), 0)


def _whole(groups: Collection[CpuSet], free: CpuSet, taken: CpuSet, number: int) -> CpuSet:
    """What is taken, with those whole groups that are free and not more than is still wanted."""
    for group in groups:
        if group and group <= free - taken and len(group) <= number - len(taken):
            taken |= group
    return taken
