"""A simulation ends where the agent's passes would, pod after pod."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Options
from numa_agent.core.pod_keys import BIND
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Role
from numa_agent.core.shape import Shape
from numa_agent.core.simulating import Fate, simulate
from numa_agent.core.simulating.comparing import ASSIGNER
from tests.assigner.scene import GIB, cpus
from tests.machine_tree import uid
from tests.simulating.machines import NAME, NODE, accounts_of, asks, start


def waits(number: int, count: int | None = 4, gib: int = 0, **more: Any) -> Pod:
    """A pod that comes, with so much memory."""
    amounts = {"cpu": (count or 0) * 1000} | ({"memory": gib * GIB} if gib else {})
    own = Demand(container=f"c{number}", role=Role.APP, requests=amounts, limits=amounts)
    more = {"demands": [own], **more} if gib else more
    return replace(asks(number, count, **more), phase="Pending", started="")


def said(**placements: str) -> dict[str, Assignment]:
    """What a scheduler's annotation gives pods: `p3="2,10"`."""
    return {
        uid(int(name[1:])): Assignment(source="test", pod=Placement(cpus=cpus(text)))
        for name, text in placements.items()
    }


def test_the_memory_of_a_pod_that_a_scheduler_placed_is_held() -> None:
    now = start(accounts=accounts_of(2, 8))
    now = replace(now, said=said(p1="2,10"))
    pods = [waits(1, 2, gib=6, policy=None), waits(2, 1, gib=5), waits(3, 1, gib=5)]
    found = simulate(now, pods).pods
    assert [each.fate for each in found] == [Fate.PLACED, Fate.PLACED, Fate.UNPLACED]
    assert (set(found[0].nodes), set(found[1].nodes)) == ({0}, {1})
    assert "memory short" in found[2].why


def test_memory_on_several_nodes_fills_the_first_one_first() -> None:
    pods = [waits(1, 10, gib=10, policy="BestEffort"), waits(2, 1, gib=5)]
    found = simulate(start(accounts=accounts_of(2, 8)), pods).pods
    assert [each.fate for each in found] == [Fate.PLACED, Fate.PLACED]
    assert [set(each.nodes) for each in found] == [{0, 1}, {1}]


def test_a_scheduler_s_word_is_followed_as_the_settings_have_it() -> None:
    now = replace(start(), said=said(p1="0,8"))
    (refused,) = simulate(now, [waits(1, 2, policy=None)]).pods
    assert (refused.fate, refused.code) == (Fate.UNPLACED, "cpus-reserved")
    (follows,) = simulate(
        replace(now, options=Options(reserved=True)), [waits(1, 2, policy=None)]
    ).pods
    assert (follows.fate, render(follows.cpus)) == (Fate.PLACED, "0,8")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"annotations": {BIND: "off"}}, "opted-out"),
        ({"runtime_class": "kata"}, "runtime-class"),
    ],
)
def test_a_pod_that_is_left_alone_is_told_why(more: dict[str, Any], code: str) -> None:
    (only,) = simulate(start(), [waits(1, **more)]).pods
    assert (only.fate, only.code, only.beside) == (Fate.UNPLACED, code, False)
    (quiet,) = simulate(start(), [waits(1, policy=None, **more)]).pods
    assert quiet.fate is Fate.SHARES


def test_one_that_found_nodes_in_use_comes_in_once_they_are_shared() -> None:
    pods = [
        waits(1, 2, exclusive="Required"),
        waits(2, 7, exclusive="Required"),
        waits(3, 2, policy="BestEffort", exclusive="Required"),
    ]
    found = simulate(start(), pods).pods
    assert (found[2].fate, found[2].code) == (Fate.UNPLACED, "nodes-in-use")
    # It goes to a node with pods of one node, which is shared from then on.
    later = waits(4, 2, policy="Restricted", exclusive="Preferred")
    found = simulate(start(), [*pods, later]).pods
    assert [each.fate for each in found] == [Fate.PLACED] * 4
    assert len(frozenset[int]().union(*(each.cpus for each in found))) == 2 + 7 + 2 + 2


