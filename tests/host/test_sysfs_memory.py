"""Memory, hugepages and nodes without CPUs, from small trees."""

from pathlib import Path

import pytest

from numa_agent.core.topology import HugePages, NodeKind, home_nodes
from tests.machine_tree import NODE, Tree, codes, cpus, lone_cpus, two_socket_tree

GPUS = "proc/driver/nvidia/gpus"


def cpu_less(root: Path, distance: str = "20 20 10", memory_kb: int | None = 64) -> Tree:
    """The machine of two sockets with a third node 2 that has no CPUs."""
    tree = two_socket_tree(root).nodes_online("0-2")
    tree.file(f"{NODE}/node0/distance", "10 21 20").file(f"{NODE}/node1/distance", "21 10 20")
    return tree.node(2, memory_kb, cpulist="", cpumap="00", distance=distance)


@pytest.mark.parametrize(
    "meminfo", [b"", b"Node 0 MemTotal: 5 kB", b"Node 0 MemFree: 5 kB\n", b"MemTotal: many kB\n"]
)
def test_memory_that_can_t_be_read_is_unknown_and_told_of(meminfo: bytes, tmp_path: Path) -> None:
    topology = two_socket_tree(tmp_path).raw(f"{NODE}/node0/meminfo", meminfo).topology()
    assert [found.memory_bytes for found in topology.nodes] == [None, 1 << 20]
    subjects = [w.subject for w in topology.warnings if w.code == "memory-unknown"]
    assert subjects == [f"/{NODE}/node0/meminfo"]


def test_each_size_of_hugepages_is_a_pool_and_a_missing_count_is_unknown(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path)
    pools = f"{NODE}/node1/hugepages"
    tree.files(f"{pools}/hugepages-1048576kB", nr_hugepages="4", free_hugepages="x")
    tree.files(f"{pools}/hugepages-2048kB", nr_hugepages="0", free_hugepages="0")
    tree.files(f"{pools}/hugepages-64kB", nr_hugepages="-1")
    tree.files(f"{pools}/hugepages-kB")
    first, second = tree.topology().nodes
    assert first.hugepages == ()
    assert second.hugepages == (
        HugePages(size_kib=64, total=None, free=None),
        HugePages(size_kib=2048, total=0, free=0),
        HugePages(size_kib=1048576, total=4, free=None),
    )


@pytest.mark.parametrize(
    ("memory_kb", "kind"), [(64, NodeKind.MEMORY), (0, NodeKind.EMPTY), (None, None)]
)
def test_a_node_without_cpus_is_shown_and_never_offered(
    memory_kb: int | None, kind: NodeKind | None, tmp_path: Path
) -> None:
    # Case 15.
    topology = cpu_less(tmp_path, memory_kb=memory_kb).topology()
    assert topology.nodes[2].kind == kind
    assert topology.nodes[2].cpus == cpus("")
    assert [found.id for found in topology.cpu_nodes] == [0, 1]


def test_a_node_whose_cpus_are_all_offline_has_no_cpus(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).cpu_lists(online="0-1,4-5", offline="2-3,6-7")
    topology = tree.topology()
    assert topology.nodes[1].cpus == cpus("")
    assert [found.id for found in topology.cpu_nodes] == [0]


@pytest.mark.timeout(10)
def test_many_nodes_of_gpu_memory_are_no_burden(tmp_path: Path) -> None:
    # Case 15: two nodes with CPUs of 34.
    tree = lone_cpus(tmp_path, "0-1").nodes_online("0-33")
    row = " ".join(["10"] * 34)
    for node_id in range(34):
        own = str(node_id) if node_id < 2 else ""
        tree.node(node_id, cpulist=own, distance=row)
    topology = tree.topology()
    assert len(topology.nodes) == 34
    assert [found.id for found in topology.cpu_nodes] == [0, 1]


@pytest.mark.parametrize(
    ("distance", "near"),
    [("20 28 10", (0,)), ("28 20 10", (1,)), ("20 20 10", (0, 1)), ("20 20", ())],
)
def test_a_node_without_cpus_is_near_the_cpu_nodes_at_the_smallest_distance(
    distance: str, near: tuple[int, ...], tmp_path: Path
) -> None:
    assert cpu_less(tmp_path, distance).topology().nodes[2].nearest_cpu_nodes == near


def test_memory_nodes_at_one_distance_are_spread_over_the_cpu_nodes(tmp_path: Path) -> None:
    # Case 47: all distances between CPUs and persistent memory are 21.
    tree = lone_cpus(tmp_path, "0-3").nodes_online("0-3")
    tree.node(0, cpulist="0-1", distance="10 21 21 21").node(
        1, cpulist="2-3", distance="21 10 21 21"
    )
    tree.node(2, cpulist="", distance="21 21 10 21").node(3, cpulist="", distance="21 21 21 10")
    topology = tree.topology()
    assert [found.nearest_cpu_nodes for found in topology.nodes[2:]] == [(0, 1), (0, 1)]
    assert home_nodes(topology.nodes) == {2: 0, 3: 1}


@pytest.mark.parametrize(
    ("links", "near"),
    [
        (["access1/initiators/node1"], (1,)),
        (["access0/initiators/node0", "access1/initiators/node1"], (1,)),
        (["access0/initiators/node0"], (0,)),
        # An initiator without CPUs of its own is none of interest.
        (["access1/initiators/node2"], (0, 1)),
        (["access1/initiators/read_latency"], (0, 1)),
    ],
)
def test_firmware_s_initiators_decide_which_cpu_node_is_near(
    links: list[str], near: tuple[int, ...], tmp_path: Path
) -> None:
    tree = cpu_less(tmp_path)
    for link in links:
        (tmp_path / NODE / "node2" / link).mkdir(parents=True)
    assert tree.topology().nodes[2].nearest_cpu_nodes == near


def test_a_node_of_gpu_memory_is_near_the_cpus_beside_its_gpu(tmp_path: Path) -> None:
    # Case 15: its distances to both CPU nodes are the same.
    tree = cpu_less(tmp_path).pci("0009:01:00.0", numa_node="1")
    tree.files(f"{GPUS}/0009:01:00.0", numa_status="Node:           2\nSize: 1 GB")
    assert tree.topology().nodes[2].nearest_cpu_nodes == (1,)


@pytest.mark.parametrize(
    ("gpu", "status"),
    [
        ("0009:02:00.0", "Node: 2"),
        ("0009:01:00.0", "Node: -1"),
        ("0009:01:00.0", "disabled"),
        ("gpu0", "Node: 2"),
        ("0009:01:00.0", "Node: 0"),
        ("0009:01:00.0", "Node: 7"),
    ],
)
def test_a_gpu_that_has_no_such_node_changes_nothing(
    gpu: str, status: str, tmp_path: Path
) -> None:
    tree = cpu_less(tmp_path).pci("0009:01:00.0", numa_node="1")
    topology = tree.files(f"{GPUS}/{gpu}", numa_status=status).topology()
    assert [found.nearest_cpu_nodes for found in topology.nodes] == [(0,), (1,), (0, 1)]
    assert codes(topology) == []
