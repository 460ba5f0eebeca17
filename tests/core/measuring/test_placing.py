"""Where near and far are."""

import re

import pytest

from numa_agent.core import cpulist
from numa_agent.core.measuring import Allowed, placements
from numa_agent.core.topology import Topology
from tests.core.measuring.machines import allowed, node, two, with_expander
from tests.machine_tree import cpus, machine


def told(
    topology: Topology, limits: Allowed | None = None, **which: int
) -> list[tuple[str, str, int | None]]:
    chosen = placements(topology, limits or allowed(topology), **which)
    return [(each.name, cpulist.render(each.cpus), each.mem) for each in chosen]


def test_far_are_the_other_node_s_cpus_with_the_same_memory() -> None:
    assert told(two()) == [
        ("near", "0-3,8-11", 0),
        ("far", "4-7,12-15", 0),
        ("unbound", "0-15", None),
    ]
    assert told(two(), near=1)[:2] == [("near", "4-7,12-15", 1), ("far", "0-3,8-11", 1)]


def test_the_farthest_node_with_cpus_is_far() -> None:
    topology = machine(
        node(0, "0", to0=10, to1=12, to2=32, to3=32),
        node(1, "1", to0=12, to1=10, to2=32, to3=32),
        node(2, "2", to0=32, to1=32, to2=10, to3=12),
        node(3, "3", to0=32, to1=32, to2=12, to3=10),
    )
    assert told(topology)[1] == ("far", "2", 0)
    assert told(topology, near=0, far=1)[1] == ("far", "1", 0)
    assert told(topology, near=3)[1] == ("far", "0", 3)


def test_without_distances_another_node_is_far_all_the_same() -> None:
    assert told(machine(node(0, "0"), node(1, "1")))[1] == ("far", "1", 0)


def test_memory_is_far_where_no_other_node_has_cpus_or_it_is_asked_for() -> None:
    assert told(machine(node(0, "0-1"), node(1)))[:2] == [("near", "0-1", 0), ("far", "0-1", 1)]
    assert told(with_expander(), far=2)[:2] == [("near", "0-1", 0), ("far", "0-1", 2)]
    assert told(with_expander())[1] == ("far", "2-3", 0)


def test_near_and_far_have_equally_many_cpus() -> None:
    assert told(machine(node(0, "0-5"), node(1, "6-7")))[:2] == [
        ("near", "0-1", 0),
        ("far", "6-7", 0),
    ]


def test_only_what_is_allowed_is_used() -> None:
    limits = allowed(two(), cpus("1,5-6"), cpus("1"))
    assert told(two(), limits) == [("near", "5", 1), ("far", "1", 1), ("unbound", "1,5-6", None)]


@pytest.mark.parametrize(
    ("limits", "which", "said"),
    [
        (allowed(two()), {"near": 7}, "there is no NUMA node 7 (here: 0-1)"),
        (allowed(two()), {"far": 2}, "there is no NUMA node 2 (here: 0-1)"),
        (allowed(two()), {"near": 1, "far": 1}, "no other node can be far of node 1"),
        (allowed(two(), cpus("0"), cpus("1")), {}, "no NUMA node has both CPUs and memory"),
        (allowed(two(), cpus("0")), {"near": 1}, "node 1 has both CPUs and memory for this"),
        (allowed(two(), cpus("0"), cpus("0")), {}, "it may use CPUs 0 and memory of nodes 0 (cpu"),
        (allowed(two(), cpus("0"), cpus("0")), {"far": 1}, "node 1 can be far of node 0: it may"),
    ],
)
def test_without_such_a_pair_the_limits_are_named(
    limits: Allowed, which: dict[str, int], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        told(two(), limits, **which)


def test_a_memory_only_node_is_never_near() -> None:
    with pytest.raises(ValueError, match="node 2 has both CPUs"):
        told(with_expander(), near=2)
