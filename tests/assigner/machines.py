"""Wishes and machines to choose NUMA nodes on, of any shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import Any

from hypothesis import strategies as st

from numa_agent.core.assigner.values import Apart, NodeRoom, Policy, Room, Use, Wish
from numa_agent.core.cpulist import CpuSet

CpusOf = Mapping[int, CpuSet]
GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """All that choose_nodes is given."""

    wish: Wish
    room: Room
    offer: CpusOf
    ever: CpusOf

    def renumbered(self, ids: Mapping[int, int]) -> "Given":
        """The same with other node ids; CPUs keep theirs."""

        def node(old: NodeRoom) -> NodeRoom:
            told = old.distances
            return replace(
                old,
                id=ids[old.id],
                distances=None if told is None else {ids[k]: v for k, v in told.items()},
            )

        places = tuple(frozenset(ids[each] for each in place) for place in self.wish.places)
        return Given(
            wish=replace(self.wish, places=places),
            room=replace(self.room, nodes=tuple(map(node, self.room.nodes))),
            offer={ids[key]: cpus for key, cpus in self.offer.items()},
            ever={ids[key]: cpus for key, cpus in self.ever.items()},
        )


def node(
    number: int,
    free: int,
    usable: int | None = None,
    *,
    use: Use = Use.IDLE,
    apart: bool = False,
    memory: Mapping[str, int] | None = None,
    memory_ever: Mapping[str, int] | None = None,
    distances: Mapping[int, int] | None = None,
) -> NodeRoom:
    """A node with so many CPUs free of so many, as many where it isn't said."""
    first = number * 100
    return NodeRoom(
        id=number,
        free=frozenset(range(first, first + free)),
        usable=frozenset(range(first, first + max(free, usable or 0))),
        memory=memory or {},
        memory_ever=memory if memory_ever is None and memory else memory_ever or {},
        distances=distances,
        use=use,
        apart=apart,
    )


def given(wish: Wish, nodes: Sequence[NodeRoom], *, shapes: tuple[int, ...] = ()) -> Given:
    """The wish on these nodes, all of whose CPUs it may have."""
    return Given(
        wish=wish,
        room=Room(nodes=tuple(nodes), shapes=shapes),
        offer={node.id: node.free for node in nodes},
        ever={node.id: node.usable for node in nodes},
    )


_SIZES = st.tuples(st.integers(-2, 9), st.integers(0, 3))
"""Bytes now, none told where negative, and how many more there could ever be."""

_TOLD = st.sampled_from([None, 10, 11, 12, 20, 21])

_NODES = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.tuples(st.integers(0, 6), st.integers(0, 4)),
        st.sampled_from([Use.IDLE, Use.IDLE, Use.SINGLE, Use.SHARED]),
        st.booleans(),
        st.tuples(_SIZES, _SIZES),
        st.none() | st.tuples(*[_TOLD] * 6),
    ),
    min_size=1,
    max_size=6,
)
_WISH = st.tuples(
    st.sampled_from(list(Policy)),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 8, 11]),
    st.sampled_from([0, 0, 1, 1500]),
    st.dictionaries(
        st.sampled_from(["memory", "hugepages-2Mi", "other"]), st.integers(0, 9), max_size=2
    ),
    st.lists(st.frozensets(st.integers(0, 5), min_size=1, max_size=3), max_size=3),
    st.sampled_from(list(Apart)),
)


def _made(drawn: Sequence[Any], wanted: Any, shapes: Sequence[int]) -> Given:
    ids = list(accumulate((each[0] for each in drawn), initial=-1))[1:]
    nodes = []
    for at, (_, (free, held), use, apart, memory, told) in enumerate(drawn):
        sizes = dict(zip(("memory", "hugepages-2Mi"), memory, strict=True))
        distances = zip(ids, told or (), strict=False)
        nodes.append(
            node(
                ids[at],
                free,
                free + held,
                use=use,
                apart=apart,
                memory={kind: now for kind, (now, _) in sizes.items() if now >= 0},
                memory_ever={kind: now + more for kind, (now, more) in sizes.items() if now >= 0},
                distances=None if told is None else {key: far for key, far in distances if far},
            )
        )
    policy, exclusive, tenths, shared, memory, places, apart = wanted
    wish = Wish(
        policy=policy,
        exclusive=exclusive,
        cpus=tenths * sum(len(each.usable) for each in nodes) // 10,
        shared_millis=shared,
        memory=memory,
        places=tuple(frozenset(ids[at % len(ids)] for at in place) for place in places),
        apart=apart,
    )
    return given(wish, nodes, shapes=tuple(shapes))


ANYTHING = st.builds(_made, _NODES, _WISH, st.lists(st.integers(0, 4), max_size=3))
"""Up to 6 nodes, some without distances or memory, and a wish that often just fits."""


def large(
    seed: int, count: int, cpus: int = 32, *, near: str = "any", kinds: int = 3, devices: int = 0
) -> Given:
    """A machine of so many nodes, no two alike, and a wish for about half of what is free."""
    random = Random(seed)
    names = ["memory", "hugepages-2Mi", "hugepages-1Gi"][:kinds]
    nodes = []
    for number in range(count):
        apart = {other: abs(other - number) for other in range(count)}
        if near == "flat":
            distances = {other: 10 + 10 * (other != number) for other in apart}
        elif near == "ring":
            distances = {other: 10 + min(far, count - far) for other, far in apart.items()}
        else:
            distances = {
                other: 10 + (far and random.randint(1, 244)) for other, far in apart.items()
            }
        now = {kind: random.randint(0, 64 * GIB) for kind in names}
        nodes.append(
            node(
                number,
                random.randint(0, cpus),
                cpus,
                use=random.choice(list(Use)),
                memory=now,
                memory_ever=dict.fromkeys(names, 64 * GIB),
                distances=distances,
            )
        )
    half = random.choice([3, 4, 6, 10])
    wish = Wish(
        policy=random.choice([Policy.BEST_EFFORT, Policy.RESTRICTED]),
        exclusive=random.random() < 0.3,
        cpus=sum(len(each.free) for each in nodes) // half,
        memory={kind: sum(each.memory[kind] for each in nodes) // half for kind in names},
        places=tuple(
            frozenset(random.choices(range(count), k=random.randint(1, 3))) for _ in range(devices)
        ),
    )
    return given(wish, nodes, shapes=(3, 7))
