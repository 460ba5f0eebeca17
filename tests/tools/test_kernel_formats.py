"""The generated trees keep the kernel's rules about its own files."""

from posixpath import dirname, join, normpath

import pytest

from numa_agent.core.cpulist import CpuSet, parse, parse_mask
from tools.machines.nodes import mask
from tools.machines.tree import Link, Tree

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
MAY_BE_EMPTY = {"cgroup.procs", "cgroup.subtree_control"}
MACHINES = [
    "accelerators",
    "amd-8gpu",
    "cgroup-v1-systemd",
    "cxl-expander",
    "four-node-snc",
    "gb200-like",
    "grace-hopper-like",
    "lost-gpu",
    "mig-mixed",
    "nps4-8gpu",
    "single-node",
    "sparse-offline",
    "two-socket-8gpu",
    "v100-cube-mesh",
    "vm-unknown-locality",
]


@pytest.fixture(params=MACHINES)
def tree(machines: dict[str, Tree], request: pytest.FixtureRequest) -> Tree:
    return machines[request.param]


def text(tree: Tree, path: str) -> str:
    entry = tree[path]
    assert isinstance(entry, str)
    return entry


def ids(tree: Tree, path: str) -> CpuSet:
    return parse(text(tree, path))


def test_every_described_machine_is_tested_here(machines: dict[str, Tree]) -> None:
    assert sorted(machines) == MACHINES


def test_all_machines_together_stay_small(machines: dict[str, Tree]) -> None:
    assert sum(map(len, machines.values())) < 20000


def test_every_file_of_sysfs_ends_with_one_newline(tree: Tree) -> None:
    for path, entry in tree.items():
        if path.startswith("sys/") and isinstance(entry, str):
            empty = entry == "" and path.rpartition("/")[2] in MAY_BE_EMPTY
            assert empty or (entry.endswith("\n") and not entry.endswith("\n\n")), path


def test_every_file_of_proc_ends_its_last_line(tree: Tree) -> None:
    ends = [text(tree, path)[-1] for path in tree if path.startswith("proc/")]
    assert set(ends) == {"\n"}


def test_every_link_is_relative_and_leads_to_something_inside(tree: Tree) -> None:
    folders = {dirname(path) for path in tree}
    folders |= {parent for folder in folders for parent in parents(folder)}
    for path, entry in tree.items():
        if isinstance(entry, Link):
            assert not entry.target.startswith("/"), path
            assert normpath(join(dirname(path), entry.target)) in folders | tree.keys(), path


def parents(folder: str) -> list[str]:
    names = folder.split("/")
    return ["/".join(names[:depth]) for depth in range(1, len(names))]


def test_a_distance_row_has_one_column_per_online_node_and_10_for_itself(tree: Tree) -> None:
    online = sorted(ids(tree, f"{NODE}/online"))
    for position, node in enumerate(online):
        row = text(tree, f"{NODE}/node{node}/distance").split()
        assert len(row) == len(online)
        assert row[position] == "10"


def test_nodes_share_out_the_online_cpus(tree: Tree) -> None:
    online = ids(tree, f"{CPU}/online")
    lists = [ids(tree, f"{NODE}/node{node}/cpulist") for node in ids(tree, f"{NODE}/online")]
    assert sum(map(len, lists)) == len(online)
    assert frozenset().union(*lists) == online


def test_a_nodes_mask_and_list_say_the_same(tree: Tree) -> None:
    for node in ids(tree, f"{NODE}/online"):
        folder = f"{NODE}/node{node}"
        assert parse_mask(text(tree, f"{folder}/cpumap")) == ids(tree, f"{folder}/cpulist")


