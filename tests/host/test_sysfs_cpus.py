"""Cores, packages, dies and clusters from small trees."""

from pathlib import Path

import pytest

from numa_agent.core.topology import CpuGroup
from tests.machine_tree import CPU, Tree, codes, cpus, lone_cpus, two_socket_tree


@pytest.mark.parametrize(
    ("core", "package"),
    [
        ("core_cpus_list", "package_cpus_list"),
        ("core_cpus", "package_cpus"),
        ("thread_siblings_list", "core_siblings_list"),
        ("thread_siblings", "core_siblings"),
    ],
)
def test_each_kernel_s_names_for_cores_and_packages_are_known(
    core: str, package: str, tmp_path: Path
) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-3")
    listed = core.endswith("_list")
    for number in range(4):
        siblings = ("0,2", "1,3")[number % 2] if listed else ("5", "a")[number % 2]
        tree.cpu(number, **{core: siblings, package: "0-3" if listed else "f"})
    topology = tree.topology()
    assert topology.cores == (cpus("0,2"), cpus("1,3"))
    assert topology.packages == (CpuGroup(id=None, cpus=cpus("0-3")),)
    assert codes(topology) == []


def test_cores_and_packages_that_no_file_tells_are_unknown(tmp_path: Path) -> None:
    topology = lone_cpus(tmp_path, "0-1", cores=False).topology()
    assert topology.cores is None
    assert topology.packages is None
    assert codes(topology) == ["cpu-without-topology"]


def test_one_cpu_without_siblings_costs_its_own_core(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).raw(f"{CPU}/cpu0/topology/core_cpus_list", b"")
    tree.raw(f"{CPU}/cpu4/topology/core_cpus_list", b"")
    topology = tree.topology()
    assert topology.cores == (cpus("1,5"), cpus("2,6"), cpus("3,7"))
    assert "cpu0,4" in [w.subject for w in topology.warnings if w.code == "cpu-without-topology"]


def test_cpus_that_contradict_each_other_about_their_core_have_none(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).file(f"{CPU}/cpu4/topology/core_cpus_list", "4-5")
    topology = tree.topology()
    assert topology.cores == (cpus("1,5"), cpus("2,6"), cpus("3,7"))
    (warning,) = topology.warnings
    assert (warning.code, warning.subject) == ("siblings-disagree", "cpu0,4")


def test_a_silent_cpu_that_two_others_name_is_in_no_core(tmp_path: Path) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-3")
    for number, core in {0: "0,3", 1: "1,3", 2: "2"}.items():
        tree.cpu(number, core_cpus_list=core)
    topology = tree.cpu(3, physical_package_id="0").topology()
    assert topology.cores == (cpus("2"),)
    subjects = {warning.code: warning.subject for warning in topology.warnings}
    assert subjects["siblings-disagree"] == "cpu0-1"
    assert subjects["cpu-without-topology"] == "cpu3"


def test_a_core_in_two_packages_is_told_of(tmp_path: Path) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-1")
    for number in (0, 1):
        tree.cpu(number, core_cpus_list="0-1", package_cpus_list=str(number))
    assert codes(tree.topology()) == ["core-in-two-packages"]


def test_a_package_that_contradicts_another_is_left_out_with_a_warning(tmp_path: Path) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-3")
    for number, package in enumerate(("0-1", "0-1", "1-2", "2")):
        tree.cpu(number, core_cpus_list=str(number), package_cpus_list=package)
    topology = tree.topology()
    assert topology.packages == (CpuGroup(id=None, cpus=cpus("0-1")),)
    assert [w.subject for w in topology.warnings if w.code == "groups-disagree"] == [
        f"/{CPU}/cpu{number}/topology/package_cpus_list" for number in (2, 3)
    ]


def test_package_ids_are_the_kernel_s_and_minus_one_is_none(tmp_path: Path) -> None:
    # Case 34: each thing is counted from its own files.
    tree = Tree(tmp_path).cpu_lists(online="0-1")
    tree.cpu(0, core_cpus_list="0", package_cpus_list="0", physical_package_id="-1")
    tree.cpu(1, core_cpus_list="1", package_cpus_list="1", physical_package_id="8")
    assert tree.topology().packages == (
        CpuGroup(id=None, cpus=cpus("0")),
        CpuGroup(id=8, cpus=cpus("1")),
    )


def test_packages_by_id_alone_where_no_siblings_are_named(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3", cores=False)
    for number in range(4):
        tree.file(f"{CPU}/cpu{number}/topology/physical_package_id", str(number % 2 * 8))
    assert tree.topology().packages == (
        CpuGroup(id=0, cpus=cpus("0,2")),
        CpuGroup(id=8, cpus=cpus("1,3")),
    )


def test_a_cpu_without_an_id_where_ids_alone_tell_is_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-2").cpu(0, core_cpus_list="0")
    for number in (1, 2):
        tree.cpu(number, core_cpus_list=f"{number}", physical_package_id="0")
    topology = tree.topology()
    assert topology.packages == (CpuGroup(id=0, cpus=cpus("1-2")),)
    assert [w.subject for w in topology.warnings if w.code == "group-unknown"] == ["cpu0"]


def test_dies_and_clusters_are_groups_too_and_a_cluster_of_one_core_is_none(
    tmp_path: Path,
) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-7")
    for number in range(8):
        tree.cpu(
            number,
            core_cpus_list=f"{number}",
            die_cpus_list=("0-3", "4-7")[number // 4],
            die_id=f"{number // 4}",
            cluster_cpus_list=f"{number}" if number < 4 else ("4-5", "6-7")[number // 2 - 2],
            cluster_id=f"{number * 10}",
        )
    topology = tree.topology()
    assert topology.dies == (CpuGroup(id=0, cpus=cpus("0-3")), CpuGroup(id=1, cpus=cpus("4-7")))
    assert topology.clusters == (
        CpuGroup(id=40, cpus=cpus("4-5")),
        CpuGroup(id=60, cpus=cpus("6-7")),
    )


def test_lone_cores_are_told_by_cpuinfo_where_no_siblings_are_named(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-2", cores=False)
    blocks = [
        "processor\t: 0\nsiblings\t: 2\ncpu cores\t: 2",
        "processor\t: 1\nsiblings\t: 2\ncpu cores\t: 2",
        "processor\t: 2\nsiblings\t: 2\ncpu cores\t: 1",
    ]
    topology = tree.file("proc/cpuinfo", "\n\n".join(blocks)).topology()
    assert topology.cores == (cpus("0"), cpus("1"))
    assert [w.subject for w in topology.warnings if w.code == "cpu-without-topology"] == ["cpu2"]


@pytest.mark.parametrize("damaged", ["die_cpus_list", "cluster_cpus_list"])
def test_one_damaged_file_costs_no_more_than_itself(damaged: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path).cpu_lists(online="0-3")
    for number in range(4):
        pair = ("0-1", "2-3")[number // 2]
        tree.cpu(number, core_cpus_list=str(number), **{damaged: pair})
    tree.raw(f"{CPU}/cpu0/topology/{damaged}", b"")
    topology = tree.topology()
    groups = topology.dies or topology.clusters
    assert [group.cpus for group in groups] == [cpus("0-1"), cpus("2-3")]


def test_a_cpuinfo_of_many_pages_is_read_whole(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-99", cores=False)
    blocks = [
        f"processor\t: {number}\nflags\t\t: {'x' * 1500}\nsiblings\t: 100\ncpu cores\t: 100"
        for number in range(100)
    ]
    tree.file("proc/cpuinfo", "\n\n".join(blocks))
    assert len(tree.topology().cores or ()) == 100
