"""Which NUMA nodes pods of one node and pods of several leave to each other: ACK's table.

https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/enable-numa-topology-aware-scheduling
"""

from dataclasses import replace

import pytest

from numa_agent.core.assigner.nodes import choose_nodes
from numa_agent.core.assigner.values import NodeRoom, NoRoomError, Policy, Use, Wish
from tests.assigner.machines import given, node

SINGLE, RESTRICTED, BEST_EFFORT = Policy.SINGLE, Policy.RESTRICTED, Policy.BEST_EFFORT

STATES = {
    "idle": node(0, 16),
    "single": node(0, 12, 16, use=Use.SINGLE),
    "shared": node(0, 12, 16, use=Use.SHARED),
    # Where one was Preferred there can be pods of both kinds: one that spans is enough.
    "mixed": node(0, 8, 16, use=Use.SHARED),
    "full": node(0, 0, 16, use=Use.SINGLE),
    "full-shared": node(0, 0, 16, use=Use.SHARED),
}
COLUMNS = ("idle", "single", "shared", "mixed", "full", "full-shared")

TABLE = [
    # policy, singleNUMANodeExclusive, then for a pod of 4 CPUs on a node in each state
    (SINGLE, "Required", "ok", "ok", "nodes-in-use", "nodes-in-use", "no-room", "no-room"),
    (SINGLE, "Preferred", "ok", "ok", "ok", "ok", "no-room", "no-room"),
    (RESTRICTED, "Required", "ok", "nodes-in-use", "ok", "ok", "no-room", "no-room"),
    (RESTRICTED, "Preferred", "ok", "ok", "ok", "ok", "no-room", "no-room"),
    (BEST_EFFORT, "Required", "ok", "nodes-in-use", "ok", "ok", "no-room", "no-room"),
    (BEST_EFFORT, "Preferred", "ok", "ok", "ok", "ok", "no-room", "no-room"),
]
CELLS = [
    (policy, word == "Required", state, answer)
    for policy, word, *answers in TABLE
    for state, answer in zip(COLUMNS, answers, strict=True)
]


def answer_of(wish: Wish, *nodes: NodeRoom) -> str | list[int]:
    case = given(wish, nodes)
    try:
        return sorted(choose_nodes(case.wish, case.room, case.offer, case.ever))
    except NoRoomError as refused:
        return refused.code


@pytest.mark.parametrize(("policy", "exclusive", "state", "answer"), CELLS)
def test_the_table_of_ack(policy: Policy, exclusive: bool, state: str, answer: str) -> None:
    wish = Wish(policy=policy, exclusive=exclusive, cpus=4)
    assert answer_of(wish, STATES[state]) == ([0] if answer == "ok" else answer)


@pytest.mark.parametrize(("policy", "exclusive", "state", "answer"), CELLS)
def test_beside_an_idle_node_every_pod_finds_room(
    policy: Policy, exclusive: bool, state: str, answer: str
) -> None:
    """An idle node with more room is the worse fit: only its being idle speaks for it."""
    wish = Wish(policy=policy, exclusive=exclusive, cpus=4)
    idle, other = node(1, 30), STATES[state]
    meets = other.use is (Use.SHARED if policy is SINGLE else Use.SINGLE)
    right = 1 if meets or answer != "ok" else 0
    assert answer_of(wish, other, idle) == [right]


def test_required_is_what_a_wish_has_that_says_nothing() -> None:
    assert answer_of(Wish(policy=SINGLE, cpus=4), STATES["shared"]) == "nodes-in-use"


@pytest.mark.parametrize("policy", [RESTRICTED, BEST_EFFORT])
def test_a_pod_that_may_span_but_fits_on_one_node_is_a_pod_that_may_span(policy: Policy) -> None:
    nodes = (node(0, 16, use=Use.SINGLE), node(1, 16, use=Use.SHARED))
    assert answer_of(Wish(policy=policy, cpus=4), *nodes) == [1]


@pytest.mark.parametrize("policy", [RESTRICTED, BEST_EFFORT])
def test_preferred_takes_as_few_nodes_of_the_other_kind_as_it_can(policy: Policy) -> None:
    wish = Wish(policy=policy, exclusive=False, cpus=20)
    single, idle = node(0, 12, use=Use.SINGLE), [node(1, 12), node(2, 12)]
    assert answer_of(wish, single, *idle) == [1, 2]
    assert answer_of(wish, single, idle[0], node(2, 12, use=Use.SINGLE)) == [0, 1]
    assert answer_of(replace(wish, exclusive=True), single, idle[0]) == "nodes-in-use"


