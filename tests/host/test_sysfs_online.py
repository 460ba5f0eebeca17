"""Which CPUs are online, plugged in and isolated, from small trees."""

from pathlib import Path

import pytest

from numa_agent.core.topology import CpuGroup
from tests.machine_tree import CPU, Tree, codes, cpus, lone_cpus, two_socket_tree


def test_two_sockets_are_read_without_a_warning(tmp_path: Path) -> None:
    topology = two_socket_tree(tmp_path).topology()
    assert topology.online == topology.present == cpus("0-7")
    assert topology.offline == cpus("")
    assert topology.isolated is None
    assert topology.cores == (cpus("0,4"), cpus("1,5"), cpus("2,6"), cpus("3,7"))
    assert topology.packages == (
        CpuGroup(id=0, cpus=cpus("0-1,4-5")),
        CpuGroup(id=1, cpus=cpus("2-3,6-7")),
    )
    assert (topology.dies, topology.clusters, topology.caches, topology.cpu_kinds) == ((),) * 4
    assert topology.warnings == ()


def test_offline_cpus_without_a_topology_are_listed_apart_and_in_no_core(tmp_path: Path) -> None:
    # Case 26: cpu1 and cpu3 are plugged in and off, so that neither has files.
    tree = Tree(tmp_path).cpu_lists(online="0,2", present="0-3", offline="1,3")
    for number in (0, 2):
        tree.cpu(number, core_cpus_list=f"{number}", package_cpus_list="0,2")
    topology = tree.cpu(1).cpu(3).topology()
    assert (topology.online, topology.offline) == (cpus("0,2"), cpus("1,3"))
    assert topology.cores == (cpus("0"), cpus("2"))
    assert topology.packages == (CpuGroup(id=None, cpus=cpus("0,2")),)
    assert codes(topology) == []


def test_sibling_lists_that_name_offline_cpus_are_cut_to_the_online_ones(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).cpu_lists(online="0-3", offline="4-7")
    topology = tree.topology()
    assert topology.cores == (cpus("0"), cpus("1"), cpus("2"), cpus("3"))
    assert topology.packages is not None
    assert [group.cpus for group in topology.packages] == [cpus("0-1"), cpus("2-3")]


def test_a_cpu_without_an_online_file_of_its_own_is_online(tmp_path: Path) -> None:
    # Case 27: the file says whether a CPU can be switched; the list is the truth.
    tree = lone_cpus(tmp_path, "0-3").file(f"{CPU}/cpu1/online", "1")
    assert tree.topology().online == cpus("0-3")


def test_without_the_list_each_cpu_speaks_for_itself(tmp_path: Path) -> None:
    # cpu0 can't be switched, cpu1 is on, cpu2 off, cpu3 has neither file.
    tree = lone_cpus(tmp_path, "0-3").without(f"{CPU}/online")
    tree.file(f"{CPU}/cpu1/online", "1").file(f"{CPU}/cpu2/online", "0")
    (tmp_path / CPU / "cpu3/topology/core_cpus_list").unlink()
    topology = tree.topology()
    assert topology.online == cpus("0-1")
    assert codes(topology) == ["online-list-missing"]


def test_a_kernel_without_any_online_file_has_all_its_cpus_online(tmp_path: Path) -> None:
    topology = lone_cpus(tmp_path, "0-3", cores=False).without(f"{CPU}/online").topology()
    assert topology.online == cpus("0-3")


def test_a_machine_without_any_cpu_has_none_and_a_warning(tmp_path: Path) -> None:
    topology = Tree(tmp_path).cpu_lists(online="").topology()
    assert (topology.online, topology.nodes) == (cpus(""), ())
    assert codes(topology) == ["no-cpus", "online-list-missing"]


def test_a_cpu_with_neither_file_is_off_where_others_have_one(tmp_path: Path) -> None:
    tree = Tree(tmp_path).cpu(0).cpu(1).file(f"{CPU}/cpu1/online", "1")
    assert tree.topology().online == cpus("1")


def test_a_list_that_is_no_list_counts_for_nothing(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").cpu(2).raw(f"{CPU}/online", b"all")
    assert tree.topology().online == cpus("0-1")


def test_a_list_is_believed_where_no_cpu_has_a_directory(tmp_path: Path) -> None:
    topology = Tree(tmp_path).cpu_lists(online="0-2").topology()
    assert topology.online == topology.present == cpus("0-2")


def test_a_list_that_was_cut_still_counts_where_no_cpu_has_a_file(tmp_path: Path) -> None:
    topology = lone_cpus(tmp_path, "0-3").raw(f"{CPU}/online", b"0-2").topology()
    assert topology.online == cpus("0-2")
    assert codes(topology) == ["damaged-file", "online-list-missing"]


def test_a_list_that_was_cut_is_overruled_by_the_cpus_own_files(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").raw(f"{CPU}/online", b"0-2")
    tree.file(f"{CPU}/cpu3/online", "1")
    assert tree.topology().online == cpus("0-3")


def test_a_cpu_s_own_file_says_0_or_1_and_nothing_else(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").without(f"{CPU}/online")
    topology = tree.file(f"{CPU}/cpu1/online", "7").file(f"{CPU}/cpu0/online", "1").topology()
    assert topology.online == cpus("0-1")
    damaged = [w.subject for w in topology.warnings if w.code == "damaged-file"]
    assert damaged == [f"/{CPU}/cpu1/online"]


def test_what_can_t_be_read_is_told_of_once(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").without(f"{CPU}/online")
    (tmp_path / CPU / "online").mkdir()
    found = [w.subject for w in tree.topology().warnings if w.code == "unreadable-file"]
    assert found == [f"/{CPU}/online"]


@pytest.mark.parametrize("online", ["15,21-22,26,29-30", "6-7,10-11,14-15", "1-3"])
def test_nothing_takes_cpu_0_for_granted(online: str, tmp_path: Path) -> None:
    # Case 37.
    topology = lone_cpus(tmp_path, online).topology()
    assert topology.online == cpus(online)
    assert topology.cores is not None
    assert frozenset().union(*topology.cores) == cpus(online)
    assert codes(topology) == []


def test_possible_cpus_count_for_nothing(tmp_path: Path) -> None:
    # Case 36: `possible` says what could be plugged in one day.
    tree = lone_cpus(tmp_path, "0-1").cpu_lists(possible="0-31", present="0-1", offline="2-31")
    topology = tree.topology()
    assert (topology.online, topology.present) == (cpus("0-1"), cpus("0-1"))
    assert codes(topology) == []


def test_a_listed_cpu_without_a_directory_is_left_out_with_a_warning(tmp_path: Path) -> None:
    topology = lone_cpus(tmp_path, "0-1").cpu_lists(online="0-3").topology()
    assert topology.online == cpus("0-1")
    (warning,) = [w for w in topology.warnings if w.code == "cpu-without-directory"]
    assert warning.message == f"/{CPU}/online names CPUs 2-3 without a directory; left out"


def test_a_plugged_in_cpu_in_neither_list_is_offline_and_told_of(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").cpu_lists(online="0-1", present="0-3", offline="3")
    topology = tree.topology()
    assert topology.offline == cpus("2-3")
    assert codes(topology) == ["cpu-lists-disagree"]


def test_isolated_cpus_are_those_plugged_in_and_none_is_not_unknown(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").cpu_lists(isolated="2-3,8")
    assert tree.topology().isolated == cpus("2-3")
    assert tree.cpu_lists(isolated="").topology().isolated == cpus("")
    assert tree.without(f"{CPU}/isolated").topology().isolated is None
