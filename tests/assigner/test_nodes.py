"""Which NUMA nodes a pod gets."""

import time
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from numa_agent.core.assigner.nodes import choose_nodes
from numa_agent.core.assigner.values import Apart, NoRoomError, Policy, Use, Wish
from numa_agent.core.cpulist import render
from tests.assigner.machines import ANYTHING, GIB, Given, given, large, node
from tests.assigner.oracle_nodes import holds_now, right_nodes

SINGLE, RESTRICTED, BEST_EFFORT = Policy.SINGLE, Policy.RESTRICTED, Policy.BEST_EFFORT
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def got(case: Given) -> frozenset[int] | str:
    try:
        return choose_nodes(case.wish, case.room, case.offer, case.ever)
    except NoRoomError as refused:
        return refused.code


def said(case: Given) -> str:
    with pytest.raises(NoRoomError) as refused:
        choose_nodes(case.wish, case.room, case.offer, case.ever)
    return str(refused.value)


def ids(*those: int) -> frozenset[int]:
    return frozenset(those)


@MANY
@drawn(ANYTHING)
def test_it_is_what_trying_every_set_of_nodes_finds(case: Given) -> None:
    assert got(case) == right_nodes(case.wish, case.room, case.offer, case.ever)


@pytest.mark.parametrize("near", ["flat", "ring", "any"])
@pytest.mark.parametrize("kinds", [0, 1, 3])
@pytest.mark.parametrize("count", [2, 4, 7, 9])
def test_pods_of_several_nodes_get_what_trying_every_set_finds(
    near: str, kinds: int, count: int
) -> None:
    for seed in range(15):
        case = large(seed, count, near=near, kinds=kinds, devices=(0, 1, 4)[seed % 3])
        assert got(case) == right_nodes(case.wish, case.room, case.offer, case.ever), seed


@MANY
@drawn(ANYTHING, st.lists(st.integers(1, 40), min_size=6, max_size=6))
def test_other_ids_in_the_same_order_change_nothing(case: Given, gaps: list[int]) -> None:
    old = [each.id for each in case.room.nodes]
    new = dict(zip(old, accumulate(gaps), strict=False))
    before, after = got(case), got(case.renumbered(new))
    assert after == (before if isinstance(before, str) else {new[each] for each in before})


@MANY
@drawn(ANYTHING, st.data())
def test_more_that_is_free_never_turns_a_pod_away(case: Given, data: st.DataObject) -> None:
    before = got(case)
    offer, nodes = dict(case.offer), []
    for each in case.room.nodes:
        held = sorted(each.usable - each.free)
        freed = frozenset(held[: data.draw(st.integers(0, len(held)))])
        offer[each.id] = case.offer[each.id] | freed
        memory = {
            kind: data.draw(st.integers(size, max(size, each.memory_ever.get(kind, 0))))
            for kind, size in each.memory.items()
        }
        nodes.append(replace(each, free=each.free | freed, memory=memory))
    more = replace(case, room=replace(case.room, nodes=tuple(nodes)), offer=offer)
    assert isinstance(before, str) or not isinstance(got(more), str)


@MANY
@drawn(ANYTHING)
def test_the_same_question_has_the_same_answer_in_the_same_words(case: Given) -> None:
    def answer() -> str:
        try:
            return render(choose_nodes(case.wish, case.room, case.offer, case.ever))
        except NoRoomError as refused:
            return f"{refused.code}: {refused}"

    first = answer()
    assert first == answer()
    assert len(first) < 800


def test_a_pod_of_one_node_leaves_room_for_the_most_pods_that_may_come() -> None:
    wish = Wish(policy=SINGLE, cpus=4)
    nodes = [node(0, 24), node(1, 28)]
    assert got(given(wish, nodes, shapes=(24,))) == ids(1)
    # Both keep as many places for pods of 4: then the node that it fills more.
    assert got(given(wish, nodes, shapes=(4,))) == ids(0)
    assert got(given(wish, nodes)) == ids(0)