def test_preferred_takes_nearer_and_fewer_nodes_before_nodes_without_the_other_kind() -> None:
    near = {0: 10, 1: 12, 2: 32}
    nodes = [
        node(0, 12, distances=near),
        node(1, 12, use=Use.SINGLE, distances={0: 12, 1: 10, 2: 32}),
        node(2, 12, distances={0: 32, 1: 32, 2: 10}),
    ]
    wish = Wish(policy=BEST_EFFORT, exclusive=False, cpus=20)
    assert answer_of(wish, *nodes) == [0, 1]
    assert answer_of(replace(wish, cpus=14), node(1, 14, use=Use.SINGLE), *nodes[::2]) == [1]


# Koordinator's proposals have these cases:
# https://github.com/koordinator-sh/koordinator/blob/main/docs/proposals/scheduling/20230415-numa-topology-scheduling.md
# https://github.com/koordinator-sh/koordinator/blob/main/docs/proposals/scheduling/20240131-pod-level-numa-policy.md

TWO = (node(0, 32), node(1, 32))
GPU_ON_1 = (frozenset({1}),)


def test_33_cpus_of_nodes_of_32_are_two_nodes_with_the_gpu_on_one_of_them() -> None:
    wish = Wish(policy=RESTRICTED, cpus=33, places=GPU_ON_1)
    assert answer_of(wish, *TWO) == [0, 1]
    assert answer_of(replace(wish, policy=SINGLE), *TWO) == "never-fits"
    # Of three nodes the GPU's is one, though the others are as good.
    assert answer_of(wish, *TWO, node(2, 32)) == [0, 1]
    assert answer_of(replace(wish, places=(frozenset({2}),)), *TWO, node(2, 32)) == [0, 2]


def test_16_cpus_of_two_nodes_of_8_are_for_restricted_and_not_for_one_node() -> None:
    nodes = (node(0, 8), node(1, 8))
    assert answer_of(Wish(policy=RESTRICTED, cpus=16), *nodes) == [0, 1]
    assert answer_of(Wish(policy=SINGLE, cpus=16), *nodes) == "never-fits"


def test_8_cpus_of_four_nodes_of_8_are_one_node_for_every_policy() -> None:
    nodes = [node(number, 8) for number in range(4)]
    for policy in Policy:
        assert answer_of(Wish(policy=policy, cpus=8), *nodes) == [0]


def test_one_cpu_and_one_gpu_are_on_the_gpu_s_node() -> None:
    for policy in Policy:
        assert answer_of(Wish(policy=policy, cpus=1, places=GPU_ON_1), *TWO) == [1]


def test_best_effort_takes_a_machine_whose_nodes_hold_it_only_together() -> None:
    nodes = (node(0, 5, 32), node(1, 5, 32), node(2, 5, 32))
    assert answer_of(Wish(policy=BEST_EFFORT, cpus=15), *nodes) == [0, 1, 2]
    assert answer_of(Wish(policy=RESTRICTED, cpus=15), *nodes) == "no-room"


def test_nodes_that_each_have_a_pod_of_one_node_keep_spanning_pods_out() -> None:
    """Koordinator gives this as the reason for Preferred."""
    nodes = [node(number, 28, 32, use=Use.SINGLE) for number in range(4)]
    wish = Wish(policy=RESTRICTED, cpus=40)
    assert answer_of(wish, *nodes) == "nodes-in-use"
    assert answer_of(replace(wish, exclusive=False), *nodes) == [0, 1]


def test_the_seed_s_pod_gets_the_node_of_its_four_gpus() -> None:
    gpus = (frozenset({1}),) * 4
    wish = Wish(policy=SINGLE, exclusive=False, cpus=24, places=gpus)
    assert answer_of(wish, node(0, 48), node(1, 48, use=Use.SHARED)) == [1]
    assert answer_of(wish, node(0, 48), node(1, 20, 48)) == "no-room"
    split = (*gpus[:3], frozenset({0}))
    assert answer_of(replace(wish, places=split), *TWO) == "devices-apart"
