"""Where a container's memory is: its cgroup's account, else its processes' page tables."""

import os
from pathlib import Path

import pytest

from numa_agent.core.memory_use import MemorySource
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.cgroups.memory import MAX_PROCESSES
from tests.machine_tree import CGROUP, Tree

PATH = "kubepods/pod1/c1"
V2 = "anon N0=8192 N1=0\nfile N0=4096 N1=4096\nshmem N0=0 N1=4096"
V1 = "total=3 N0=2 N1=1\nfile=1 N0=0 N1=1\nanon=2 N0=2 N1=0"
MAPS = "7f20 default heap anon=16 dirty=16 N1=16 kernelpagesize_kB=4"


def tree(root: Path, procs: str = "") -> Tree:
    made = Tree(root).file(f"{CGROUP}/cgroup.controllers", "cpuset memory")
    return made.cgroup_v2("", "", "0-7").cgroup_v2(PATH, "", "0-7", procs=procs)


def with_proc(root: Path, **processes: str) -> Tree:
    """A cgroup with these processes, each with a page table."""
    made = tree(root, "\n".join(each.removeprefix("p") for each in processes))
    made.files("proc/self", status="NSpid:\t77")
    for name, maps in processes.items():
        made.files(f"proc/{name.removeprefix('p')}", numa_maps=maps, status="Name: x")
    return made


def test_a_v2_cgroup_has_an_account(tmp_path: Path) -> None:
    tree(tmp_path).file(f"{CGROUP}/{PATH}/memory.numa_stat", V2)
    use = CpusetTree(tmp_path).memory(PATH)
    assert use is not None
    assert (use.own, use.cache) == ({0: 8192, 1: 4096}, {0: 4096, 1: 0})
    assert use.source is MemorySource.CGROUP


def test_hugepages_have_an_account_by_size_where_the_kernel_keeps_one(tmp_path: Path) -> None:
    made = tree(tmp_path).file(f"{CGROUP}/{PATH}/memory.numa_stat", V2)
    without = CpusetTree(tmp_path).memory(PATH)
    assert without is not None
    assert not without.hugepages
    made.file(f"{CGROUP}/{PATH}/hugetlb.2MB.numa_stat", "total=4194304 N0=0 N1=4194304")
    made.file(f"{CGROUP}/{PATH}/hugetlb.1GB.numa_stat", "total=1073741824 N0=1073741824 N1=0")
    use = CpusetTree(tmp_path).memory(PATH)
    assert use is not None
    assert use.own == {0: 8192 + (1 << 30), 1: 4096 + (4 << 20)}
    assert use.hugepages
    told: list[str] = []
    made.file(f"{CGROUP}/{PATH}/hugetlb.2MB.numa_stat", "4194304")
    assert CpusetTree(tmp_path, warn=told.append).memory(PATH) is None
    assert len(told) == 1


@pytest.mark.parametrize(
    ("allowed", "seen"), [("0-1\n", True), ("1\n", True), ("0\n", False), ("x", True), ("", True)]
)
def test_hugepages_in_a_node_that_is_not_allowed_any_more_were_moved(
    tmp_path: Path, allowed: str, seen: bool
) -> None:
    made = tree(tmp_path).file(f"{CGROUP}/{PATH}/memory.numa_stat", V2)
    made.file(f"{CGROUP}/{PATH}/hugetlb.2MB.numa_stat", "total=4194304 N0=0 N1=4194304")
    made.file(f"{CGROUP}/{PATH}/cpuset.mems.effective", allowed)
    use = CpusetTree(tmp_path).memory(PATH)
    assert use is not None
    assert (use.hugepages, use.own[1]) == (seen, 4096 + (4 << 20) if seen else 4096)


def test_a_v1_cgroup_has_it_in_another_hierarchy_in_pages(tmp_path: Path) -> None:
    made = Tree(tmp_path).cgroup_v1("", "0-7").cgroup_v1(PATH, "0-7")
    made.files(f"{CGROUP}/memory/{PATH}", **{"memory.numa_stat": V1})
    use = CpusetTree(tmp_path).memory(PATH)
    page = os.sysconf("SC_PAGE_SIZE")
    assert use is not None
    assert (use.own, use.cache) == ({0: 2 * page, 1: 0}, {0: 0, 1: page})


