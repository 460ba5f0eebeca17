"""The questions one asks of a machine's map."""

from dataclasses import replace

import pytest

from numa_agent.core.topology import NodeKind, home_nodes, nearest, node_kind
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node


@pytest.mark.parametrize(
    ("cpu_list", "memory_bytes", "kind"),
    [
        ("0-3", 1024, NodeKind.CPU),
        ("0-3", 0, NodeKind.CPU),
        ("0-3", None, NodeKind.CPU),
        ("", 1, NodeKind.MEMORY),
        ("", 0, NodeKind.EMPTY),
        ("", None, None),
        (None, None, None),
        (None, 1024, None),
        (None, 0, None),
    ],
)
def test_a_node_s_kind_follows_from_its_cpus_and_memory(
    cpu_list: str | None, memory_bytes: int | None, kind: NodeKind | None
) -> None:
    assert node_kind(None if cpu_list is None else cpus(cpu_list), memory_bytes) == kind


@pytest.mark.parametrize(
    ("distances", "candidates", "answer"),
    [
        ({0: 10, 1: 20}, [0, 1], (0,)),
        ({0: 30, 8: 20, 64: 25}, [0, 8, 64], (8,)),
        ({0: 17, 1: 17, 2: 28}, [2, 1, 0], (0, 1)),
        ({0: 10, 1: 20}, [1], (1,)),
        ({0: 10, 1: 20}, [1, 7], (1,)),
        ({0: 10}, [7], ()),
        ({0: 10}, [], ()),
        ({}, [0], ()),
        (None, [0, 1], ()),
    ],
)
def test_the_nearest_nodes_are_all_those_at_the_smallest_known_distance(
    distances: dict[int, int] | None, candidates: list[int], answer: tuple[int, ...]
) -> None:
    assert nearest(distances, candidates) == answer


def test_memory_nodes_at_one_distance_get_a_cpu_node_each() -> None:
    # Case 47: persistent memory 2 and 3, each 21 from CPU nodes 0 and 1.
    nodes = [
        numa_node(3, "", near=(0, 1)),
        numa_node(2, "", near=(0, 1)),
        numa_node(0, "0-1"),
        numa_node(1, "2-3"),
    ]
    assert home_nodes(nodes) == {2: 0, 3: 1}
    assert home_nodes(reversed(nodes)) == {2: 0, 3: 1}


def test_a_memory_node_with_one_nearest_cpu_node_goes_there_however_many_do() -> None:
    nodes = [
        numa_node(0, "0"),
        numa_node(1, "1"),
        *(numa_node(node_id, "", near=(1,)) for node_id in (2, 3)),
        numa_node(4, "", near=(0, 1)),
    ]
    assert home_nodes(nodes) == {2: 1, 3: 1, 4: 0}


def test_only_memory_nodes_have_a_home() -> None:
    nodes = [
        numa_node(0, "0"),
        numa_node(1, "", near=()),
        numa_node(2, "", memory_bytes=0, near=(0,)),
        numa_node(3, None, near=(0,)),
    ]
    assert home_nodes(nodes) == {}


def test_cpus_are_offered_by_nodes_that_have_some() -> None:
    topology = machine(
        numa_node(2, "4-7"), numa_node(5, ""), numa_node(6, None), numa_node(8, "0-3")
    )
    assert [node.id for node in topology.cpu_nodes] == [2, 8]


def test_a_cpu_that_is_plugged_in_and_not_online_is_offline() -> None:
    assert TWO_NODES.offline == frozenset()
    assert replace(TWO_NODES, present=cpus("0-11")).offline == cpus("8-11")


def test_a_node_is_found_by_its_id_and_not_by_its_place() -> None:
    topology = machine(numa_node(1, "0-3"), numa_node(8, "4-7"))
    assert topology.node(8) == topology.nodes[1]
    assert topology.node(0) is None


@pytest.mark.parametrize(
    ("asked", "nodes"), [("0-1", {1}), ("3-4", {1, 8}), ("9", set()), ("", set())]
)
def test_cpus_lie_in_the_nodes_that_hold_any_of_them(asked: str, nodes: set[int]) -> None:
    topology = machine(numa_node(1, "0-3"), numa_node(6, None), numa_node(8, "4-7"))
    assert topology.nodes_of(cpus(asked)) == nodes
