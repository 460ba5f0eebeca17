"""What NUMA nodes can give of what a pod wants."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.assigner.nodes.items import Amounts, Bits
from numa_agent.core.assigner.values import Apart, NodeIds, NodeRoom, Policy, Room, Use, Wish
from numa_agent.core.cpulist import CpuSet

CpusOf = Mapping[int, CpuSet]
"""CPUs by the id of their NUMA node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The CPUs and the bytes of each kind that nodes can give, in the order of the room's nodes.

    CPUs come first in amounts, then the kinds. A kind that no node tells of isn't among them.
    """

    kinds: tuple[str, ...]
    wanted: Amounts
    amounts: tuple[Amounts, ...]

    def alone(self, position: int) -> bool:
        """Whether a node has all that is wanted by itself."""
        pairs = zip(self.amounts[position], self.wanted, strict=True)
        return all(has >= amount for has, amount in pairs)


def capacity_now(wish: Wish, room: Room, offer: CpusOf) -> Capacity:
    """What nodes can give now."""
    memory = [node.memory for node in room.nodes]
    return _capacity(wish, [len(offer.get(node.id, ())) for node in room.nodes], memory)


def capacity_ever(wish: Wish, room: Room, offer: CpusOf, ever: CpusOf) -> Capacity:
    """What nodes could ever give: at least what they can now, whatever else is told."""
    none: CpuSet = frozenset()
    cpus = [
        max(len(ever.get(node.id, none)), len(offer.get(node.id, none))) for node in room.nodes
    ]
    memory = [
        {kind: max(size, node.memory.get(kind, 0)) for kind, size in _both(node).items()}
        for node in room.nodes
    ]
    told = {kind for node in room.nodes for kind in node.memory_ever}
    return _capacity(wish, cpus, [{k: v for k, v in each.items() if k in told} for each in memory])


def _both(node: NodeRoom) -> Mapping[str, int]:
    return {**node.memory, **node.memory_ever}


def _capacity(wish: Wish, cpus: list[int], memory: list[Mapping[str, int]]) -> Capacity:
    told = {kind for each in memory for kind in each}
    kinds = tuple(kind for kind in sorted(wish.memory) if wish.memory[kind] > 0 and kind in told)
    return Capacity(
        kinds=kinds,
        wanted=(wish.room, *(wish.memory[kind] for kind in kinds)),
        amounts=tuple(
            (count, *(max(0, each.get(kind, 0)) for kind in kinds))
            for count, each in zip(cpus, memory, strict=True)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A wish on a machine: what nodes can give now and ever, and its devices' places.

    `places` are the sets of nodes, by their bits, of each of which it needs one.
    """

    wish: Wish
    room: Room
    now: Capacity
    ever: Capacity
    places: tuple[Bits, ...]

    @property
    def everywhere(self) -> list[int]:
        """The positions of all nodes with CPUs."""
        return list(range(len(self.room.nodes)))

    @property
    def allowed(self) -> list[int]:
        """The positions of the nodes that other pods' wishes leave to it."""
        nodes = enumerate(self.room.nodes)
        return [at for at, node in nodes if not self.closed(node) and not self.beside(node)]

    def closed(self, node: NodeRoom) -> bool:
        """Whether pods of the other kind are on the node, and it asks not to meet them."""
        return self.wish.exclusive and self.other(node)

    def beside(self, node: NodeRoom) -> bool:
        """Whether a pod is on the node from which it asks to be apart."""
        return self.wish.apart is Apart.NODES and node.apart

    def other(self, node: NodeRoom) -> bool:
        """Whether pods of the other kind are on the node: of one node, or of several."""
        kind = Use.SHARED if self.wish.policy is Policy.SINGLE else Use.SINGLE
        return node.use is kind

    def bit(self, position: int) -> Bits:
        """The bit of the node at a position: the first node has the highest."""
        return 1 << (len(self.room.nodes) - 1 - position)

    def ids(self, bits: Bits) -> NodeIds:
        """The ids of the nodes of a set."""
        nodes = enumerate(self.room.nodes)
        return frozenset(node.id for at, node in nodes if self.bit(at) & bits)

    def at_devices(self, position: int) -> bool:
        """Whether all its devices may be on the node at a position."""
        return all(place & self.bit(position) for place in self.places)


def places_of(wish: Wish, room: Room) -> tuple[Bits, ...]:
    """The nodes with CPUs that each device may be on, as bits; 0 for one that none is known of."""
    last = len(room.nodes) - 1
    bits = {node.id: 1 << (last - at) for at, node in enumerate(room.nodes)}
    return tuple(sum(bits.get(each, 0) for each in place) for place in wish.places)