def test_masks_are_as_wide_as_the_highest_possible_cpu(tree: Tree) -> None:
    width = max(ids(tree, f"{CPU}/possible")) + 1
    words = text(tree, f"{NODE}/node0/cpumap").strip().split(",")
    assert len(words) == -(-width // 32)
    assert len(words[0]) == -(-(width % 32 or 32) // 4)


@pytest.mark.parametrize(
    ("cpus", "width", "expected"),
    [
        ({0}, 1, "1"),
        ({3}, 4, "8"),
        ({4}, 5, "10"),
        ({31}, 32, "80000000"),
        ({32}, 33, "1,00000000"),
        (set(range(0, 112, 2)), 112, "5555,55555555,55555555,55555555"),
        (set(), 112, "0000,00000000,00000000,00000000"),
    ],
)
def test_a_mask_is_printed_as_the_kernel_does(cpus: set[int], width: int, expected: str) -> None:
    assert mask(cpus, width) == expected


def test_an_offline_cpu_has_neither_topology_nor_cache(tree: Tree) -> None:
    offline = ids(tree, f"{CPU}/present") - ids(tree, f"{CPU}/online")
    for cpu in offline:
        below = [path for path in tree if path.startswith(f"{CPU}/cpu{cpu}/")]
        assert below == [f"{CPU}/cpu{cpu}/online"]
        assert text(tree, below[0]) == "0\n"


def test_sibling_lists_name_online_cpus_and_their_own(tree: Tree) -> None:
    online = ids(tree, f"{CPU}/online")
    for path in tree:
        cpu, _, name = path.removeprefix(f"{CPU}/cpu").partition("/")
        if path.startswith(f"{CPU}/cpu") and name.startswith("topology/") and "_list" in name:
            assert int(cpu) in ids(tree, path) <= online, path


def test_an_unknown_device_node_names_every_online_cpu(machines: dict[str, Tree]) -> None:
    tree = machines["vm-unknown-locality"]
    nodes = [path for path in tree if path.endswith("/numa_node")]
    assert len(nodes) == 4
    for path in nodes:
        assert text(tree, path) == "-1\n"
        assert text(tree, f"{dirname(path)}/local_cpulist") == text(tree, f"{CPU}/online")


def test_a_gpu_and_its_nic_share_one_switch(machines: dict[str, Tree]) -> None:
    tree = machines["two-socket-8gpu"]
    switch = "sys/devices/pci0000:18/0000:18:01.0/0000:19:00.0"
    gpu, nic = f"{switch}/0000:1a:00.0/0000:1b:00.0", f"{switch}/0000:1a:01.0/0000:1c:00.0"
    assert text(tree, f"{gpu}/class") == "0x030200\n"
    assert text(tree, f"{nic}/class") == "0x020700\n"
    assert tree[f"{gpu}/driver"] == Link("../../../../../../bus/pci/drivers/nvidia")
    classes = [text(tree, path) for path in tree if path.endswith("/class")]
    assert classes.count("0x030200\n") == classes.count("0x020700\n") == 8


def test_an_old_kernel_names_topology_by_siblings_only(machines: dict[str, Tree]) -> None:
    names = {
        path.rpartition("/")[2] for path in machines["cgroup-v1-systemd"] if "topology" in path
    }
    siblings = {"thread_siblings_list", "core_siblings_list"}
    assert names == siblings | {"core_id", "physical_package_id"}


def test_the_expanders_memory_is_near_node_0(machines: dict[str, Tree]) -> None:
    tree = machines["cxl-expander"]
    assert text(tree, f"{NODE}/has_cpu") == "0-1\n"
    assert text(tree, f"{NODE}/node2/cpulist") == "\n"
    assert tree[f"{NODE}/node2/access0/initiators/node0"] == Link("../../../node0")


def test_a_gpus_memory_node_is_told_by_its_driver(machines: dict[str, Tree]) -> None:
    tree = machines["grace-hopper-like"]
    status = text(tree, "proc/driver/nvidia/gpus/0009:01:00.0/numa_status")
    assert status.startswith("Node:      1\nStatus:    online\n")
    assert text(tree, f"{NODE}/has_memory") == "0-1\n"