def test_without_an_account_page_tables_are_read_where_that_is_asked_for(tmp_path: Path) -> None:
    with_proc(tmp_path, p12=MAPS, p13=MAPS)
    found = CpusetTree(tmp_path)
    assert found.memory(PATH) is None
    use = found.memory(PATH, [PATH])
    assert use is not None
    assert (use.own, use.source) == ({1: 2 * 16 * 4096}, MemorySource.MAPS)


def test_a_process_that_is_hidden_or_ended_is_not_guessed_at(tmp_path: Path) -> None:
    made = with_proc(tmp_path, p12=MAPS, p13=MAPS)
    found = CpusetTree(tmp_path)
    # One that has ended is no part of the answer; of one that can't be read nothing is known.
    made.without("proc/13/numa_maps").without("proc/13/status")
    (tmp_path / "proc/13").rmdir()
    assert found.memory(PATH, [PATH]) is not None
    made.file(f"{CGROUP}/{PATH}/cgroup.procs", "12\n0")
    assert found.memory(PATH, [PATH]) is None
    made.file(f"{CGROUP}/{PATH}/cgroup.procs", "12")
    made.files("proc/self", status="NSpid:\t77\t1")
    assert found.memory(PATH, [PATH]) is None


def test_a_kernel_without_numa_maps_and_too_many_processes_tell_nothing(tmp_path: Path) -> None:
    made = with_proc(tmp_path, p12=MAPS)
    made.without("proc/12/numa_maps")
    assert CpusetTree(tmp_path).memory(PATH, [PATH]) is None
    many = "\n".join(str(number) for number in range(1, MAX_PROCESSES + 2))
    made.file(f"{CGROUP}/{PATH}/cgroup.procs", many)
    assert CpusetTree(tmp_path).memory(PATH, [PATH]) is None


@pytest.mark.parametrize("path", ["kubepods/pod2/c1", "../c1", ""])
def test_a_cgroup_that_has_gone_or_is_none_has_no_memory(tmp_path: Path, path: str) -> None:
    tree(tmp_path)
    assert CpusetTree(tmp_path).memory(path) is None


def test_damage_is_told_and_costs_that_account(tmp_path: Path) -> None:
    told: list[str] = []
    tree(tmp_path).file(f"{CGROUP}/{PATH}/memory.numa_stat", "anon 8192")
    assert CpusetTree(tmp_path, warn=told.append).memory(PATH) is None
    assert "where its memory is can't be read" in told[0]


def test_device_files_are_seen_where_processes_hold_them_open(tmp_path: Path) -> None:
    with_proc(tmp_path, p12=MAPS)
    folder = tmp_path / "proc/12/fd"
    folder.mkdir()
    for number, target in enumerate(("/dev/nvidia3", "/dev/nvidiactl", "/etc/x", "socket:[7]")):
        (folder / str(number)).symlink_to(target)
    found = CpusetTree(tmp_path)
    assert found.open_devices(PATH, [PATH]) == {"nvidia3", "nvidiactl"}
    assert found.open_devices(PATH, ["kubepods/gone"]) == frozenset()


def test_a_v1_cgroup_lists_the_gpus_that_it_may_use(tmp_path: Path) -> None:
    made = Tree(tmp_path).cgroup_v1("", "0-7").cgroup_v1(PATH, "0-7")
    listed = "c 195:3 rwm\nc 195:255 rw\nc 195:* m\nc 1:3 rwm\nb 195:4 rwm"
    made.files(f"{CGROUP}/devices/{PATH}", **{"devices.list": listed})
    assert CpusetTree(tmp_path).open_devices(PATH, []) == {"nvidia3"}


def test_without_a_hierarchy_nothing_is_seen_and_nothing_raised(tmp_path: Path) -> None:
    told: list[str] = []
    found = CpusetTree(tmp_path, warn=told.append)
    assert found.memory(PATH) is None
    assert found.open_devices(PATH, [PATH]) == frozenset()
    assert found.quota(PATH) is None
    assert told


def test_an_open_file_that_cannot_be_followed_costs_itself_alone(tmp_path: Path) -> None:
    with_proc(tmp_path, p12=MAPS)
    folder = tmp_path / "proc/12/fd"
    folder.mkdir()
    # No link, as one that was closed after the folder was listed is none.
    for number in (*range(3), *range(10, 20)):
        (folder / str(number)).write_text("")
    for number in range(3, 10):
        (folder / str(number)).symlink_to(f"/dev/nvidia{number}")
    seen = CpusetTree(tmp_path).open_devices(PATH, [PATH])
    assert seen == {f"nvidia{number}" for number in range(3, 10)}
