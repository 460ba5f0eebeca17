"""Which CPUs are kept for the system and so never given to a pod.

https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/
"""

from collections.abc import Iterable

from numa_agent.core.accounting.amounts import Sources
from numa_agent.core.accounting.kept_back import cpu_by_node
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.topology import Topology


def reserved_cpus(sources: Sources, conditions: list[Condition]) -> CpuSet:
    """The online CPUs that kubelet keeps for the system.

    kubelet's own list of those it may give out comes first, then reservedSystemCPUs, then a number
    of CPUs, which are taken as kubelet's static policy takes them: whole cores, the lowest first.
    """
    topology = sources.topology
    _check_capacity(sources, conditions)
    settings, granted = sources.settings, sources.granted
    told = None if settings is None else settings.reserved_cpus
    offered = None if granted is None or granted.offer is None else granted.offer.cpus
    if offered:
        kept = topology.online - offered
        if told is not None and kept != told & topology.online:
            conditions.append(
                Condition(
                    code="reserved-cpus-differ",
                    subject="reserved CPUs",
                    message=f"reserved CPUs: reservedSystemCPUs says {render(told)}, but"
                    f" podresources keeps {render(kept)} of the online CPUs back; both are kept",
                )
            )
            return kept | (told & topology.online)
        return kept
    if told is not None:
        more = _check_told(sources, told, conditions)
        own = told & topology.online
        return own | _lowest(topology, more, besides=own)
    return _lowest(topology, _count(sources, conditions))


def _check_capacity(sources: Sources, conditions: list[Condition]) -> None:
    online = len(sources.topology.online)
    counted = sources.node.capacity.get("cpu", online * 1000)
    if counted != online * 1000:
        conditions.append(
            Condition(
                code="cpu-capacity-differs",
                subject="cpu",
                message=f"cpu: the Node's capacity is {counted}m, {online} CPUs are online;"
                " kubelet counts them when it starts",
            )
        )


def _check_told(sources: Sources, told: CpuSet, conditions: list[Condition]) -> int:
    """How many CPUs the Node keeps beyond those that kubelet's file names."""
    if offline := told - sources.topology.online:
        conditions.append(
            Condition(
                code="reserved-cpus-offline",
                subject="reserved CPUs",
                message=f"reserved CPUs: reservedSystemCPUs names {render(offline)}, which aren't"
                " online",
            )
        )
    by_node = cpu_by_node(sources.node)
    if by_node is None or by_node == len(told) * 1000:
        return 0
    _differ(conditions, f"reservedSystemCPUs has {len(told)} CPUs", by_node)
    return max(0, -(-by_node // 1000) - len(told))


def _count(sources: Sources, conditions: list[Condition]) -> int:
    """How many CPUs are reserved, rounded up: the larger of what Node and kubelet's file say."""
    by_node = cpu_by_node(sources.node)
    by_file = None if sources.settings is None else sources.settings.reserved.get("cpu", 0)
    if by_node is not None and by_file is not None and by_node != by_file:
        _differ(conditions, f"systemReserved and kubeReserved say {by_file}m", by_node)
    thousandths = max(by_node or 0, by_file or 0)
    return -(-thousandths // 1000)


def _differ(conditions: list[Condition], said: str, by_node: int) -> None:
    conditions.append(
        Condition(
            code="reservation-differs",
            subject="cpu",
            message=f"cpu: kubelet's configuration: {said}, but the Node keeps {by_node}m back;"
            " the larger is kept; has kubelet been restarted since its file changed?",
        )
    )


def _lowest(topology: Topology, count: int, besides: CpuSet = frozenset()) -> CpuSet:
    """So many CPUs besides some, node by node, whole cores first where they fit."""
    chosen: set[int] = set()
    for cpus in _cores(topology):
        if len(chosen) == count:
            break
        chosen.update(sorted(cpus - besides)[: count - len(chosen)])
    return frozenset(chosen)


def _cores(topology: Topology) -> Iterable[CpuSet]:
    known = topology.cores or ()
    for node in topology.cpu_nodes:
        own = node.cpus or frozenset()
        cores = [core & own for core in known if core & own]
        yield from sorted(cores, key=min)
        yield from (frozenset({cpu}) for cpu in sorted(own.difference(*cores)))