def test_a_pod_of_one_node_goes_where_least_is_left_then_to_the_lowest_id() -> None:
    wish = Wish(policy=SINGLE, cpus=4)
    assert got(given(wish, [node(0, 9), node(1, 5), node(3, 5)], shapes=(100,))) == ids(1)


def test_several_nodes_are_the_nearest_to_each_other() -> None:
    far = {0: 10, 1: 32, 2: 32, 3: 32}
    near = {2: {0: 32, 1: 32, 2: 10, 3: 12}, 3: {0: 32, 1: 32, 2: 12, 3: 10}}
    nodes = [node(i, 16, distances=near.get(i, {**far, 0: 32, i: 10})) for i in range(4)]
    for policy in (RESTRICTED, BEST_EFFORT):
        assert got(given(Wish(policy=policy, cpus=20), nodes)) == ids(2, 3)


def test_a_distance_that_is_not_told_is_that_of_a_remote_node() -> None:
    nodes = [node(0, 8), node(1, 8, distances={0: 21, 2: 21}), node(2, 8, distances={1: 19})]
    # From node 0 all are 20 away; from node 2 node 1 is nearer, whatever node 1 says.
    assert got(given(Wish(policy=BEST_EFFORT, cpus=16), nodes)) == ids(1, 2)


def test_several_nodes_are_those_on_which_the_fewest_pods_have_room() -> None:
    nodes = [node(0, 16), node(1, 11), node(2, 9), node(3, 16)]
    assert got(given(Wish(policy=BEST_EFFORT, cpus=20), nodes, shapes=(10,))) == ids(1, 2)
    assert got(given(Wish(policy=BEST_EFFORT, cpus=24), nodes, shapes=(10,))) == ids(0, 2)


def test_of_several_nodes_what_other_pods_could_use_counts_before_what_is_free() -> None:
    nodes = [node(0, 10), node(1, 5), node(2, 9), node(3, 9)]
    assert got(given(Wish(policy=BEST_EFFORT, cpus=15), nodes, shapes=(10,))) == ids(2, 3)
    assert got(given(Wish(policy=BEST_EFFORT, cpus=15), nodes, shapes=(4,))) == ids(0, 1)


def test_what_a_node_has_now_it_could_have_whatever_else_is_told() -> None:
    size = {"memory": 8 * GIB}
    nodes = [node(0, 4, memory=size, memory_ever={"memory": GIB}), node(1, 4, memory={})]
    for policy in Policy:
        assert got(given(Wish(policy=policy, cpus=4, memory=size), nodes)) == ids(0)


def test_restricted_takes_as_many_nodes_as_it_would_of_an_idle_machine() -> None:
    wish = Wish(policy=RESTRICTED, cpus=30)
    halves = [node(0, 16, 32), node(1, 16, 32)]
    assert got(given(wish, halves)) == "no-room"
    assert got(given(replace(wish, policy=BEST_EFFORT), halves)) == ids(0, 1)
    assert got(given(replace(wish, cpus=33), [node(0, 17, 32), node(1, 16, 32)])) == ids(0, 1)


def test_pods_of_the_other_kind_do_not_lower_what_restricted_could_ever_have() -> None:
    nodes = [node(0, 32, use=Use.SINGLE), node(1, 16, 16), node(2, 16, 16)]
    # One node could hold it, and that is in use: two others don't stand in for it.
    assert got(given(Wish(policy=RESTRICTED, cpus=30), nodes)) == "nodes-in-use"
    assert got(given(Wish(policy=BEST_EFFORT, cpus=30), nodes)) == ids(1, 2)


def test_restricted_counts_the_nodes_of_its_devices() -> None:
    wish = Wish(policy=RESTRICTED, cpus=4, places=(ids(0), ids(1)))
    assert got(given(wish, [node(0, 16), node(1, 16), node(2, 16)])) == ids(0, 1)


