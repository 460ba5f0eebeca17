"""The machine as the assigner sees it, made from the map, the accounts and what pods hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner.values import Apart, NodeIds, NodeRoom, Room, Use
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import CpuKind, NumaNode, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What one pod holds: CPUs of its own, and the NUMA nodes that it was put on.

    `single` says that it must be within one node. `memory` are bytes by kind that the accounts
    don't count yet. `shared_millis` is the CPU time (thousandths) that it was promised of what is
    shared on its nodes.
    """

    cpus: CpuSet = frozenset()
    nodes: NodeIds = frozenset()
    single: bool = False
    apart: Apart = Apart.NOBODY
    memory: Mapping[str, int] = field(default_factory=dict)
    shared_millis: int = 0


def room_of(
    topology: Topology,
    *,
    reserved: CpuSet,
    taken: CpuSet,
    holdings: Iterable[Holding],
    accounts: Sequence[NodeAccount] = (),
    shapes: tuple[int, ...] = (),
    within: CpuSet | None = None,
) -> Room:
    """What can be had of a machine whose `taken` CPUs are somebody's, besides what pods hold.

    `within` are the CPUs that pods can be held to at all, None where nothing bounds them.
    """
    held = list(holdings)
    usable = usable_cpus(topology, reserved, within)
    free = usable - taken.union(*(each.cpus for each in held))
    by_node = {account.node.id: account for account in accounts}
    return Room(
        nodes=tuple(
            _node(topology, node, usable, free, held, by_node.get(node.id))
            for node in topology.cpu_nodes
        ),
        cores=topology.cores or (),
        caches=tuple(cache.cpus for cache in topology.caches),
        kinds=_fastest_first(topology.cpu_kinds),
        apart=frozenset[int]().union(*(each.cpus for each in held if each.apart is Apart.CORES)),
        shapes=shapes,
    )


def usable_cpus(topology: Topology, reserved: CpuSet, within: CpuSet | None = None) -> CpuSet:
    """The CPUs that could ever be given out: online, neither isolated nor reserved.

    Where none that pods share is kept for the system, one core is: whoever shares CPUs must have
    some.
    """
    shareable = topology.online - (topology.isolated or frozenset())
    shareable = shareable if within is None else shareable & within
    usable = shareable - reserved
    return usable if usable < shareable else usable - _last_core(topology, usable)


def _last_core(topology: Topology, usable: CpuSet) -> CpuSet:
    """The core of the lowest CPU, which those that share are left with."""
    first = frozenset(sorted(usable)[:1])
    return next((core for core in topology.cores or () if first & core), first)


def _node(
    topology: Topology,
    node: NumaNode,
    usable: CpuSet,
    free: CpuSet,
    held: Sequence[Holding],
    account: NodeAccount | None,
) -> NodeRoom:
    own = node.cpus or frozenset()
    here = [each for each in held if node.id in each.nodes or each.cpus & own]
    memory = {} if account is None else _memory(account)
    ever = {kind: amounts[0] for kind, amounts in memory.items()}
    now = {kind: amounts[1] for kind, amounts in memory.items()}
    for each in here:
        # In equal parts on its nodes: where it will be isn't known yet.
        for kind, size in each.memory.items():
            if kind in now:
                now[kind] = max(0, now[kind] - -(-size // max(1, len(each.nodes))))
    return NodeRoom(
        id=node.id,
        free=_unpromised(free & own, here, topology),
        usable=usable & own,
        memory=now,
        memory_ever=ever,
        distances=node.distances,
        use=_use(here),
        apart=any(each.apart is Apart.NODES for each in here),
    )


def _unpromised(free: CpuSet, here: Iterable[Holding], topology: Topology) -> CpuSet:
    """What is left of a node's free CPUs beside what those that share there were promised.

    That is a number of CPUs and none in particular: threads of broken cores, then those of the
    highest cores, stay with those that share.
    """
    count = sum(each.shared_millis // max(1, len(each.nodes)) for each in here) // 1000
    if not count:
        return free
    core_of = {cpu: core for core in topology.cores or () for cpu in core}

    def rank(cpu: int) -> tuple[bool, int, int]:
        core = core_of.get(cpu, frozenset({cpu}))
        return not core <= free, min(core), cpu

    return free.difference(sorted(free, key=rank, reverse=True)[:count])


def _memory(account: NodeAccount) -> dict[str, tuple[int, int]]:
    """Bytes by kind that a pod could ever have, and that it can have now."""
    return {
        name: (each.allocatable, each.available)
        for name, each in account.resources.items()
        if name == "memory" or name.startswith("hugepages-")
    }


def _use(here: Sequence[Holding]) -> Use:
    if not here:
        return Use.IDLE
    return Use.SINGLE if all(each.single for each in here) else Use.SHARED


def _fastest_first(kinds: Iterable[CpuKind]) -> tuple[CpuKind, ...]:
    """By capacity where the kernel tells it, else as the map has them: `core` ahead of `atom`."""
    order = {"core": 0, "atom": 1, "lowpower": 2}
    return tuple(
        sorted(kinds, key=lambda kind: (-(kind.capacity or 0), order.get(kind.name, 3), kind.name))
    )
