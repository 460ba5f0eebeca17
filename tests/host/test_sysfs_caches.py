"""Caches and kinds of CPUs from small trees."""

from pathlib import Path

import pytest

from numa_agent.core.topology import Cache, CpuKind
from tests.machine_tree import CPU, Tree, codes, cpus, lone_cpus


def test_the_last_level_of_cache_is_read_once_for_all_that_share_it(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3")
    for number in range(4):
        pair = ("0-1", "2-3")[number // 2]
        tree.cache(number, 0, level="1", shared_cpu_list=str(number), size="48K")
        tree.cache(number, 3, level="3", shared_cpu_list=pair, size=("32M", "32768K")[number // 2])
        tree.cache(number, 2, level="2", shared_cpu_list=str(number), size="2M")
    assert tree.topology().caches == (
        Cache(level=3, cpus=cpus("0-1"), size_bytes=32 << 20),
        Cache(level=3, cpus=cpus("2-3"), size_bytes=32 << 20),
    )


def test_a_cache_without_a_size_keeps_its_cpus_and_one_by_mask_counts(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").cache(0, 0, level="2", shared_cpu_map="3", size="big")
    topology = tree.topology()
    assert topology.caches == (Cache(level=2, cpus=cpus("0-1"), size_bytes=None),)
    assert codes(topology) == ["damaged-file"]


@pytest.mark.parametrize(
    ("size", "in_bytes"), [("512", 512), ("48K", 49152), ("3M", 3 << 20), ("1G", 1 << 30)]
)
def test_a_cache_s_size_is_in_bytes(size: str, in_bytes: int, tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0").cache(0, 0, level="1", shared_cpu_list="0", size=size)
    assert tree.topology().caches == (Cache(level=1, cpus=cpus("0"), size_bytes=in_bytes),)


def test_a_cache_without_a_level_may_be_the_last_so_none_is_known(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").cache(0, 2, level="2", shared_cpu_list="0", size="1M")
    tree.cache(1, 2, level="2", shared_cpu_list="1", size="1M")
    topology = tree.cache(0, 3, shared_cpu_list="0-1", size="9M").topology()
    assert topology.caches == (Cache(level=2, cpus=cpus("1"), size_bytes=1 << 20),)
    assert codes(topology) == ["cache-unknown"]


def test_only_a_folder_named_index_is_a_cache(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0").cache(0, 0, level="1", shared_cpu_list="0", size="1K")
    tree.files(f"{CPU}/cpu0/cache/other", level="8", shared_cpu_list="0")
    assert tree.topology().caches == (Cache(level=1, cpus=cpus("0"), size_bytes=1024),)


def test_a_cache_that_its_cpu_isn_t_of_is_none(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1").cache(0, 3, level="3", shared_cpu_list="1", size="1M")
    assert tree.topology().caches == ()


def test_hybrid_cpus_are_of_the_kinds_that_their_pmus_name(tmp_path: Path) -> None:
    # Case 32: cores of two threads and of one; nothing is an average.
    tree = Tree(tmp_path).cpu_lists(online="0-5")
    for number in range(6):
        core = "0-1" if number < 2 else "2-3" if number < 4 else f"{number}"
        tree.cpu(number, core_cpus_list=core, package_cpus_list="0-5")
    tree.file("sys/devices/cpu_core/cpus", "0-3").file("sys/devices/cpu_atom/cpus", "4-7")
    tree.file("sys/devices/cpu_lowpower/cpus", "6-7")
    topology = tree.topology()
    assert topology.cores == (cpus("0-1"), cpus("2-3"), cpus("4"), cpus("5"))
    assert topology.cpu_kinds == (
        CpuKind(name="core", cpus=cpus("0-3"), capacity=None),
        CpuKind(name="atom", cpus=cpus("4-5"), capacity=None),
    )


def test_a_cpu_of_two_hybrid_kinds_leaves_the_kinds_unknown(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3").file("sys/devices/cpu_core/cpus", "0-2")
    topology = tree.file("sys/devices/cpu_atom/cpus", "2-3").topology()
    assert topology.cpu_kinds == ()
    assert [w.subject for w in topology.warnings if w.code == "kinds-disagree"] == ["cpu2"]


def test_cpus_of_several_capacities_are_kinds_the_fastest_first(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-3")
    for number, capacity in enumerate((446, 1024, 446, 871)):
        tree.file(f"{CPU}/cpu{number}/cpu_capacity", str(capacity))
    assert tree.topology().cpu_kinds == (
        CpuKind(name="capacity-1024", cpus=cpus("1"), capacity=1024),
        CpuKind(name="capacity-871", cpus=cpus("3"), capacity=871),
        CpuKind(name="capacity-446", cpus=cpus("0,2"), capacity=446),
    )


def test_a_capacity_that_can_t_be_read_costs_that_cpu_its_kind(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-2")
    for number, capacity in enumerate(("512", "1024", "-1")):
        tree.file(f"{CPU}/cpu{number}/cpu_capacity", capacity)
    assert [(kind.name, kind.cpus) for kind in tree.topology().cpu_kinds] == [
        ("capacity-1024", cpus("1")),
        ("capacity-512", cpus("0")),
    ]


def test_cpus_of_one_capacity_are_of_no_kind(tmp_path: Path) -> None:
    tree = lone_cpus(tmp_path, "0-1")
    for number in (0, 1):
        tree.file(f"{CPU}/cpu{number}/cpu_capacity", "1024")
    assert tree.topology().cpu_kinds == ()