def test_a_node_may_be_taken_for_its_device_alone() -> None:
    wish = Wish(policy=BEST_EFFORT, cpus=8, places=(ids(1),))
    assert got(given(wish, [node(0, 8), node(1, 0, 8)])) == ids(0, 1)


def test_devices_that_may_be_on_several_nodes_share_one() -> None:
    wish = Wish(policy=SINGLE, cpus=4, places=(ids(0, 1), ids(1, 2), ids(1, 7)))
    assert got(given(wish, [node(0, 4), node(1, 30), node(2, 4)])) == ids(1)


def test_cpus_that_a_pod_shares_are_room_on_its_nodes_too() -> None:
    nodes = [node(0, 8), node(1, 9)]
    assert got(given(Wish(policy=SINGLE, cpus=8, shared_millis=1), nodes)) == ids(1)
    assert got(given(Wish(policy=SINGLE, shared_millis=9001), nodes)) == "never-fits"


def test_memory_counts_where_a_node_tells_of_it() -> None:
    wish = Wish(policy=SINGLE, cpus=2, memory={"memory": 5 * GIB, "hugepages-2Mi": GIB})
    told = [node(0, 2, memory={"memory": 4 * GIB}), node(1, 9, memory={"memory": 5 * GIB})]
    assert got(given(wish, told)) == ids(1)
    # A node that doesn't tell of a kind that others tell of isn't trusted with it.
    assert got(given(wish, [node(0, 2), told[1]])) == ids(1)
    assert got(given(wish, [node(0, 2), node(1, 9)])) == ids(0)


def test_apart_from_others_like_it_by_nodes() -> None:
    nodes = [node(0, 8, apart=True), node(1, 30)]
    wish = Wish(policy=SINGLE, cpus=4, apart=Apart.NODES)
    assert got(given(wish, nodes)) == ids(1)
    assert got(given(replace(wish, apart=Apart.CORES), nodes)) == ids(0)
    assert got(given(wish, nodes[:1])) == "nodes-in-use"


@pytest.mark.parametrize(
    ("wish", "code", "words"),
    [
        (
            Wish(policy=SINGLE, cpus=24, memory={"memory": 64 * GIB}),
            "nodes-in-use",
            "no NUMA node that other pods leave to it has room for 24 CPUs and 64 GiB of memory"
            " now: node 0: 8 CPUs short (16 free); node 1: 54 GiB of memory short (10 GiB free);"
            " node 2: in use by pods that may span nodes; at most 16 CPUs would fit, on node 0;"
            " with singleNUMANodeExclusive Preferred it may be on nodes with those pods",
        ),
        (
            Wish(policy=SINGLE, cpus=40),
            "never-fits",
            "no NUMA node could ever have room for 40 CPUs: nodes 0-2: 8 CPUs short (32 at most);"
            " at most 32 CPUs could ever fit, on node 0",
        ),
        (
            Wish(policy=SINGLE, cpus=20, places=(ids(0), ids(0, 2))),
            "no-room",
            "no NUMA node has room for 20 CPUs beside its devices now: node 0: 4 CPUs short"
            " (16 free); node 1: not beside its devices; node 2: in use by pods that may span"
            " nodes; at most 16 CPUs would fit, on node 0",
        ),
        (
            Wish(policy=RESTRICTED, cpus=64, places=(ids(0),)),
            "no-room",
            "no 2 NUMA nodes have room for 64 CPUs beside its devices now, and Restricted takes"
            " no more: node 0: 16 CPUs free; nodes 1-2: 32 CPUs free;"
            " at most 48 CPUs would fit, on nodes 0-1",
        ),
        (
            Wish(policy=BEST_EFFORT, cpus=81),
            "no-room",
            "not even all NUMA nodes have room for 81 CPUs now: node 0: 16 CPUs free;"
            " nodes 1-2: 32 CPUs free; at most 80 CPUs would fit, on nodes 0-2",
        ),
        (
            Wish(policy=SINGLE, cpus=1, places=(ids(2), ids(1), ids(1))),
            "devices-apart",
            "no NUMA node is beside all devices that the pod was given: one on node 2; one on"
            " node 1; SingleNUMANode takes one node, Restricted would take theirs",
        ),
        (
            Wish(policy=BEST_EFFORT, cpus=1, places=(ids(1), ids(8, 9))),
            "devices-unplaced",
            "a device of the pod is on nodes 8-9, where no CPUs can be given out",
        ),
        (
            Wish(policy=BEST_EFFORT, cpus=1, places=(ids(),)),
            "devices-unplaced",
            "a device of the pod is on a NUMA node that isn't known",
        ),
    ],
)
def test_a_refusal_says_which_node_lacks_what_and_what_would_fit(
    wish: Wish, code: str, words: str
) -> None:
    full = {"memory": 100 * GIB}
    nodes = [
        node(0, 16, 32, memory=full),
        node(1, 32, memory={"memory": 10 * GIB}, memory_ever=full),
        node(2, 32, memory=full, use=Use.SHARED),
    ]
    case = given(wish if wish.memory else replace(wish, memory={"memory": 1}), nodes)
    if not wish.memory:
        case = given(wish, [replace(each, memory={}, memory_ever={}) for each in nodes])
    assert (got(case), said(case)) == (code, words)