def test_a_pod_whose_cpus_a_scheduler_gives_to_a_later_one_is_shown_where_it_moves() -> None:
    first, second = simulate(
        replace(start(), said=said(p2="4-7,12-15")),
        [waits(1, 2), waits(2, 8, policy=None)],
    ).pods
    assert (first.fate, len(first.cpus), set(first.nodes)) == (Fate.PLACED, 2, {0})
    assert second.cpus == cpus("4-7,12-15")
    third, fourth = simulate(
        replace(start(), said=said(p2="1-3,9-11")), [waits(1, 2), waits(2, 6, policy=None)]
    ).pods
    assert third.cpus.isdisjoint(fourth.cpus)
    assert third.fate is fourth.fate is Fate.PLACED


def test_hugepages_of_a_size_that_the_node_hasn_t_got_aren_t_there() -> None:
    amounts = {"cpu": 1000, "hugepages-1Gi": GIB}
    own = Demand(container="c1", role=Role.APP, requests=amounts, limits=amounts)
    (only,) = simulate(start(), [waits(1, demands=[own])]).pods
    assert only.fate is Fate.WAITING
    assert "hugepages-1Gi: it asks for 1Gi" in only.why
    node = replace(NODE, allocatable={**NODE.allocatable, "hugepages-1Gi": GIB})
    assert simulate(start(node=node), [waits(1, demands=[own])]).pods[0].fate is Fate.PLACED


def test_as_few_nodes_as_could_ever_hold_it_are_those_without_reserved_cpus() -> None:
    now = start()
    inputs = replace(now.situation.inputs, reserved=cpus("0,8,4,12"))
    now = replace(now, situation=replace(now.situation, inputs=inputs))
    # A node has 8 CPUs, of which 6 can be given out.
    (only,) = simulate(now, [waits(1, 7, policy="Restricted")]).pods
    assert (only.fate, set(only.nodes), only.beside) == (Fate.PLACED, {0, 1}, True)


def test_the_same_pods_are_compared_by_policies() -> None:
    pods = [waits(1, 7), waits(2, 7, policy="BestEffort"), waits(3, 1, policy=None)]
    found = simulate(start(), pods, [Shape(cpus=4)], compare=True)
    # A node has 6 CPUs for them, the other has 8.
    assert {each.name: (each.placed, each.aligned) for each in found.compared[3:]} == {
        f"{ASSIGNER}, all SingleNUMANode": (1, 1),
        f"{ASSIGNER}, all Restricted": (1, 1),
        f"{ASSIGNER}, all BestEffort": (2, 1),
    }
    ours = found.compared[0]
    assert (ours.placed, ours.aligned, ours.slots[0].total) == (2, 1, 0)
    assert [each.slots[0].total for each in found.compared[3:]] == [1, 1, 0]


def test_it_is_said_where_nothing_counts_as_free_since_pods_may_span_nodes() -> None:
    # Both end on node 0.
    pods = [waits(1, 2, policy="BestEffort"), waits(2, 1, policy="BestEffort")]
    found = simulate(start(), pods, [Shape(cpus=2)])
    assert [each.total for each in found.after] == [4]
    assert found.notes == (
        "pods that may span nodes are on node 0: no slot counts there for pods with"
        " singleNUMANodeExclusive Required, the default",
    )
    assert simulate(start(), [waits(1, 2)], [Shape(cpus=2)]).notes == ()


@pytest.mark.parametrize("gib", [1, 6], ids=["in use", "memory"])
def test_gpus_are_given_where_the_pod_may_be(gib: int) -> None:
    # By CPUs and GPUs alone it would be node 0: in use by one that spans, or out of memory.
    first = waits(1, 1, gib=gib, policy="BestEffort" if gib == 1 else "SingleNUMANode")
    amounts = {"cpu": 1000, "memory": 5 * GIB, NAME: 1}
    own = Demand(container="c2", role=Role.APP, requests=amounts, limits=amounts)
    second = waits(2, demands=[own], exclusive="Required" if gib == 1 else "Preferred")
    found = simulate(start(accounts=accounts_of(2, 8)), [first, second]).pods
    assert set(found[0].nodes) == {0}
    assert (found[1].fate, set(found[1].device_nodes)) == (Fate.PLACED, {1}), found[1].why
