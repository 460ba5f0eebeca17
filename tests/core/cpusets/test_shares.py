"""What pods without CPUs of their own may use."""

import pytest

from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cpusets import Options, steps
from tests.core.cpusets.scene import NO_MEMS, codes, given, on_nodes, own, target, v1, v2, wanted
from tests.machine_tree import cpus, machine, numa_node, pod, uid


def test_pods_share_what_is_nobody_s_own() -> None:
    answer = wanted(pod(1), pod(2), pod(3), said={1: own("0-1"), 2: own("4-5")})
    assert given(answer)["p3"] == "2,3,6,7"


@pytest.mark.parametrize(
    ("nodes", "expected"), [("1", "4,5,6,7"), ("0", "2,3"), ("0-1", "2,3,4,5,6,7")]
)
def test_a_pod_that_is_bound_to_nodes_shares_what_is_left_of_them_together(
    nodes: str, expected: str
) -> None:
    # Case 08, inputs B and D; koordlet puts the pools of several nodes together.
    answer = wanted(pod(1), pod(2), said={1: own("0-1"), 2: on_nodes(nodes)})
    assert given(answer)["p2"] == expected


def test_pods_that_are_bound_to_nodes_are_bound_where_others_aren_t() -> None:
    options = Options(mems=NO_MEMS.mems, share=False)
    answer = wanted(pod(1), pod(2), said={1: on_nodes("1")}, options=options)
    assert given(answer) == {"p1": "4,5,6,7"}


def test_an_assignment_that_decides_nothing_of_cpus_leaves_the_pod_to_share() -> None:
    # Case 08, input A; case 02: an empty set binds nothing and is no fault.
    for nothing in (Assignment(source="the scheduler"), own("", mems="0")):
        answer = wanted(pod(1), said={1: nothing})
        assert given(answer) == {"p1": "0,1,2,3,4,5,6,7"}
        assert (answer.refusals, answer.assigned) == ((), {})


@pytest.mark.parametrize("share", [True, False])
def test_a_node_with_nothing_left_to_share_gives_the_pod_what_the_others_share(
    share: bool,
) -> None:
    # What it has there is another's own by now: it mustn't stay on that.
    options = Options(mems=NO_MEMS.mems, share=share)
    said = {1: own("0-3"), 2: on_nodes("0")}
    answer = wanted(pod(1), pod(2), said=said, seen={2: v2(2, "0-3")}, options=options)
    assert given(answer)["p2"] == "4,5,6,7"
    assert codes(answer) == ["shared-cpus-empty"]
    assert answer.conditions[0].message == (
        "pod shop/p2: no CPU is left to share in NUMA nodes 0; it shares those of the others"
    )


@pytest.mark.parametrize("nodes", ["", "0"])
def test_a_machine_with_nothing_left_to_share_leaves_pods_what_they_have(nodes: str) -> None:
    # Case 02: never an empty set, whatever is left.
    said = {1: own("0-7"), 2: on_nodes(nodes)}
    answer = wanted(pod(1), pod(2), said=said, seen={2: v2(2)})
    assert given(answer) == {"p1": "0,1,2,3,4,5,6,7"}
    assert target(answer, 2) is None
    assert codes(answer) == ["shared-cpus-empty"]
    assert answer.conditions[0].message.endswith("; it keeps what it has")


def test_what_the_other_nodes_share_is_given_only_as_far_as_the_pod_s_parent_has_it() -> None:
    said = {1: own("0-3"), 2: on_nodes("0")}
    within = wanted(pod(1), pod(2), said=said, seen={2: v2(2, "0-3", above="0-5")})
    assert given(within)["p2"] == "4,5"
    outside = wanted(pod(1), pod(2), said=said, seen={2: v2(2, "0-3", above="0-3")})
    assert target(outside, 2) is None


def test_one_cpu_that_is_left_is_shared_by_all() -> None:
    assert given(wanted(pod(1), pod(2), said={1: own("0-6")}))["p2"] == "7"


def test_one_container_s_nodes_are_its_own_matter() -> None:
    said = Assignment(source="the scheduler", containers={"c1": Placement(nodes=cpus("1"))})
    groups = v2(1, containers={1: ""})
    answer = wanted(pod(1), said={1: said}, seen={1: groups})
    assert given(answer) == {"p1": "4,5,6,7"}


@pytest.mark.parametrize(("borrow", "expected"), [(True, "0,1,4,5,6,7"), (False, "4,5,6,7")])
def test_borrowers_may_use_the_cpus_of_lenders_where_koordinator_schedules(
    borrow: bool, expected: str
) -> None:
    # Koordinator's best-effort pods run on the CPUs of class LSR, and never on those of LSE.
    # With another scheduler anybody may give a pod that label.
    answer = wanted(
        pod(1),
        pod(2),
        pod(3),
        pod(4),
        said={1: own("0-1"), 2: own("2-3")},
        options=Options(mems=NO_MEMS.mems, borrow=borrow),
        lenders=frozenset({uid(1)}),
        borrowers=frozenset({uid(3)}),
    )
    assert given(answer)["p3"] == expected
    assert given(answer)["p4"] == "4,5,6,7"


def test_a_pod_is_rewritten_only_when_what_is_shared_changes() -> None:
    for seen in (v2(2, "4-7"), v1(2, {2: "4-7"})):
        answer = wanted(pod(1), pod(2), said={1: own("0-3")}, seen={2: seen})
        bound = target(answer, 2)
        assert bound is not None
        assert steps(bound, seen) == ()
        gone = target(wanted(pod(2), seen={2: seen}), 2)
        assert gone is not None
        assert [step.after for step in steps(gone, seen)] == [cpus("0-7")]


def test_nothing_is_written_where_no_pod_has_cpus_of_its_own() -> None:
    for seen in (v2(1), v1(1)):
        bound = target(wanted(pod(1), seen={1: seen}), 1)
        assert bound is not None
        assert steps(bound, seen) == ()


def test_cpus_of_no_known_node_are_shared_but_by_no_node() -> None:
    partial = machine(numa_node(0, "0-3"), numa_node(1, None), online="0-7")
    answer = wanted(pod(1), pod(2), said={2: on_nodes("0")}, topology=partial)
    assert given(answer) == {"p1": "0,1,2,3,4,5,6,7", "p2": "0,1,2,3"}
