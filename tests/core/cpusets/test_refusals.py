"""What no pod is given on this machine, whoever else is there."""

from dataclasses import replace

import pytest

from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cpusets import Options, Refusal
from numa_agent.core.topology import Topology
from tests.core.cpusets.scene import (
    NO_MEMS,
    codes,
    given,
    on_nodes,
    own,
    path,
    refusal,
    target,
    v1,
    v2,
    wanted,
)
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node, pod, uid

ISOLATED: Topology = replace(TWO_NODES, isolated=cpus("4-5"))


def said(answer: Refusal) -> tuple[str, str]:
    return answer.code, answer.message


def test_a_cpu_that_isn_t_online_refuses_the_whole_assignment() -> None:
    answer = wanted(pod(1), said={1: own("6-9")})
    assert said(refusal(answer)) == (
        "cpus-not-online",
        "the scheduler gives CPUs 6-9, of which 8-9 aren't online (online: 0-7)",
    )
    assert answer.assigned == {}
    assert given(answer) == {"p1": "0,1,2,3,4,5,6,7"}


def test_cpus_that_are_in_no_node_are_not_given_out() -> None:
    partial = machine(numa_node(0, "0-3"), numa_node(1, None), online="0-7")
    answer = wanted(pod(1), said={1: own("3-4")}, topology=partial)
    assert refusal(answer).code == "cpus-without-node"
    assert "of which 4 are in no known NUMA node" in refusal(answer).message


def test_isolated_cpus_are_given_only_to_a_pod_that_asks_for_them() -> None:
    answer = wanted(pod(1), said={1: own("3-4")}, topology=ISOLATED)
    assert said(refusal(answer)) == (
        "cpus-isolated",
        "the scheduler gives CPUs 3-4, of which 4 are isolated: only a pod with"
        " numa-agent.io/allow-isolated: 'true' gets them",
    )
    asking = pod(1, annotations={"numa-agent.io/allow-isolated": "true"})
    assert wanted(asking, said={1: own("4-5")}, topology=ISOLATED).assigned == {
        uid(1): cpus("4-5")
    }


def test_isolated_cpus_are_shared_by_nobody() -> None:
    assert given(wanted(pod(1), topology=ISOLATED)) == {"p1": "0,1,2,3,6,7"}


def test_isolated_cpus_beside_others_are_said_to_be_mixed() -> None:
    # The kernel balances over some of them only, so that tasks are stranded.
    asking = pod(1, annotations={"numa-agent.io/allow-isolated": "true"})
    assert codes(wanted(asking, said={1: own("4-6")}, topology=ISOLATED)) == ["isolated-mixed"]


def test_cpus_that_kubelet_reserves_are_given_out_only_by_option_and_shared_always() -> None:
    answer = wanted(pod(1), pod(2), said={1: own("0-1")}, reserved=cpus("0"))
    assert refusal(answer).code == "cpus-reserved"
    assert "of which 0 are reserved for the system" in refusal(answer).message
    assert given(answer)["p2"] == "0,1,2,3,4,5,6,7"
    allowed = Options(mems=NO_MEMS.mems, reserved=True)
    answer = wanted(pod(1), said={1: own("0-1")}, reserved=cpus("0"), options=allowed)
    assert answer.assigned == {uid(1): cpus("0-1")}


def test_while_it_isn_t_known_what_is_reserved_only_what_is_in_force_is_followed() -> None:
    answer = wanted(
        pod(1),
        pod(2),
        said={1: own("0-1"), 2: own("4-5")},
        seen={1: v2(1, "0-1"), 2: v2(2)},
        reserved=None,
    )
    assert refusal(answer).pod.name == "p2"
    assert refusal(answer).code == "reserved-unknown"
    assert (answer.assigned, codes(answer)) == ({uid(1): cpus("0-1")}, [])
    allowed = Options(mems=NO_MEMS.mems, reserved=True)
    answer = wanted(pod(2), said={2: own("4-5")}, reserved=None, options=allowed)
    assert answer.assigned == {uid(2): cpus("4-5")}


