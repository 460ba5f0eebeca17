"""Which NUMA nodes a pod gets, by trying every set of nodes: slow, and plain to read."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from numa_agent.core.assigner.values import Apart, NodeRoom, Policy, Room, Use, Wish
from numa_agent.core.cpulist import CpuSet

Nodes = tuple[NodeRoom, ...]
CpusOf = Mapping[int, CpuSet]


def right_nodes(wish: Wish, room: Room, offer: CpusOf, ever: CpusOf) -> frozenset[int] | str:
    """The ids of the nodes, or the code of the refusal."""
    known = {node.id for node in room.nodes}
    if any(not place & known for place in wish.places):
        return "devices-unplaced"
    single = [each for each in subsets(room.nodes) if len(each) == 1]
    beside = [each for each in single if beside_devices(wish, each)]
    if wish.policy is Policy.SINGLE and wish.places and not beside:
        return "devices-apart"
    could = [each for each in subsets(room.nodes) if holds_ever(wish, room, each, offer, ever)]
    if wish.policy is Policy.SINGLE:
        could = [each for each in could if len(each) == 1]
    if not could:
        return "never-fits"
    counts = {
        Policy.SINGLE: {1},
        Policy.RESTRICTED: {min(map(len, could))},
        Policy.BEST_EFFORT: set(range(len(room.nodes) + 1)),
    }[wish.policy]
    can = [
        each
        for each in subsets(room.nodes)
        if len(each) in counts and holds_now(wish, room, each, offer)
    ]
    may = [each for each in can if all(allowed(wish, node) for node in each)]
    if not may:
        return "nodes-in-use" if can else "no-room"
    best = min(may, key=lambda each: rank(wish, room, each))
    return frozenset(node.id for node in best)


def subsets(nodes: Nodes) -> Iterator[Nodes]:
    for count in range(1, len(nodes) + 1):
        yield from combinations(nodes, count)


def holds_now(wish: Wish, room: Room, nodes: Nodes, offer: CpusOf) -> bool:
    if not beside_devices(wish, nodes):
        return False
    if sum(len(offer.get(node.id, ())) for node in nodes) < wish.room:
        return False
    for kind, size in wish.memory.items():
        told = any(kind in node.memory for node in room.nodes)
        if told and sum(node.memory.get(kind, 0) for node in nodes) < size:
            return False
    return True


def holds_ever(wish: Wish, room: Room, nodes: Nodes, offer: CpusOf, ever: CpusOf) -> bool:
    if not beside_devices(wish, nodes):
        return False
    cpus = sum(max(len(ever.get(n.id, ())), len(offer.get(n.id, ()))) for n in nodes)
    if cpus < wish.room:
        return False
    for kind, size in wish.memory.items():
        told = any(kind in node.memory_ever for node in room.nodes)
        sizes = [max(n.memory_ever.get(kind, 0), n.memory.get(kind, 0)) for n in nodes]
        if told and sum(sizes) < size:
            return False
    return True


def beside_devices(wish: Wish, nodes: Nodes) -> bool:
    return all(place & {node.id for node in nodes} for place in wish.places)


def other_kind(wish: Wish, node: NodeRoom) -> bool:
    return node.use is (Use.SHARED if wish.policy is Policy.SINGLE else Use.SINGLE)


def allowed(wish: Wish, node: NodeRoom) -> bool:
    if wish.apart is Apart.NODES and node.apart:
        return False
    return not (wish.exclusive and other_kind(wish, node))


def distance(here: NodeRoom, there: NodeRoom) -> int:
    if here.distances is not None and there.id in here.distances:
        return here.distances[there.id]
    return 10 if here.id == there.id else 20


def slots(cpus: int, wish: Wish, room: Room) -> int:
    shapes = room.shapes or (wish.room,)
    return sum(cpus // shape for shape in shapes if shape)


def rank(wish: Wish, room: Room, nodes: Nodes) -> tuple[int, ...]:
    """What decides between sets that hold the pod, the least first."""
    radius = min(max(distance(here, there) for there in nodes) for here in nodes)
    others = sum(other_kind(wish, node) for node in nodes)
    ids = sorted(node.id for node in nodes)
    if len(nodes) == 1:
        left = max(0, len(nodes[0].free) - wish.room)
        machine = sum(
            slots(left if node.id == nodes[0].id else len(node.free), wish, room)
            for node in room.nodes
        )
        return (1, radius, others, -machine, left, *ids)
    fits = sum(slots(len(node.free), wish, room) for node in nodes)
    return (len(nodes), radius, others, fits, sum(len(node.free) for node in nodes), *ids)
