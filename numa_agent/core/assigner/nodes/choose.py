"""Which NUMA nodes a pod gets."""

from collections.abc import Sequence
from operator import ge

from numa_agent.core.assigner.nodes.capacity import (
    Capacity,
    Case,
    CpusOf,
    capacity_ever,
    capacity_now,
    places_of,
)
from numa_agent.core.assigner.nodes.counting import fewest
from numa_agent.core.assigner.nodes.items import Bits, Item, Wanted, Work, items_of
from numa_agent.core.assigner.nodes.lacking import no_place, no_room
from numa_agent.core.assigner.nodes.nearness import nearest
from numa_agent.core.assigner.nodes.slots import shapes_for, slots
from numa_agent.core.assigner.values import NodeIds, Policy, Room, Wish

STEPS = 4000
"""The steps of the searches for one pod: some 20 ms."""

_LOCAL, _REMOTE = 10, 20
"""Distances that aren't told: the kernel's own for a node to itself, and to another."""


def choose_nodes(wish: Wish, room: Room, offer: CpusOf, ever: CpusOf) -> NodeIds:
    """The NUMA nodes for a pod; raises NoRoomError.

    `offer` are by node id the CPUs that it may have now, `ever` those that it could ever have. A
    set of nodes holds it that has its CPUs and memory in sum and, for each of its devices, a node
    that the device may be on. SingleNUMANode takes one node; Restricted as many as it would take
    were all of them free, as kubelet's restricted policy does; BestEffort the fewest that it takes
    now. Where it is exclusive, nodes with pods of the other kind are left out.
    https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/

    Of sets of so many nodes it is the one of the smallest radius (from one of them to the
    farthest), then with the fewest pods of the other kind, then the least fragmentation. Of
    single nodes that is the one that leaves the most slots on the machine, then the fewest free
    CPUs; of larger sets the one that has the fewest slots, then the fewest free CPUs. Then the
    lowest ids decide.

    Steps are bounded. On machines of up to 8 nodes with CPUs, and wherever nodes are much alike,
    that never shows. Elsewhere sets can be too many to tell which is best: it then gets nodes that
    hold it, though maybe not the nearest or the fewest, and a Restricted pod may be refused for
    which there are nodes.
    """
    case = Case(
        wish=wish,
        room=room,
        now=capacity_now(wish, room, offer),
        ever=capacity_ever(wish, room, offer, ever),
        places=places_of(wish, room),
    )
    refused = no_place(case)
    if refused is not None:
        raise refused
    work = Work(STEPS)
    could = _count_ever(case, work) if wish.policy is Policy.RESTRICTED else None
    chosen = _choose(case, case.allowed, could, work)
    if chosen is None:
        elsewhere = _choose(case, case.everywhere, could, work) is not None
        raise no_room(case, could or _count_ever(case, work), elsewhere=elsewhere)
    return chosen


def fewest_ever(wish: Wish, room: Room, ever: CpusOf) -> int | None:
    """How many nodes a pod takes at least where all that could ever be had can be had, None where
    all lack it; `ever` are by node id the CPUs that it could ever have."""
    case = Case(
        wish=wish,
        room=room,
        now=capacity_now(wish, room, ever),
        ever=capacity_ever(wish, room, ever, ever),
        places=places_of(wish, room),
    )
    return _count_ever(case, Work(STEPS))


def may_be_on(wish: Wish, room: Room, offer: CpusOf) -> NodeIds:
    """The nodes that other pods leave to a pod now; of one that takes a single node, those that
    have its memory, too. Neither its devices nor its CPUs are looked at."""
    now = capacity_now(wish, room, offer)
    case = Case(wish=wish, room=room, now=now, ever=now, places=())
    single = wish.policy is Policy.SINGLE
    return frozenset(
        room.nodes[at].id
        for at in case.allowed
        if not single or all(map(ge, now.amounts[at][1:], now.wanted[1:]))
    )


def _choose(case: Case, positions: Sequence[int], could: int | None, work: Work) -> NodeIds | None:
    """The best set of those nodes, None where none holds the pod.

    `could` is the number of nodes that a Restricted pod takes, None where no number is enough.
    """
    policy = case.wish.policy
    single = [at for at in positions if case.now.alone(at) and case.at_devices(at)]
    if policy is Policy.SINGLE or could == 1 or (policy is Policy.BEST_EFFORT and single):
        return _best_of(case, single)
    items = _items(case, case.now, positions)
    wanted = Wanted(amounts=case.now.wanted, places=case.places)
    count = could if policy is Policy.RESTRICTED else fewest(items, wanted, work)
    if count is None:
        return None
    distances = [[_distance(case.room, here, there) for there in positions] for here in positions]
    found = nearest(items, count, wanted, distances, work)
    return None if found is None else case.ids(sum(item.bit for item in found))


def _count_ever(case: Case, work: Work) -> int | None:
    """How many nodes it takes where all that could ever be had can be had, None where all lack."""
    positions = case.everywhere
    if any(case.ever.alone(at) and case.at_devices(at) for at in positions):
        return 1
    if case.wish.policy is Policy.SINGLE:
        return None
    wanted = Wanted(amounts=case.ever.wanted, places=case.places)
    return fewest(_items(case, case.ever, positions), wanted, work)


def _best_of(case: Case, positions: Sequence[int]) -> NodeIds | None:
    """The best of single nodes."""
    shapes = shapes_for(case.wish, case.room)

    def preference(at: int) -> tuple[int, bool, int, int, int]:
        free = len(case.room.nodes[at].free)
        left = max(0, free - case.wish.room)
        return (
            _distance(case.room, at, at),
            case.other(case.room.nodes[at]),
            slots(free, shapes) - slots(left, shapes),
            left,
            at,
        )

    best: Bits = 0 if not positions else case.bit(min(positions, key=preference))
    return case.ids(best) if best else None


def _items(case: Case, capacity: Capacity, positions: Sequence[int]) -> list[Item]:
    """The nodes as items, which cost pods of the other kind, then slots, then free CPUs."""
    shapes = shapes_for(case.wish, case.room)
    free = [len(node.free) for node in case.room.nodes]
    fits = [slots(cpus, shapes) for cpus in free]
    others = [case.other(node) for node in case.room.nodes]
    free_bits, fits_bits = sum(free).bit_length(), sum(fits).bit_length()
    costs = [
        (((other << fits_bits) + fit) << free_bits) + cpus
        for other, fit, cpus in zip(others, fits, free, strict=True)
    ]
    items = items_of(_capped(capacity), costs)
    return [items[at] for at in positions]


def _capped(capacity: Capacity) -> list[tuple[int, ...]]:
    """What each node has, more than is wanted being as good as what is wanted."""
    return [tuple(map(min, each, capacity.wanted)) for each in capacity.amounts]


def _distance(room: Room, here: int, there: int) -> int:
    told = room.nodes[here].distances or {}
    return told.get(room.nodes[there].id, _LOCAL if here == there else _REMOTE)
