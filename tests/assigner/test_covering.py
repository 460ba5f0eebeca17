"""The cheapest set of items that has all that is wanted, with steps enough and without."""

from itertools import combinations
from random import Random

import pytest

from numa_agent.core.assigner.nodes.counting import fewest, greedy, so_many
from numa_agent.core.assigner.nodes.covering import cheapest
from numa_agent.core.assigner.nodes.items import Item, Wanted, Work, items_of, lacking
from numa_agent.core.assigner.nodes.nearness import nearest, radius


def puzzle(seed: int, count: int, *, things: int = 3) -> tuple[tuple[Item, ...], Wanted]:
    """Items no two of which are alike, and about a third of all that they have."""
    random = Random(seed)
    amounts = [tuple(random.randint(0, 999) for _ in range(things)) for _ in range(count)]
    items = items_of(amounts, [random.randint(0, 5) for _ in range(count)])
    bits = [item.bit for item in items]
    places = [sum(set(random.choices(bits, k=random.randint(1, 4)))) for _ in range(seed % 4)]
    wanted = tuple(sum(column) // 3 for column in zip(*amounts, strict=True))
    return items, Wanted(amounts=wanted, places=tuple(places))


def has_all(found: list[Item], wanted: Wanted) -> bool:
    bits = sum(item.bit for item in found)
    return not any(lacking(wanted, found)) and all(place & bits for place in wanted.places)


def by_trying(items: tuple[Item, ...], count: int, wanted: Wanted) -> list[Item] | None:
    sets = [list(each) for each in combinations(items, count) if has_all(list(each), wanted)]
    return min(sets, key=lambda found: sum(item.key for item in found), default=None)


@pytest.mark.parametrize("seed", range(40))
def test_with_steps_enough_it_is_the_cheapest_of_all_sets(seed: int) -> None:
    items, wanted = puzzle(seed, 10, things=seed % 4)
    for count in range(11):
        work = Work(10**6)
        found = cheapest(items, count, wanted, work)
        right = by_trying(items, count, wanted)
        assert work.exact
        assert (found is None) == (right is None)
        assert {item.bit for item in found or ()} == {item.bit for item in right or ()}


def test_sets_that_cost_the_same_are_told_apart_by_their_first_items() -> None:
    items = items_of([(5,)] * 4, [1, 1, 1, 0])
    wanted = Wanted(amounts=(10,))
    assert cheapest(items[:3], 2, wanted, Work(100)) == [items[0], items[1]]
    assert set(cheapest(items, 2, wanted, Work(100)) or ()) == {items[0], items[3]}


@pytest.mark.parametrize("seed", range(40))
def test_eight_items_are_exact_without_any_steps_left(seed: int) -> None:
    items, wanted = puzzle(seed, 8)
    for count in range(1, 9):
        work = Work(0)
        found = cheapest(items, count, wanted, work)
        right = by_trying(items, count, wanted)
        assert work.exact
        assert {item.bit for item in found or ()} == {item.bit for item in right or ()}


@pytest.mark.parametrize("steps", [0, 300, 3000])
@pytest.mark.parametrize("seed", range(12))
def test_where_steps_run_short_what_is_found_has_all_that_is_wanted(seed: int, steps: int) -> None:
    items, wanted = puzzle(seed, 64)
    work = Work(steps)
    count = fewest(items, wanted, work)
    assert count is not None
    found = so_many(items, count, wanted, work)
    assert found is not None
    assert len(found) == count
    assert has_all(found, wanted)


def test_this_many_different_items_do_run_out_of_steps() -> None:
    """Without it the test above would prove nothing."""
    items, wanted = puzzle(4, 64)
    count = fewest(items, wanted, Work(10**6)) or 0
    work = Work(300)
    so_many(items, count, wanted, work)
    assert not work.exact
    assert work.left < 0


@pytest.mark.parametrize("seed", [8, 11, 58, 73, 174])
def test_where_no_set_is_left_to_go_on_with_greed_finds_one(seed: int) -> None:
    items, wanted = puzzle(seed, 64, things=5)
    count = len(greedy(items, wanted) or ())
    assert cheapest(items, count, wanted, Work(0)) is None
    found = so_many(items, count, wanted, Work(0))
    assert found is not None
    assert len(found) == count
    assert has_all(found, wanted)


@pytest.mark.parametrize("seed", range(6))
def test_the_steps_of_a_search_are_bounded_wherever_items_are(seed: int) -> None:
    items, wanted = puzzle(seed, 64)
    random = Random(seed)
    distances = [[10 if i == j else random.randint(11, 254) for j in range(64)] for i in range(64)]
    work = Work(2000)
    count = fewest(items, wanted, work) or 64
    found = nearest(items, count, wanted, distances, work)
    assert found is not None
    assert has_all(found, wanted)
    # Each search may take some more than are left, and none begins where there are none.
    assert work.left > -4000


@pytest.mark.parametrize("seed", range(20))
def test_greed_finds_a_set_wherever_all_together_have_it(seed: int) -> None:
    items, wanted = puzzle(seed, 20)
    found = greedy(items, wanted)
    assert found is not None
    assert has_all(found, wanted)
    more = Wanted(amounts=tuple(4 * amount for amount in wanted.amounts), places=wanted.places)
    assert greedy(items, more) is None
    assert fewest(items, more, Work(1000)) is None


def test_a_place_where_none_of_the_items_is_cannot_be_met() -> None:
    items = items_of([(1,)] * 3, [0] * 3)
    wanted = Wanted(amounts=(1,), places=(items[0].bit,))
    assert cheapest(items[1:], 2, wanted, Work(100)) is None
    assert fewest(items[1:], wanted, Work(100)) is None


def test_one_item_is_taken_even_of_nothing() -> None:
    items = items_of([(0,)] * 3, [0] * 3)
    assert fewest(items, Wanted(amounts=(0,)), Work(100)) == 1
    assert fewest((), Wanted(amounts=(0,)), Work(100)) is None


def test_the_radius_is_that_of_the_item_that_is_nearest_to_all() -> None:
    distances = [[10, 20, 30], [12, 10, 14], [50, 50, 10]]
    assert radius([0, 1, 2], distances) == 14
    assert radius([0, 2], distances) == 30
    assert radius([1], distances) == 10
