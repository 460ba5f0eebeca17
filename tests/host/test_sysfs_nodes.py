"""NUMA nodes from small trees: which there are, their CPUs, memory and distances."""

from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.core.topology import HugePages, NodeKind, NumaNode, Topology
from numa_agent.host.sysfs import read_topology
from tests.machine_tree import NODE, Tree, codes, cpus, lone_cpus, two_socket_tree


def node(topology: Topology, node_id: int) -> NumaNode:
    found = topology.node(node_id)
    assert found is not None
    return found


def test_two_nodes_are_what_their_files_say(tmp_path: Path) -> None:
    assert two_socket_tree(tmp_path).topology().nodes == (
        NumaNode(
            id=0,
            kind=NodeKind.CPU,
            cpus=cpus("0-1,4-5"),
            memory_bytes=1 << 20,
            hugepages=(),
            distances={0: 10, 1: 21},
            nearest_cpu_nodes=(0,),
        ),
        NumaNode(
            id=1,
            kind=NodeKind.CPU,
            cpus=cpus("2-3,6-7"),
            memory_bytes=1 << 20,
            hugepages=(),
            distances={0: 21, 1: 10},
            nearest_cpu_nodes=(1,),
        ),
    )


def test_a_root_that_isn_t_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file or directory; give the folder"):
        read_topology(tmp_path / "none")
    Tree(tmp_path).file("file", "x")
    with pytest.raises(SourceError, match="Not a directory"):
        read_topology(tmp_path / "file")


def test_an_empty_root_has_no_cpu_no_node_and_a_warning(tmp_path: Path) -> None:
    topology = read_topology(tmp_path)
    assert (topology.online, topology.nodes, topology.pci_devices) == (cpus(""), (), ())
    assert [warning.code for warning in topology.warnings] == ["no-cpus"]


def test_a_kernel_without_numa_has_one_node_with_everything(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "2-3").file("proc/meminfo", "MemTotal:        2048 kB\nX: 1 kB")
    tree.files("sys/kernel/mm/hugepages/hugepages-2048kB", nr_hugepages="3", free_hugepages="1")
    topology = tree.topology()
    assert topology.nodes == (
        NumaNode(
            id=0,
            kind=NodeKind.CPU,
            cpus=cpus("2-3"),
            memory_bytes=2 << 20,
            hugepages=(HugePages(size_kib=2048, total=3, free=1),),
            distances={0: 10},
            nearest_cpu_nodes=(0,),
        ),
    )
    assert [warning.code for warning in topology.warnings] == ["no-node-directory"]


def test_a_kernel_that_lists_nodes_and_has_none_has_one_node_too(tmp_path: Path) -> None:
    topology = lone_cpus(tmp_path, "0-1").nodes_online("0").topology()
    assert [(found.id, found.cpus) for found in topology.nodes] == [(0, cpus("0-1"))]
    assert node(topology, 0).memory_bytes is None
    subjects = {warning.code: warning.subject for warning in topology.warnings}
    assert subjects["memory-unknown"] == "/proc/meminfo"


def test_a_listed_node_without_a_directory_is_skipped_with_a_warning(tmp_path: Path) -> None:
    # Case 13: `possible` is not the list of nodes, and a listed one may have no directory.
    tree = lone_cpus(tmp_path, "0-1").nodes_online("0-2").file(f"{NODE}/possible", "0-7")
    tree.node(0, cpulist="0", distance="10 20 30").node(2, cpulist="1", distance="30 20 10")
    topology = tree.topology()
    assert [found.id for found in topology.nodes] == [0, 2]
    # The row has a column for each online node, so that node 2's is the third.
    assert node(topology, 0).distances == {0: 10, 2: 30}
    (warning,) = topology.warnings
    assert warning.message == (
        f"/{NODE}/node1 is listed in `online` without a directory; left out"
    )


