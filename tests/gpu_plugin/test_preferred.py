"""The cards preferred are those that an exhaustive search finds best."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.gpu_plugin import Card, Closeness, Wish, closeness, offered, preferred
from numa_agent.core.gpu_plugin.closeness import FARTHEST
from numa_agent.core.pci import PciAddress
from tests.gpu_plugin.machines import topology_of


def cards_on(nodes: Sequence[int | None]) -> tuple[Card, ...]:
    return tuple(
        Card(
            id=f"GPU-{index}",
            index=index,
            address=PciAddress(0, index, 0, 0),
            minor=index,
            node=node,
            name=None,
        )
        for index, node in enumerate(nodes)
    )


def table(count: int, of_pair: Callable[[int, int], int]) -> tuple[tuple[int, ...], ...]:
    rows = [[0] * count for _ in range(count)]
    for a, b in itertools.combinations(range(count), 2):
        rows[a][b] = rows[b][a] = of_pair(a, b)
    return tuple(tuple(row) for row in rows)


def worth(cards: Sequence[Card], close: Closeness, wish: Wish, chosen: tuple[int, ...]) -> Any:
    """The order of preferences as the page has it, lower is better; from the definition alone."""
    pairs = list(itertools.combinations(chosen, 2))
    nodes = {cards[position].node for position in chosen}
    ids = {*wish.available, *wish.must}
    rest = [p for p, card in enumerate(cards) if card.id in ids and p not in chosen]
    left = list(itertools.combinations(rest, 2))
    free = wish.free_cpus or {}
    fits = (
        wish.wanted_cpus is None
        or wish.free_cpus is None
        or sum(free.get(-1 if node is None else node, 0) for node in nodes) >= wish.wanted_cpus
    )
    return (
        len(nodes),
        -min((close.nvlink[a][b] for a, b in pairs), default=0),
        -sum(close.nvlink[a][b] for a, b in pairs),
        max((close.level[a][b] for a, b in pairs), default=0),
        sum(close.level[a][b] for a, b in pairs),
        sum(close.apart[a][b] for a, b in pairs),
        not fits,
        -sum(cards[a].node == cards[b].node for a, b in left),
        -sum(close.nvlink[a][b] for a, b in left),
        -sum(FARTHEST - close.level[a][b] for a, b in left),
        chosen,
    )


def exhaustive(cards: Sequence[Card], close: Closeness, wish: Wish) -> tuple[str, ...]:
    ids = {*wish.available, *wish.must}
    free = [position for position, card in enumerate(cards) if card.id in ids]
    must = {position for position in free if cards[position].id in wish.must}
    choices = [chosen for chosen in itertools.combinations(free, wish.size) if must <= {*chosen}]
    best = min(choices, key=lambda chosen: worth(cards, close, wish, chosen))
    return tuple(cards[position].id for position in best)


@st.composite
def machines(draw: st.DrawFn) -> tuple[tuple[Card, ...], Closeness, Wish]:
    count = draw(st.integers(1, 8))
    nodes = draw(st.lists(st.sampled_from([0, 1, 2, None]), min_size=count, max_size=count))
    links = draw(st.sampled_from([[0], [18], [0, 1, 2], [0, 25, 50]]))
    nvlink = st.sampled_from(links)
    level = st.integers(0, draw(st.integers(0, FARTHEST)))
    apart = st.sampled_from([10, 21, 255])
    close = Closeness(
        table(count, lambda a, b: draw(nvlink)),
        table(count, lambda a, b: draw(level)),
        table(count, lambda a, b: draw(apart)),
    )
    cards = cards_on(nodes)
    ids = [card.id for card in cards]
    available = draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    must = draw(st.lists(st.sampled_from(available), unique=True))
    wish = Wish(
        available=available,
        must=must,
        size=draw(st.integers(max(1, len(must)), len(available))),
        wanted_cpus=draw(st.none() | st.integers(0, 8)),
        free_cpus=draw(st.none() | st.dictionaries(st.integers(0, 2), st.integers(0, 8))),
    )
    return cards, close, wish


@settings(max_examples=400, deadline=None)
@given(machines())
def test_no_choice_is_better(machine: tuple[tuple[Card, ...], Closeness, Wish]) -> None:
    cards, close, wish = machine
    assert preferred(cards, close, wish) == exhaustive(cards, close, wish)


@settings(max_examples=200, deadline=None)
@given(
    machines(),
    st.lists(st.text(max_size=5)),
    st.lists(st.text(max_size=5)),
    st.integers(-(2**31), 2**31 - 1),
)
def test_whatever_is_asked_for_the_answer_is_of_cards_that_are_free(
    machine: tuple[tuple[Card, ...], Closeness, Wish],
    strange: list[str],
    musts: list[str],
    size: int,
) -> None:
    cards, close, wish = machine
    asked = Wish(available=[*wish.available, *strange], must=[*wish.must, *musts], size=size)
    found = preferred(cards, close, asked)
    assert {*found} <= {*wish.available, *wish.must}
    assert len({*found}) == len(found)
    assert {*wish.must} <= {*found}
    assert len(found) >= min(max(size, 0), len({*wish.available}))


@pytest.mark.parametrize("kind", ["random links", "random levels", "one switch", "two trees"])
@pytest.mark.parametrize("nodes", [(None,) * 16, tuple(n // 8 for n in range(16)), (0, 1) * 8])
def test_sixteen_cards_are_decided_before_kubelet_notices(
    kind: str, nodes: tuple[int | None, ...]
) -> None:
    """Any 8 of 16 are 12870 choices; the search that ends early would say nothing of the best."""
    seeds = itertools.count(7)

    def chance(below: int) -> int:
        return (next(seeds) * 2654435761 >> 7) % below

    def links(_a: int, _b: int) -> int:
        return chance(3) if kind == "random links" else 18 if kind == "one switch" else 0

    def level(a: int, b: int) -> int:
        return _tree(a, b) if kind == "two trees" else chance(5)

    close = Closeness(table(16, links), table(16, level), table(16, lambda a, b: 21))
    cards = cards_on(nodes)
    for size in (2, 4, 8, 10, 15):
        wish = Wish(available=[card.id for card in cards], must=(), size=size)
        began = time.process_time()
        found = preferred(cards, close, wish)
        assert time.process_time() - began < 0.25
        assert found == preferred(cards, close, wish, most_steps=10**9)


def _tree(a: int, b: int) -> int:
    return 0 if a // 2 == b // 2 else 1 if a // 4 == b // 4 else 2 if a // 8 == b // 8 else 4


def test_a_search_that_may_not_go_on_answers_the_best_so_far() -> None:
    cards = cards_on([None] * 40)
    close = Closeness(
        table(40, lambda a, b: 0),
        table(40, lambda a, b: (a * 7 + b * 13) % 5),
        table(40, lambda a, b: 10),
    )
    wish = Wish(available=[card.id for card in cards], must=["GPU-39"], size=20)
    began = time.process_time()
    found = preferred(cards, close, wish)
    assert time.process_time() - began < 3
    assert len({*found}) == 20
    assert "GPU-39" in found


def test_however_few_combinations_there_are_the_search_is_bounded() -> None:
    """Only the fullest nodes together hold so many; most ways to begin come to nothing."""
    counts = [1 + (7 * node) % 3 for node in range(24)]
    nodes = sorted(range(sum(counts)), key=lambda each: (each * 31) % sum(counts))
    owners = [node for node, count in enumerate(counts) for _ in range(count)]
    cards = cards_on([owners[each] for each in nodes])
    size = sum(sorted(counts, reverse=True)[:8])
    close = Closeness(*(table(len(cards), lambda _a, _b: 0),) * 3)
    began = time.process_time()
    wish = Wish(available=[card.id for card in cards], must=(), size=size)
    chosen = preferred(cards, close, wish, most_steps=1000)
    assert time.process_time() - began < 1
    assert len(chosen) == size
    assert len({card.node for card in cards if card.id in chosen}) == 8


def test_small_requests_leave_the_whole_node_to_bigger_ones() -> None:
    cards = cards_on([0, 0, 0, 0, 1, 1, 1, 1])
    close = Closeness(*(table(8, lambda a, b: 0),) * 3)
    free = [f"GPU-{n}" for n in (0, 1, 2, 3, 6, 7)]
    assert preferred(cards, close, Wish(available=free, must=(), size=2)) == ("GPU-6", "GPU-7")
    assert preferred(cards, close, Wish(available=free, must=(), size=4)) == tuple(free[:4])


def test_of_equal_nodes_the_one_that_has_the_pod_s_cpus_comes_before_fragmentation() -> None:
    cards = cards_on([0, 0, 0, 0, 1, 1, 1, 1])
    close = Closeness(*(table(8, lambda a, b: 0),) * 3)
    free = [f"GPU-{n}" for n in (0, 1, 2, 3, 6, 7)]
    wish = Wish(available=free, must=(), size=2, wanted_cpus=24, free_cpus={0: 24, 1: 23})
    assert preferred(cards, close, wish) == ("GPU-0", "GPU-1")
    nowhere = Wish(available=free, must=(), size=2, wanted_cpus=25, free_cpus={0: 24, 1: 23})
    assert preferred(cards, close, nowhere) == ("GPU-6", "GPU-7")


def test_what_must_be_included_brings_its_node_along() -> None:
    cards = cards_on([0, 0, 1, 1])
    close = Closeness(*(table(4, lambda a, b: 0),) * 3)
    ids = [card.id for card in cards]
    wish = Wish(available=ids, must=["GPU-3"], size=2)
    assert preferred(cards, close, wish) == ("GPU-2", "GPU-3")


@pytest.mark.parametrize(
    ("machine", "size", "positions"),
    [
        # The cube mesh of a DGX-1: cards 0 and 3 share two links, 0 and 1 one.
        ("v100-cube-mesh", 1, (0,)),
        ("v100-cube-mesh", 4, (0, 1, 2, 3)),
        ("v100-cube-mesh", 8, tuple(range(8))),
        # Each node of the four has two cards: four cards take two near nodes.
        ("nps4-8gpu", 2, (0, 1)),
        ("two-socket-8gpu", 4, (0, 1, 2, 3)),
        ("gb200-like", 2, (0, 1)),
    ],
)
def test_recorded_machines(machine: str, size: int, positions: tuple[int, ...]) -> None:
    topology = topology_of(machine)
    cards = offered(topology).cards
    close = closeness(topology, cards)
    wish = Wish(available=[card.id for card in cards], must=(), size=size)
    assert preferred(cards, close, wish) == tuple(cards[position].id for position in positions)
    assert preferred(cards, close, wish) == exhaustive(cards, close, wish)


@pytest.mark.parametrize("machine", ["v100-cube-mesh", "nps4-8gpu", "two-socket-8gpu"])
def test_every_wish_on_a_recorded_machine_gets_the_best(machine: str) -> None:
    topology = topology_of(machine)
    cards = offered(topology).cards
    close = closeness(topology, cards)
    ids = [card.id for card in cards]
    for taken in range(0, 256, 5):
        free = [name for place, name in enumerate(ids) if not taken >> place & 1]
        for size in range(1, len(free) + 1):
            wish = Wish(available=free, must=free[-1:] if taken % 3 == 0 else (), size=size)
            assert preferred(cards, close, wish) == exhaustive(cards, close, wish)