def test_cpus_that_an_ancestor_lacks_are_refused_with_its_name() -> None:
    # A node that is a container (kind), or systemd's AllowedCPUs.
    answer = wanted(pod(1), said={1: own("2-5")}, seen={1: v2(1, above="0-3")})
    assert said(refusal(answer)) == (
        "cpus-outside-parent",
        "the scheduler gives CPUs 2-5, of which 4-5 aren't in force above the pod"
        " (kubepods/burstable has 0-3)",
    )
    answer = wanted(pod(1), said={1: own("2-5")}, seen={1: v1(1, held="0-3")})
    assert refusal(answer).code == "cpus-outside-parent"


def test_what_pods_share_is_what_is_in_force_above_them() -> None:
    answer = wanted(pod(1), pod(2), said={1: own("0-1")}, seen={2: v2(2, above="0-3")})
    assert given(answer)["p2"] == "2,3"


def test_a_pod_that_is_bound_stays_when_an_ancestor_loses_its_cpus() -> None:
    answer = wanted(pod(1), said={1: own("2-5")}, seen={1: v2(1, "2-5", above="0-3")})
    assert codes(answer) == ["degraded"]
    assert answer.assigned == {uid(1): cpus("2-5")}


@pytest.mark.parametrize(
    "decided",
    [
        on_nodes("1,7"),
        own("0-1", mems="7"),
        Assignment(source="the scheduler", containers={"c1": Placement(nodes=cpus("7"))}),
    ],
    ids=["shared", "memory", "one container's"],
)
def test_a_numa_node_that_isn_t_there_refuses_the_whole_assignment(decided: Assignment) -> None:
    # Case 08, input E: never an empty set, nor half of what was decided.
    answer = wanted(pod(1), said={1: decided})
    assert said(refusal(answer)) == (
        "node-unknown",
        "the scheduler: NUMA nodes 7 aren't there (online: 0-1)",
    )
    assert given(answer) == {"p1": "0,1,2,3,4,5,6,7"}


CXL = machine(numa_node(0, "0-3"), numa_node(1, "4-7", memory_bytes=0), numa_node(2, ""))
"""Node 1 has no memory, node 2 nothing but memory."""


def test_nodes_without_cpus_have_none_to_share() -> None:
    answer = wanted(pod(1), said={1: on_nodes("2")}, topology=CXL)
    assert refusal(answer).code == "nodes-without-cpus"
    assert given(wanted(pod(1), said={1: on_nodes("1-2")}, topology=CXL)) == {"p1": "4,5,6,7"}


def test_memory_nodes_without_memory_refuse_the_whole_assignment() -> None:
    answer = wanted(pod(1), said={1: own("4-5", mems="1")}, topology=CXL)
    assert said(refusal(answer)) == (
        "mems-without-memory",
        "the scheduler: none of nodes 1 has memory",
    )
    assert wanted(pod(1), said={1: own("4-5", mems="0-1")}, topology=CXL).refusals == ()


def test_memory_nodes_that_an_ancestor_lacks_refuse_the_whole_assignment() -> None:
    seen = {1: v2(1, above_mems="0")}
    answer = wanted(pod(1), said={1: own("4-5", mems="1")}, seen=seen)
    assert refusal(answer).code == "mems-outside-parent"
    assert "none of nodes 1 is in force above the pod (0)" in refusal(answer).message


def test_a_refused_pod_is_kept_off_the_cpus_of_others() -> None:
    seen = {1: v2(1), 2: v2(2)}
    answer = wanted(pod(1), pod(2), said={1: own("0-3"), 2: own("2-9")}, seen=seen)
    bound = target(answer, 2)
    assert bound is not None
    assert (bound.cpus, bound.exclusive) == (cpus("4-7"), False)
    assert path(2) not in path(1)