def test_a_directory_of_a_node_that_is_not_online_is_skipped(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0").nodes_online("0").node(0, cpulist="0").node(1, cpulist="")
    topology = tree.topology()
    assert [found.id for found in topology.nodes] == [0]
    assert codes(topology) == ["node-not-listed"]


def test_a_list_that_names_only_absent_nodes_is_not_believed(tmp_path: Path) -> None:
    topology = two_socket_tree(tmp_path).nodes_online("5").topology()
    assert [(found.id, found.cpus) for found in topology.nodes] == [
        (0, cpus("0-1,4-5")),
        (1, cpus("2-3,6-7")),
    ]
    assert codes(topology) == ["node-list-wrong"]


def test_a_node_directory_that_can_t_be_opened_is_not_a_kernel_without_numa(
    tmp_path: Path,
) -> None:
    tree = lone_cpus(tmp_path, "0-1")
    (tmp_path / NODE).symlink_to("node")
    topology = tree.topology()
    assert topology.nodes == ()
    assert codes(topology) == ["unreadable-file"]


@pytest.mark.parametrize("online", [None, b"", b"x\n", b"\n"])
def test_without_a_usable_list_the_nodes_are_those_with_a_directory(
    online: bytes | None, tmp_path: Path
) -> None:
    tree = two_socket_tree(tmp_path)
    if online is None:
        tree.without(f"{NODE}/online")
    else:
        tree.raw(f"{NODE}/online", online)
    topology = tree.topology()
    assert [found.id for found in topology.nodes] == [0, 1]
    assert node(topology, 1).distances == {0: 21, 1: 10}


def test_sparse_ids_are_kept_and_a_row_s_columns_go_to_the_online_nodes(tmp_path: Path) -> None:
    # Case 14: column 1 is node 8's and column 2 is node 64's.
    tree = lone_cpus(tmp_path, "0-2").nodes_online("0,8,64")
    tree.node(0, cpulist="0", distance="10 21 31").node(8, cpulist="1", distance="21 10 32")
    topology = tree.node(64, cpulist="2", distance="31 32 10").topology()
    assert [found.id for found in topology.nodes] == [0, 8, 64]
    assert node(topology, 8).distances == {0: 21, 8: 10, 64: 32}
    assert node(topology, 64).distances == {0: 31, 8: 32, 64: 10}
    assert topology.warnings == ()


@pytest.mark.parametrize("row", ["10", "10 21 31", "", "10 x", "10 -1", "10 256", "10,21"])
def test_a_row_that_doesn_t_fit_costs_that_node_its_distances(row: str, tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).file(f"{NODE}/node0/distance", row)
    topology = tree.topology()
    assert node(topology, 0).distances is None
    assert node(topology, 0).nearest_cpu_nodes == (0,)
    assert node(topology, 1).distances == {0: 21, 1: 10}
    assert f"/{NODE}/node0/distance" in [
        warning.subject for warning in topology.warnings if warning.code == "distances-unknown"
    ]


def test_a_distance_fits_a_byte(tmp_path: Path) -> None:
    topology = two_socket_tree(tmp_path).file(f"{NODE}/node0/distance", "10 255").topology()
    assert node(topology, 0).distances == {0: 10, 1: 255}


def test_nodes_are_not_packages(tmp_path: Path) -> None:
    # Case 34: one package in two nodes, here.
    tree = Tree(tmp_path).cpu_lists(online="0-1").nodes_online("0-1")
    for number in (0, 1):
        tree.cpu(number, core_cpus_list=str(number), package_cpus_list="0-1")
        tree.node(number, cpulist=str(number))
    topology = tree.topology()
    assert topology.packages is not None
    assert (len(topology.packages), len(topology.cpu_nodes)) == (1, 2)


def test_offline_cpus_are_in_no_node(tmp_path: Path) -> None:
    # Case 26: cpulist may name them where cpumap doesn't, which is no contradiction.
    tree = two_socket_tree(tmp_path).cpu_lists(online="0-3,6", offline="4-5,7")
    tree.file(f"{NODE}/node0/cpumap", "03")
    topology = tree.topology()
    assert [found.cpus for found in topology.nodes] == [cpus("0-1"), cpus("2-3,6")]
    assert topology.warnings == ()


def test_an_online_cpu_that_no_node_names_is_told_of(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").nodes_online("0").node(0, cpulist="0-1")
    topology = tree.topology()
    assert node(topology, 0).cpus == cpus("0-1")
    (warning,) = topology.warnings
    assert (warning.code, warning.subject) == ("cpu-without-node", "cpu2-3")


@pytest.mark.parametrize(
    ("files", "own"),
    [({"cpulist": "0-1"}, "0-1"), ({"cpumap": "3"}, "0-1"), ({"cpumap": "0000000a"}, "1,3")],
)
def test_either_file_gives_a_node_s_cpus(files: dict[str, str], own: str, tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").nodes_online("0").files(f"{NODE}/node0", **files)
    assert node(tree.topology(), 0).cpus == cpus(own)


def test_links_to_cpus_count_where_there_is_neither_file(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").nodes_online("0").node(0)
    for name in ("cpu1", "cpu2", "cpu9", "cpufreq", "cpu"):
        (tmp_path / NODE / "node0" / name).mkdir()
    assert node(tree.topology(), 0).cpus == cpus("1-2")


def test_without_any_of_them_a_node_s_cpus_are_unknown_and_it_has_no_kind(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").nodes_online("0-1").node(0, cpulist="0-1").node(1)
    topology = tree.topology()
    assert (node(topology, 1).cpus, node(topology, 1).kind) == (None, None)
    assert codes(topology) == ["distances-unknown"] * 2 + ["node-cpus-unknown"]


def test_files_that_contradict_each_other_leave_a_node_s_cpus_unknown(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).file(f"{NODE}/node1/cpumap", "4c")
    topology = tree.topology()
    assert (node(topology, 1).cpus, node(topology, 1).kind) == (None, None)
    assert node(topology, 0).cpus == cpus("0-1,4-5")
    assert codes(topology) == ["cpu-without-node", "node-cpus-disagree"]


def test_a_cpu_that_two_nodes_claim_goes_to_the_one_with_two_witnesses(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).without(f"{NODE}/node1/cpumap")
    topology = tree.file(f"{NODE}/node1/cpulist", "2-3,5-7").topology()
    assert [found.cpus for found in topology.nodes] == [cpus("0-1,4-5"), cpus("2-3,6-7")]
    (warning,) = topology.warnings
    assert (warning.code, warning.subject) == ("nodes-overlap", "cpu5")


def test_a_cpu_that_two_nodes_claim_with_one_witness_each_is_in_neither(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").nodes_online("0-1")
    topology = tree.node(0, cpulist="0-2").node(1, cpulist="2").topology()
    assert node(topology, 0).cpus == cpus("0-1")
    assert node(topology, 1).cpus is None


def test_a_cpu_that_two_nodes_claim_with_two_witnesses_each_is_in_neither(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).file(f"{NODE}/node1/cpulist", "2-3,5-7")
    topology = tree.file(f"{NODE}/node1/cpumap", "ec").topology()
    assert [found.cpus for found in topology.nodes] == [cpus("0-1,4"), cpus("2-3,6-7")]
    assert codes(topology) == ["cpu-without-node", "nodes-overlap"]


def test_kernels_too_old_for_cpulist_are_believed_as_they_are(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").nodes_online("0-1").node(0, cpumap="3").node(1, cpumap="2")
    topology = tree.topology()
    assert [found.cpus for found in topology.nodes] == [cpus("0-1"), cpus("1")]
    assert "nodes-overlap" in codes(topology)
