"""What reading the map does to the machine: each file is opened once, nothing stays open."""

import os
from pathlib import Path

from numa_agent.core.devices import NodeSource
from numa_agent.host.sysfs import read_topology
from tests.machine_tree import CPU, NODE, Tree, two_socket_tree
from tests.opens import counted_opens


def a_bit_of_everything(root: Path) -> Tree:
    tree = two_socket_tree(root).cpu_lists(isolated="3", possible="0-31").nodes_online("0-2")
    for number in range(8):
        tree.files(
            f"{CPU}/cpu{number}/topology", die_cpus_list=str(number), cluster_cpus_list="0-7"
        )
        for index in (2, 3):
            tree.cache(number, index, level=str(index), shared_cpu_list="0-7", size="1M")
    tree.node(2, cpulist="", cpumap="00", distance="20 20 10")
    tree.files(f"{NODE}/node0/hugepages/hugepages-2048kB", nr_hugepages="1", free_hugepages="1")
    tree.pci("0000:00:01.0", vendor="0x8086", device="0x0001", numa_node="1")
    for function in range(3):
        name = f"0000:01:00.{function}"
        files = {"class": "0x030200", "local_cpulist": "0-7", "numa_node": "-1"}
        tree.pci(name, "pci0000:00" if function else "pci0000:00/0000:00:01.0", **files)
    tree.file("sys/devices/cpu_core/cpus", "0-3").file("sys/devices/cpu_atom/cpus", "4-7")
    return tree.files("proc/driver/nvidia/gpus/0000:01:00.0", numa_status="Node: 2")


def test_no_file_is_opened_twice(tmp_path: Path) -> None:
    a_bit_of_everything(tmp_path)
    with counted_opens(tmp_path) as opens:
        topology = read_topology(tmp_path)
    assert {name for name, count in opens.items() if count > 1} == set()
    # The tree takes every way there is to a fact, or this would prove little.
    sources = {device.node_source for device in topology.pci_devices}
    assert sources == {NodeSource.SYSFS, NodeSource.BRIDGE, NodeSource.UNKNOWN}
    read = {
        f"{CPU}/online",
        f"{NODE}/online",
        f"{NODE}/node2/distance",
        "sys/devices/cpu_core/cpus",
    }
    assert read <= set(opens)


def test_files_that_answer_nothing_are_not_opened(tmp_path: Path) -> None:
    a_bit_of_everything(tmp_path)
    with counted_opens(tmp_path) as opens:
        read_topology(tmp_path)
    # A CPU that another one's package or cache names isn't asked again.
    assert opens[f"{CPU}/cpu0/topology/package_cpus_list"] == 1
    assert opens[f"{CPU}/cpu1/topology/package_cpus_list"] == 0
    assert opens[f"{CPU}/cpu1/cache/index3/level"] == 0
    assert opens[f"{CPU}/possible"] == 0


def test_an_open_file_is_counted_each_time(tmp_path: Path) -> None:
    Tree(tmp_path).file("a/b", "x")
    with counted_opens(tmp_path) as opens:
        for _ in range(2):
            (tmp_path / "a/b").read_bytes()
    assert opens == {"a/b": 2}


def test_nothing_stays_open(tmp_path: Path) -> None:
    a_bit_of_everything(tmp_path)
    (tmp_path / CPU / "cpu0" / "topology" / "die_id").mkdir()
    before = sorted(os.listdir("/proc/self/fd"))
    read_topology(tmp_path)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_the_same_tree_read_twice_gives_equal_maps(tmp_path: Path) -> None:
    tree = a_bit_of_everything(tmp_path)
    assert tree.topology() == tree.topology()