def test_a_machine_without_nodes_fits_nothing() -> None:
    assert got(given(Wish(policy=SINGLE, cpus=1), [])) == "never-fits"


@pytest.mark.parametrize("policy", list(Policy))
def test_a_refusal_stays_short_whatever_64_nodes_lack(policy: Policy) -> None:
    kinds = ["memory", "hugepages-2Mi", "hugepages-1Gi"]
    nodes = [
        node(
            i * 3,
            i,
            64,
            use=list(Use)[i % 3],
            apart=i % 5 == 0,
            memory=dict.fromkeys(kinds, i * 7),
            memory_ever=dict.fromkeys(kinds, 9 * GIB),
        )
        for i in range(64)
    ]
    memory = dict.fromkeys(kinds, 5 * GIB)
    for cpus in (1, 2100, 10**6):
        wish = Wish(policy=policy, cpus=cpus, memory=memory, apart=Apart.NODES)
        assert len(said(given(wish, nodes))) < 800


@pytest.mark.parametrize("near", ["flat", "ring", "any"])
@pytest.mark.parametrize("devices", [0, 4, 40])
def test_64_nodes_of_which_no_two_are_alike_take_no_time(near: str, devices: int) -> None:
    for seed in range(6):
        case = large(seed, 64, near=near, devices=devices)
        case = replace(case, wish=replace(case.wish, policy=BEST_EFFORT, exclusive=False))
        began = time.process_time()
        chosen = got(case)
        # 40 ms where this was written; all sets of 64 nodes would take thousands of years.
        assert time.process_time() - began < 1
        assert isinstance(chosen, frozenset)
        nodes = tuple(each for each in case.room.nodes if each.id in chosen)
        assert holds_now(case.wish, case.room, nodes, case.offer)


def test_nodes_without_cpus_are_not_among_the_choices() -> None:
    """Grace Hopper has 34 nodes, of which 32 are for the memory of GPU instances."""
    distances = dict.fromkeys(range(34), 80)
    nodes = [node(number, 72, distances=distances | {number: 10}) for number in (0, 1)]
    assert got(given(Wish(policy=SINGLE, cpus=8, places=(ids(1, 9),)), nodes)) == ids(1)
    assert got(given(Wish(policy=SINGLE, cpus=8, places=(ids(9),)), nodes)) == "devices-unplaced"


def test_64_nodes_that_are_alike_are_decided_exactly() -> None:
    nodes = []
    for i in range(64):
        distances = {j: 12 if i // 8 == j // 8 else 32 for j in range(64)} | {i: 10}
        nodes.append(node(i, 30, 32, distances=distances))
    wish = Wish(policy=RESTRICTED, cpus=8 * 30, places=(ids(21), ids(17, 40)))
    assert got(given(wish, nodes)) == ids(*range(16, 24))
