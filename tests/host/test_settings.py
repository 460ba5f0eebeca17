"""A machine's settings from its files: each is told, or why it isn't."""

import os
from pathlib import Path

import pytest

from numa_agent.core.doctor.facts import KernelFacts
from numa_agent.host.settings import read_settings
from tests.machine_tree import Tree, cpus

ABSENT = "not recorded"


def read(root: Path, *, online: str = "0-3", whole: bool = False) -> KernelFacts:
    return read_settings(root, cpus(online), absent=ABSENT, whole=whole)


def test_every_setting_is_told_with_the_file_that_it_is_in(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.file("proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet isolcpus=2-3")
    tree.file("proc/sys/kernel/numa_balancing", "1")
    tree.file("proc/sys/vm/zone_reclaim_mode", "0")
    tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    tree.file("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never")
    tree.file("proc/meminfo", "MemTotal: 9 kB\nSwapTotal: 4 kB")
    tree.file("sys/devices/system/cpu/nohz_full", "(null)")
    tree.file("sys/devices/system/node/has_normal_memory", "0-1")
    tree.raw("etc/tuned/active_profile", b"cpu-partitioning")
    for cpu in range(4):
        folder = f"sys/devices/system/cpu/cpu{cpu}/cpufreq"
        tree.file(f"{folder}/scaling_governor", "performance" if cpu < 3 else "powersave")
        tree.file(f"{folder}/scaling_driver", "intel_pstate")
    found = read(tmp_path)
    assert found.command_line.value == ("BOOT_IMAGE=/vmlinuz", "quiet", "isolcpus=2-3")
    assert found.numa_balancing.value == 1
    assert found.numa_balancing.source == "proc/sys/kernel/numa_balancing"
    assert found.zone_reclaim.value == 0
    assert found.huge_pages.value == "madvise"
    assert found.huge_page_defrag.value == "always"
    assert found.swap_bytes.value == 4096
    assert found.nohz_full.value == frozenset()
    assert found.normal_memory.value == cpus("0-1")
    assert found.tuned_profile.value == "cpu-partitioning"
    assert found.governors.value == {"performance": cpus("0-2"), "powersave": cpus("3")}
    assert found.cpu_driver.value == "intel_pstate"


def test_what_isn_t_there_says_so(tmp_path: Path) -> None:
    found = read(tmp_path)
    for name in KernelFacts.__dataclass_fields__:
        told = getattr(found, name)
        assert told.value is None, name
        assert told.why == ABSENT, name


@pytest.mark.parametrize(
    ("path", "data", "name", "why"),
    [
        ("proc/sys/kernel/numa_balancing", b"on\n", "numa_balancing", "not a number: 'on'"),
        ("proc/sys/kernel/numa_balancing", b"1", "numa_balancing", "cut short"),
        ("proc/sys/vm/zone_reclaim_mode", b"\xff\n", "zone_reclaim", "isn't text"),
        ("proc/sys/vm/zone_reclaim_mode", b"", "zone_reclaim", "empty"),
        ("sys/devices/system/cpu/nohz_full", b"7-2\n", "nohz_full", "reversed range"),
        ("sys/devices/system/cpu/nohz_full", b"0-999999999\n", "nohz_full", "more than 65535"),
        ("proc/meminfo", b"MemTotal: 9 kB\n", "swap_bytes", "no line gives SwapTotal"),
        ("proc/cmdline", b"x" * 70_000 + b"\n", "command_line", "longer than"),
        ("sys/kernel/mm/transparent_hugepage/enabled", b"never\n", "huge_pages", "no choice"),
    ],
)
def test_a_damaged_file_costs_its_own_setting(
    path: str, data: bytes, name: str, why: str, tmp_path: Path
) -> None:
    tree = Tree(tmp_path).raw(path, data).file("proc/sys/kernel/random/x", "")
    tree.file("sys/kernel/mm/transparent_hugepage/defrag", "[never]")
    found = read(tmp_path)
    told = getattr(found, name)
    assert told.value is None
    assert why in told.why
    assert found.huge_page_defrag.value == "never"


def test_a_fifo_a_folder_and_a_loop_of_links_block_nothing(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    os.mkfifo(tmp_path / "proc/sys/kernel/numa_balancing")
    (tmp_path / "proc/cmdline").mkdir()
    (tmp_path / "proc/meminfo").symlink_to("meminfo")
    found = read(tmp_path)
    assert found.numa_balancing.value is None
    assert found.command_line.why.startswith("Is a directory")
    assert "symbolic links" in found.swap_bytes.why


def test_a_cpu_without_a_governor_is_left_out(tmp_path: Path) -> None:
    Tree(tmp_path).file("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance")
    assert read(tmp_path).governors.value == {"performance": cpus("1")}


def test_this_machine_s_own_settings_are_read() -> None:
    found = read_settings(Path("/"), cpus("0"), absent=ABSENT, whole=True)
    assert found.command_line.value
    assert found.services.value is not None
