"""Which CPUs of its nodes a pod gets: as good as the best of all subsets, and found fast."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.assigner.cpus import choose_cpus, eligible
from numa_agent.core.assigner.values import Apart, NoRoomError, Room, Threads, Wish
from numa_agent.core.cpulist import CpuSet, parse, render
from tests.assigner.cpu_rooms import (
    KNOWN,
    Thread,
    kind,
    node,
    pairs,
    room_of,
    rooms,
    threads,
    wish,
    wishes,
)
from tests.assigner.oracle_cpus import Rules, best_by_count, best_cpus, may_have

EVERY = frozenset(range(64))


def chosen(asked: Wish, room: Room, nodes: Iterable[int] = EVERY) -> str:
    return render(choose_cpus(asked, room, frozenset(nodes)))


def found(asked: Wish, room: Room) -> CpuSet | None:
    try:
        return choose_cpus(asked, room, EVERY)
    except NoRoomError:
        return None


# --- Against every subset


@settings(deadline=None, max_examples=100)
@given(rooms(nodes=1), wishes())
def test_no_subset_of_a_node_s_cpus_is_better(room: Room, asked: Wish) -> None:
    for count, (_, best) in best_by_count(asked, room, room.nodes[0]).items():
        assert choose_cpus(replace(asked, cpus=count), room, EVERY) == best


@settings(deadline=None, max_examples=100)
@given(rooms(), wishes())
def test_no_subset_of_several_nodes_cpus_is_better(room: Room, asked: Wish) -> None:
    assert found(asked, room) == best_cpus(asked, room, EVERY)


@settings(deadline=None, max_examples=300)
@given(rooms(), wishes())
def test_what_may_be_had_at_all_is_what_the_words_say(room: Room, asked: Wish) -> None:
    for each in room.nodes:
        assert eligible(asked, room, each, each.free) == may_have(asked, room, each)


# --- Names, and more room


@settings(deadline=None, max_examples=100)
@given(threads(), KNOWN, wishes(), st.data())
def test_new_names_in_the_same_order_change_nothing_but_names(
    machine: list[Thread], known: dict[str, bool], asked: Wish, data: st.DataObject
) -> None:
    ids = data.draw(st.permutations(range(len(machine))))
    gaps = data.draw(st.lists(st.integers(1, 90), min_size=len(machine), max_size=len(machine)))
    names = {cpu: cpu + sum(gaps[: cpu + 1]) for cpu in ids}
    before = found(asked, room_of(machine, ids, known))
    after = found(asked, room_of(machine, [names[cpu] for cpu in ids], known))
    assert after == (None if before is None else frozenset(names[cpu] for cpu in before))


@settings(deadline=None, max_examples=100)
@given(threads(nodes=1), KNOWN, wishes(), st.data())
def test_however_cpus_are_numbered_the_choice_is_as_good(
    machine: list[Thread], known: dict[str, bool], asked: Wish, data: st.DataObject
) -> None:
    keys = []
    for _ in range(2):
        room = room_of(machine, data.draw(st.permutations(range(len(machine)))), known)
        cpus = found(asked, room)
        keys.append(cpus and Rules(asked, room, room.nodes[0]).key(cpus)[:-1])
    assert keys[0] == keys[1]


@settings(deadline=None, max_examples=200)
@given(rooms(), wishes(), st.data())
def test_freeing_a_cpu_never_makes_it_fail(room: Room, asked: Wish, data: st.DataObject) -> None:
    held = [cpu for each in room.nodes for cpu in sorted(each.usable - each.free)]
    freed = frozenset(data.draw(st.lists(st.sampled_from(held)))) if held else frozenset()
    more = replace(
        room,
        nodes=tuple(replace(each, free=each.free | (freed & each.usable)) for each in room.nodes),
    )
    assert found(asked, room) is None or found(asked, more) is not None


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_a_machine_that_cannot_be_is_no_harm(data: st.DataObject) -> None:
    groups = st.lists(st.frozensets(st.integers(0, 11)), max_size=6).map(tuple)
    usable = data.draw(st.frozensets(st.integers(0, 11)))
    room = Room(
        nodes=(
            replace(node(0, ""), usable=usable, free=data.draw(st.frozensets(st.integers(0, 11)))),
            node(1, "12-15"),
        ),
        cores=data.draw(groups),
        caches=data.draw(groups),
        kinds=tuple(kind("core", render(each)) for each in data.draw(groups)),
        apart=data.draw(st.frozensets(st.integers(0, 15))),
    )
    asked = data.draw(wishes())
    cpus = found(asked, room)
    free = (room.nodes[0].free & usable) | room.nodes[1].free
    assert cpus is None or (len(cpus) == asked.cpus and cpus <= free)


# --- Rule by rule

SMT2 = Room(
    nodes=(node(0, "0-3,8-11"), node(1, "4-7,12-15")),
    cores=pairs(*(f"{n},{n + 8}" for n in range(8))),
    caches=pairs("0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"),
)


def held(room: Room, cpus: str) -> Room:
    taken = parse(cpus)
    return replace(room, nodes=tuple(replace(each, free=each.free - taken) for each in room.nodes))


@pytest.mark.parametrize(
    ("count", "taken", "cpus"),
    [
        (2, "", "0,8"),
        (4, "", "0-1,8-9"),
        (3, "", "0-1,8"),
        (8, "", "0-3,8-11"),
        # Core 0 is broken and takes the odd thread, though it is behind another cache.
        (5, "0", "1-2,8-10"),
        (1, "8", "0"),
        (2, "8", "1,9"),
        (2, "0-1", "2,10"),
        # No whole core is left: the threads of broken ones.
        (2, "8-11", "0-1"),
        # One cache rather than two halves, and a broken one rather than a whole one.
        (4, "0,8", "2-3,10-11"),
        (2, "2,10", "3,11"),
        (2, "0,8", "1,9"),
    ],
)
def test_whole_cores_come_first_and_caches_stay_whole(count: int, taken: str, cpus: str) -> None:
    assert chosen(wish(count), held(SMT2, taken), {0}) == cpus


@pytest.mark.parametrize(
    ("count", "taken", "cpus"),
    [
        (1, "", "0"),
        (2, "", "0-1"),
        (3, "", "0-2"),
        (5, "", "0-3,8"),
        # The core whose sibling is held comes last.
        (3, "8", "1-3"),
        (4, "8", "0-3"),
        (2, "8,9", "2-3"),
    ],
)
def test_spread_takes_one_thread_of_each_core_first(count: int, taken: str, cpus: str) -> None:
    assert chosen(wish(count, threads=Threads.SPREAD), held(SMT2, taken), {0}) == cpus


def test_a_pod_to_be_apart_by_cores_breaks_a_core_rather_than_sharing_a_broken_one() -> None:
    taken = held(SMT2, "8")
    assert chosen(wish(1), taken, {0}) == "0"
    assert chosen(wish(1, apart=Apart.CORES), taken, {0}) == "1"


def test_a_core_of_a_pod_that_is_apart_is_not_had_by_another_such_pod() -> None:
    taken = replace(held(SMT2, "8"), apart=parse("8"))
    here = taken.nodes[0]
    apart = wish(6, apart=Apart.CORES)
    assert eligible(apart, taken, here, here.free) == parse("1-3,9-11")
    assert eligible(wish(6), taken, here, here.free) == here.free
    assert eligible(apart, taken, here, here.usable) == here.usable
    with pytest.raises(NoRoomError, match=r"NUMA node 0: of 7 .* 6 can be had now"):
        choose_cpus(replace(apart, cpus=7), taken, frozenset({0}))


HYBRID = Room(
    nodes=(node(0, "0-7"),),
    cores=pairs("0-1", "2-3", "4", "5", "6", "7"),
    caches=pairs("0-7"),
    kinds=(kind("core", "0-3"), kind("atom", "4-7")),
)


@pytest.mark.parametrize(
    ("asked", "cpus"),
    [
        (wish(2), "0-1"),
        (wish(5), "0-4"),
        (wish(2, kind="atom"), "4-5"),
        (wish(4, kind="core", threads=Threads.ONLY_WHOLE_CORES), "0-3"),
        # Only one fast core fits in three, and whatever is missing is of the slower kind.
        (wish(3, threads=Threads.ONLY_WHOLE_CORES), "0-1,4"),
        (wish(3), "0-2"),
        (wish(5, threads=Threads.SPREAD), "0-4"),
    ],
)
def test_the_fastest_kind_comes_first_unless_one_is_named(asked: Wish, cpus: str) -> None:
    assert chosen(asked, HYBRID) == cpus


def test_a_kind_that_no_cpu_is_of_has_no_room() -> None:
    with pytest.raises(NoRoomError, match=r"of 1 CPUs of kind lowpower none can be had"):
        choose_cpus(wish(1, kind="lowpower"), HYBRID, EVERY)


@pytest.mark.parametrize(
    ("count", "taken", "cpus"),
    [
        # One node that is enough by itself isn't: the set was chosen for devices on both.
        (4, "", "0,4,8,12"),
        (6, "", "0-1,4,8-9,12"),
        (12, "", "0-3,4-5,8-11,12-13"),
        (2, "", "0,4"),
        (1, "", "0"),
        # Node 1 has fewer free, so it is filled, and node 0 keeps what is left together.
        (10, "4,12", "0-1,5-7,8-9,13-15"),
        # An odd number free isn't filled up where that would break a core elsewhere.
        (9, "4", "0,5-7,8,12-15"),
        (8, "4", "0,5-7,8,13-15"),
    ],
)
def test_each_node_gives_some_and_the_fullest_is_filled(count: int, taken: str, cpus: str) -> None:
    assert chosen(wish(count), held(SMT2, taken), {0, 1}) == render(parse(cpus))


def test_nodes_that_have_nothing_or_are_not_there_give_nothing() -> None:
    assert chosen(wish(4), held(SMT2, "0-3,8-11"), {0, 1, 9}) == "4-5,12-13"


@pytest.mark.parametrize("size", [4, 8])
def test_a_power_machine_with_more_threads_a_core(size: int) -> None:
    cores = pairs(*(f"{size * n}-{size * n + size - 1}" for n in range(8)))
    caches = tuple(cores[n] | cores[n + 1] for n in range(0, 8, 2))
    room = Room(nodes=(node(0, f"0-{8 * size - 1}"),), cores=cores, caches=caches)
    assert chosen(wish(2 * size), room) == f"0-{2 * size - 1}"
    assert chosen(wish(size + 1), room) == f"0-{size}"
    assert chosen(wish(4, threads=Threads.SPREAD), room) == f"0,{size},{2 * size},{3 * size}"
    # The odd threads go to the core that is broken, and where it has too few to one new core.
    broken = held(room, f"1-{size - 2}")
    assert chosen(wish(size + 2), broken) == render(parse(f"0,{size - 1},{size}-{2 * size - 1}"))
    assert chosen(wish(3), broken) == f"{size}-{size + 2}"


@pytest.mark.parametrize(
    ("count", "cpus"), [(1, "4"), (2, "4-5"), (3, "6-8"), (4, "0-3"), (5, "4-8"), (7, "0-3,6-8")]
)
def test_of_cores_of_several_sizes_the_larger_are_whole_and_the_smallest_is_broken(
    count: int, cpus: str
) -> None:
    room = Room(nodes=(node(0, "0-8"),), cores=pairs("0-3", "4-5", "6-8"))
    assert chosen(wish(count), room) == cpus


@pytest.mark.parametrize("how", list(Threads))
def test_one_cpu_and_nothing_known(how: Threads) -> None:
    room = Room(nodes=(node(0, "0"),))
    assert chosen(wish(1, threads=how), room) == "0"
    assert chosen(wish(0, threads=how), room) == ""


@pytest.mark.parametrize("how", list(Threads))
def test_where_no_cores_are_known_each_cpu_is_one(how: Threads) -> None:
    assert chosen(wish(3, threads=how), Room(nodes=(node(0, "0-7", held="1"),))) == "0,2-3"


def test_a_core_behind_two_caches_is_behind_the_first_cpu_s() -> None:
    room = Room(nodes=(node(0, "0-3"),), cores=pairs("0-1", "2-3"), caches=pairs("0,2", "1,3"))
    assert chosen(wish(4), room) == "0-3"


# --- Whole cores only


def test_a_core_whose_sibling_is_held_or_reserved_is_not_whole() -> None:
    only = wish(2, threads=Threads.ONLY_WHOLE_CORES)
    taken = replace(SMT2, nodes=(node(0, "1-3,8-11", held="9"),))
    here = taken.nodes[0]
    assert eligible(only, taken, here, here.free) == parse("2-3,10-11")
    assert eligible(only, taken, here, here.usable) == parse("1-3,9-11")
    assert chosen(only, taken) == "2,10"


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (5, "NUMA nodes 0-1: 5 CPUs in whole cores can't be had, with cores of 2 threads; 4 or 6"),
        (1, "2 could"),
        (15, "14 or 16 could"),
        (17, "16 or 18 could"),
    ],
)
def test_a_count_that_no_whole_cores_make_never_fits(count: int, message: str) -> None:
    with pytest.raises(NoRoomError, match=message) as caught:
        choose_cpus(wish(count, threads=Threads.ONLY_WHOLE_CORES), SMT2, frozenset({0, 1}))
    assert caught.value.code == "never-fits"


@pytest.mark.parametrize(
    ("room", "count", "message"),
    [
        (held(SMT2, "0,1"), 14, "NUMA nodes 0-1: of 14 CPUs in whole cores 12 can be had now"),
        (SMT2, 18, "of 18 CPUs in whole cores 16 can be had now"),
        # Cores of one thread and of two: three are one of each, and the one of one is held.
        (held(HYBRID, "4-7"), 3, "of 3 CPUs in whole cores 2 can be had now"),
        (held(SMT2, "0-15"), 2, "of 2 CPUs in whole cores none can be had now"),
    ],
)
def test_whole_cores_that_are_held_now_are_no_room(room: Room, count: int, message: str) -> None:
    with pytest.raises(NoRoomError, match=message) as caught:
        choose_cpus(wish(count, threads=Threads.ONLY_WHOLE_CORES), room, EVERY)
    assert caught.value.code == "no-room"


@pytest.mark.parametrize("how", [Threads.WHOLE_CORES, Threads.SPREAD])
def test_fewer_free_cpus_are_no_room(how: Threads) -> None:
    with pytest.raises(NoRoomError, match=r"NUMA node 1: of 9 CPUs 8 can be had") as caught:
        choose_cpus(wish(9, threads=how), SMT2, frozenset({1}))
    assert caught.value.code == "no-room"


def test_no_node_is_no_room() -> None:
    with pytest.raises(NoRoomError, match=r"no NUMA node: of 2 CPUs none"):
        choose_cpus(wish(2), SMT2, frozenset())


def test_a_node_with_cores_of_every_size_needs_give_none() -> None:
    room = Room(
        nodes=(node(0, "0-1"), node(1, "2-11")), cores=pairs("0-1", "2-5", "6", "7-8", "9-11")
    )
    assert chosen(wish(2, threads=Threads.ONLY_WHOLE_CORES), room) == "0-1"
    assert chosen(wish(3, threads=Threads.ONLY_WHOLE_CORES), room) == "0-1,6"


@pytest.mark.parametrize(
    ("apart", "cpus"), [(Apart.NOBODY, "0-1,4,9,12"), (Apart.CORES, "2-4,10-11")]
)
def test_a_broken_core_makes_an_odd_number_up_unless_cores_are_to_be_apart(
    apart: Apart, cpus: str
) -> None:
    # To be apart one core is broken wherever the odd one is, so node 0 gives what it can.
    assert chosen(wish(5, apart=apart), held(SMT2, "8"), {0, 1}) == cpus


def test_two_nodes_of_fast_and_slow_cpus_give_whole_fast_cores() -> None:
    room = Room(
        nodes=(node(0, "0-5"), node(1, "6-11")),
        cores=pairs("0-1", "2-3", "4", "5", "6-7", "8-9", "10", "11"),
        kinds=(kind("core", "0-3,6-9"), kind("atom", "4-5,10-11")),
    )
    assert chosen(wish(4), room) == "0-1,6-7"
    assert chosen(wish(7), room) == "0-4,6-7"
