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
    don't count yet.
    """

    cpus: CpuSet = frozenset()
    nodes: NodeIds = frozenset()
    single: bool = False
    apart: Apart = Apart.NOBODY
    memory: Mapping[str, int] = field(default_factory=dict)


def room_of(
    topology: Topology,
    *,
    reserved: CpuSet,
    taken: CpuSet,
    holdings: Iterable[Holding],
    accounts: Sequence[NodeAccount] = (),
    shapes: tuple[int, ...] = (),
) -> Room:
    """What can be had of a machine whose `taken` CPUs are somebody's, besides what pods hold.

    Where nothing is kept for the system, one core is: whoever shares CPUs must have some.
    """
    held = list(holdings)
    usable = topology.online - (topology.isolated or frozenset()) - reserved
    if not reserved:
        usable -= _last_core(topology)
    free = usable - taken.union(*(each.cpus for each in held))
    by_node = {account.node.id: account for account in accounts}
    return Room(
        nodes=tuple(
            _node(node, usable, free, held, by_node.get(node.id)) for node in topology.cpu_nodes
        ),
        cores=topology.cores or (),
        caches=tuple(cache.cpus for cache in topology.caches),
        kinds=_fastest_first(topology.cpu_kinds),
        apart=frozenset[int]().union(*(each.cpus for each in held if each.apart is Apart.CORES)),
        shapes=shapes,
    )


def _last_core(topology: Topology) -> CpuSet:
    """The core of the lowest CPU, which those that share are left with."""
    first = min(topology.online, default=None)
    cores = topology.cores or ()
    return next((core for core in cores if first in core), frozenset({first} - {None}))  # type: ignore[arg-type]


def _node(
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
        # Counted whole on each of its nodes: where it will be isn't known yet.
        for kind, size in each.memory.items():
            if kind in now:
                now[kind] = max(0, now[kind] - -(-size // max(1, len(each.nodes))))
    return NodeRoom(
        id=node.id,
        free=free & own,
        usable=usable & own,
        memory=now,
        memory_ever=ever,
        distances=node.distances,
        use=_use(here),
        apart=any(each.apart is Apart.NODES for each in here),
    )


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
