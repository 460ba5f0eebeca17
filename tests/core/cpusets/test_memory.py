"""When a pod's memory nodes are set, and when it is left where its pages are."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpusets import Desired, Mems, Options, steps
from numa_agent.core.pods import Pod
from numa_agent.core.telling.notices import Kind
from numa_agent.core.telling.reasons import EVENT_REASONS
from numa_agent.core.topology import HugePages
from tests.core.cpusets.scene import (
    GIB,
    SANDBOX,
    asking,
    codes,
    on_nodes,
    own,
    path,
    target,
    v1,
    v2,
    wanted,
)
from tests.machine_tree import TWO_NODES, container, cpus, machine, numa_node, pod, uid

START = Options(mems=Mems.WITH_CPUS)
MIGRATE = Options(mems=Mems.MIGRATE)
ROOM = {0: 8 * GIB, 1: 8 * GIB}

UNBORN = asking(pod(1, containers=()), 2 * GIB)
BORN = asking(pod(1), 2 * GIB)
EMPTY = v2(1, containers={})


def decided(
    said: Assignment,
    seen: PodGroups = EMPTY,
    *,
    bound: Pod = UNBORN,
    options: Options = START,
    free: dict[int, int | None] | None = None,
    **facts: Any,
) -> Desired:
    room = ROOM if free is None else free
    return wanted(
        bound, said={1: said}, seen={1: seen}, options=options, free_memory=room, **facts
    )


def mems(answer: Desired, seen: PodGroups = EMPTY) -> dict[str, str]:
    """The writes of memory nodes, by path."""
    bound = target(answer, 1)
    assert bound is not None
    return {
        step.path: ",".join(map(str, sorted(step.after)))
        for step in steps(bound, seen)
        if step.file == "mems"
    }


def why(answer: Desired) -> str:
    (condition,) = answer.conditions
    assert condition.code == "mems-not-set"
    assert condition.subject == "shop/p1"
    return condition.message.partition(": ")[2]


def test_memory_nodes_are_set_before_any_container_runs() -> None:
    # Case 53.
    assert mems(decided(own("4-7", mems="1"))) == {path(1): "1"}


def test_a_sandbox_alone_has_no_pages_to_move() -> None:
    seen = v2(1, containers={SANDBOX: ""})
    assert mems(decided(own("4-7", mems="1"), seen), seen) == {path(1): "1"}


def test_memory_goes_with_the_cpus_where_nothing_is_decided_of_it() -> None:
    assert mems(decided(own("4-7"))) == {path(1): "1"}


def test_memory_on_all_nodes_that_there_are_keeps_nothing_out_and_is_not_written() -> None:
    answer = decided(own("2-5"), free={})
    assert mems(answer) == {}
    assert answer.conditions == ()


def test_a_pod_that_shares_has_memory_nodes_only_where_they_are_decided() -> None:
    assert mems(decided(on_nodes("1"))) == {}
    assert mems(decided(on_nodes("1", mems="1"))) == {path(1): "1"}


def test_memory_nodes_are_off_by_choice() -> None:
    answer = decided(own("4-7", mems="1"), options=Options(mems=Mems.OFF))
    assert mems(answer) == {}
    assert answer.conditions == ()


def test_the_pages_of_a_pod_that_runs_are_not_moved() -> None:
    # Case 54, and failure mode 7: its CPUs follow a changed assignment all the same.
    seen = v2(1, "0-3", mems="0")
    answer = decided(own("4-7", mems="1"), seen, bound=BORN)
    assert mems(answer, seen) == {}
    assert why(answer) == (
        "memory nodes 1 aren't set: it runs already, and its pages would move"
        " (mems: migrate allows that)"
    )
    assert answer.assigned == {uid(1): cpus("4-7")}


def test_the_pages_of_a_pod_that_runs_are_moved_by_option() -> None:
    seen = v2(1, "0-3", mems="0")
    answer = decided(own("4-7", mems="1"), seen, bound=BORN, options=MIGRATE)
    assert mems(answer, seen) == {path(1): "1"}


def test_two_containers_that_the_status_doesn_t_name_yet_are_more_than_a_sandbox() -> None:
    seen = v2(1, containers={SANDBOX: "", 1: ""})
    assert "it runs already" in why(decided(own("4-7", mems="1"), seen))


def test_memory_nodes_that_are_set_stay_whatever_is_free() -> None:
    seen = v2(1, "4-7", mems="1")
    answer = decided(own("4-7", mems="1"), seen, bound=BORN, free={1: 0})
    assert mems(answer, seen) == {}
    assert answer.conditions == ()


@pytest.mark.parametrize(
    ("bound", "free", "expected"),
    [
        (UNBORN, {1: GIB}, f"it may use {2 * GIB} bytes, and {GIB} are free there for it"),
        (UNBORN, {1: None}, "the free memory of nodes 1 isn't known"),
        (UNBORN, {}, "the free memory of nodes 1 isn't known"),
        (pod(1, containers=()), ROOM, "it has neither a limit nor a request for memory"),
        (
            asking(pod(1, containers=()), GIB, limit=9 * GIB),
            ROOM,
            f"it may use {9 * GIB} bytes, and {8 * GIB} are free there for it",
        ),
    ],
    ids=["full", "unreadable", "unknown", "no request", "limit"],
)
def test_without_room_on_the_nodes_the_pod_is_not_held_to_them(
    bound: Pod, free: dict[int, int | None], expected: str
) -> None:
    # It would be killed while the machine has memory left.
    answer = decided(own("4-7", mems="1"), bound=bound, free=free)
    assert mems(answer) == {}
    assert why(answer) == f"memory nodes 1 aren't set: {expected}"
    assert answer.assigned == {uid(1): cpus("4-7")}


@pytest.mark.parametrize(
    ("mems", "code"), [("", "mems-untold"), ("1", "mems-not-set")], ids=["cpus", "memory nodes"]
)
def test_one_that_tells_no_memory_is_no_fault_unless_memory_nodes_were_named(
    mems: str, code: str
) -> None:
    answer = decided(own("4-7", mems=mems), bound=pod(1, containers=()))
    assert codes(answer) == [code]
    # What we name ourselves nobody asked for.
    ours = own("4-7", mems="1")
    answer = decided(ours, bound=pod(1, containers=()), own={uid(1): ours})
    assert codes(answer) == ["mems-untold"]
    assert "it has neither a limit nor a request for memory" in answer.conditions[0].message
    assert EVENT_REASONS["mems-untold"].kind is Kind.NORMAL


def test_pods_of_one_pass_don_t_get_the_same_room_twice() -> None:
    pods = [asking(pod(number, containers=()), 3 * GIB) for number in (1, 2, 3)]
    answer = wanted(
        *pods,
        said={1: own("4", mems="1"), 2: own("5", mems="1"), 3: own("0", mems="0-1")},
        seen={number: v2(number, containers={}, above_mems="0-2") for number in (1, 2, 3)},
        options=START,
        free_memory={0: 2 * GIB, 1: 5 * GIB},
        topology=machine(*TWO_NODES.nodes, numa_node(2, "")),
    )
    assert [each.mems for each in answer.targets] == [cpus("1"), None, cpus("0-1")]
    assert codes(answer) == ["mems-not-set"]


@pytest.mark.parametrize(
    ("used", "limit", "is_set"),
    [
        (0, 4, True),  # 5 of the 8 GiB are promised, 3 are left
        (GIB, 4, True),
        (4 * GIB, 7, True),
        (None, 4, True),
        (None, 6, False),
        (GIB, 7, False),
        (9 * GIB, 8, True),
    ],
)
def test_what_pods_in_place_may_still_use_is_no_room_for_others(
    used: int | None, limit: int, is_set: bool
) -> None:
    there = asking(pod(1), 5 * GIB)
    held = replace(v2(1, "4-5", mems="1"), memory_used=used)
    answer = wanted(
        asking(pod(2, containers=()), (limit - 1) * GIB),
        there,
        said={1: own("4-5", mems="1"), 2: own("6-7", mems="1")},
        seen={1: held, 2: v2(2, containers={})},
        options=START,
        free_memory=ROOM,
    )
    bound = target(answer, 2)
    assert bound is not None
    assert bound.mems == (cpus("1") if is_set else None)


def test_a_pod_in_place_isn_t_kept_out_by_what_itself_was_promised() -> None:
    seen = v1(1, {1: "4-7", 2: "0-7"}, mems={1: "1"})
    both = asking(pod(1, containers=(container(1), container(2))), 6 * GIB)
    answer = decided(own("4-7", mems="1"), seen, bound=both)
    assert mems(answer, seen) == {path(1, 2): "1"}


def paged(free: int | None) -> Any:
    near, far = TWO_NODES.nodes
    pool = HugePages(size_kib=2048, total=1024, free=free)
    return replace(TWO_NODES, nodes=(near, replace(far, hugepages=(pool,))))


@pytest.mark.parametrize(
    ("free", "is_set"), [(1024, True), (512, True), (511, False), (None, False)]
)
def test_a_pod_is_not_held_to_nodes_without_its_hugepages(free: int | None, is_set: bool) -> None:
    bound = replace(
        UNBORN,
        demands=asking(pod(1), GIB, hugepages_2Mi=GIB).demands,
    )
    answer = decided(own("4-7", mems="1"), bound=bound, topology=paged(free))
    assert mems(answer) == ({path(1): "1"} if is_set else {})


def test_on_v1_memory_nodes_are_set_where_nobody_has_set_others() -> None:
    # Without cpuset.memory_migrate no page moves there.
    seen = v1(1, {1: "0-7", SANDBOX: "0-7"})
    answer = decided(own("4-7", mems="1"), seen, bound=BORN)
    assert mems(answer, seen) == {path(1, 1): "1", path(1, SANDBOX): "1"}
    theirs = v1(1, {1: "0-7"}, mems={1: "0"})
    answer = decided(own("4-7", mems="1"), theirs, bound=BORN)
    assert mems(answer, theirs) == {}
    assert "somebody else has set others" in why(answer)


def test_a_container_that_restarts_on_v1_gets_the_memory_nodes_of_the_others() -> None:
    seen = v1(1, {1: "4-7", 2: "0-7"}, mems={1: "1"})
    two = asking(pod(1, containers=(container(1), container(2))), GIB)
    assert mems(decided(own("4-7", mems="1"), seen, bound=two), seen) == {path(1, 2): "1"}


SPLIT = Assignment(
    source="the scheduler",
    containers={
        "c1": Placement(cpus=cpus("0"), mems=cpus("0")),
        "c2": Placement(cpus=cpus("4"), mems=cpus("1")),
    },
)


def test_containers_with_memory_nodes_of_their_own_get_those_where_pages_may_move() -> None:
    two = asking(pod(1, containers=(container(1), container(2))), GIB)
    three = machine(*TWO_NODES.nodes, numa_node(2, ""))
    seen = v2(1, containers={1: "", 2: ""}, above_mems="0-2")
    answer = decided(SPLIT, seen, bound=two, options=MIGRATE, topology=three)
    assert mems(answer, seen) == {path(1): "0,1", path(1, 1): "0", path(1, 2): "1"}
    unborn = v2(1, containers={}, above_mems="0-2")
    bound = replace(two, containers=())
    answer = decided(SPLIT, unborn, bound=bound, topology=three)
    assert mems(answer, unborn) == {path(1): "0,1"}
    leaves = v1(1, {1: "0-7", 2: "0-7"})
    answer = decided(SPLIT, leaves, bound=two)
    assert mems(answer, leaves) == {path(1, 1): "0", path(1, 2): "1"}


def test_a_pod_of_which_only_some_containers_have_memory_nodes_is_not_held_to_those() -> None:
    some = Assignment(
        source="the scheduler", containers={"c1": Placement(cpus=cpus("0"), mems=cpus("0"))}
    )
    two = asking(pod(1, containers=(container(1), container(2))), GIB)
    seen = v2(1, containers={})
    answer = decided(some, seen, bound=two)
    assert mems(answer, seen) == {}
    assert "only some of its containers have any" in why(answer)


def test_memory_away_from_the_cpus_is_set_and_said() -> None:
    # Failure mode 13.
    answer = decided(own("4-7", mems="0"))
    assert mems(answer) == {path(1): "0"}
    assert codes(answer) == ["mems-away-from-cpus"]


def test_nodes_without_memory_are_dropped_from_those_decided() -> None:
    three = machine(*TWO_NODES.nodes, numa_node(2, "8-9", memory_bytes=0), numa_node(3, ""))
    answer = decided(own("4-7", mems="1-2"), topology=three)
    assert mems(answer) == {path(1): "1"}
    assert codes(answer) == ["mems-dropped"]


@pytest.mark.parametrize("size", [0, None])
def test_cpus_of_a_node_without_known_memory_bring_no_memory_node(size: int | None) -> None:
    bare = machine(numa_node(0, "0-3"), numa_node(1, "4-7", memory_bytes=size))
    answer = decided(own("4-7"), topology=bare)
    assert mems(answer) == {}
    assert codes(answer) == ["mems-dropped"]
    assert answer.refusals == ()


def test_memory_nodes_are_not_set_where_nothing_else_than_room_is_known_of_the_pod() -> None:
    answer = wanted(UNBORN, said={1: own("4-7", mems="1")}, options=START, free_memory=ROOM)
    bound = target(answer, 1)
    assert bound is not None
    assert bound.mems is None
