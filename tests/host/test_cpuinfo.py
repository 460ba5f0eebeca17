"""Model and vendor of the CPUs, from /proc/cpuinfo."""

from pathlib import Path

import pytest

from numa_agent.core.cpuinfo import CpuInfo, parse
from numa_agent.host.cpuinfo import read_cpu_info
from tests.machine_tree import Tree
from tests.recorded import machine

X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480C
stepping\t: 8
cpu MHz\t\t: 2000.000
cpu cores\t: 56

processor\t: 1
vendor_id\t: Other
model name\t: Another CPU
"""


@pytest.mark.parametrize(
    ("text", "model", "vendor"),
    [
        (X86, "Intel(R) Xeon(R) Platinum 8480C", "GenuineIntel"),
        (
            "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n",
            "POWER9, altivec supported",
            None,
        ),
        (
            "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n",
            None,
            None,
        ),
        ("Model Name\t\t: Loongson-3A5000\n", "Loongson-3A5000", None),
        ("vendor_id       : IBM/S390\n# processors    : 4\n", None, "IBM/S390"),
        ("model name\t: padded  \n", "padded", None),
        ("model name\t:\nvendor_id\t: \ncpu cores\t: 4\n", None, None),
        ("", None, None),
        ("no colon at all\n: \n", None, None),
    ],
)
def test_the_first_cpu_s_lines_tell(text: str, model: str | None, vendor: str | None) -> None:
    assert parse(text) == CpuInfo(model=model, vendor=vendor)


def test_the_machine_s_file_is_read() -> None:
    assert read_cpu_info(machine("two-socket-8gpu")) == CpuInfo(
        model="Intel(R) Xeon(R) Platinum 8480C", vendor="GenuineIntel"
    )


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert read_cpu_info(tmp_path) is None


def test_a_folder_in_its_place_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "proc/cpuinfo").mkdir(parents=True)
    assert read_cpu_info(tmp_path) is None


def test_bytes_that_are_no_text_cost_themselves_alone(tmp_path: Path) -> None:
    root = Tree(tmp_path).raw("proc/cpuinfo", b"vendor_id\t: \xff\xfe\nmodel name\t: X\n").root
    assert read_cpu_info(root) == CpuInfo(model="X", vendor="\ufffd\ufffd")


def test_only_the_beginning_of_a_long_file_is_read(tmp_path: Path) -> None:
    text = "processor\t: 0\nmodel name\t: X\n" + "flags\t: a\n" * 10_000 + "vendor_id\t: Y\n"
    root = Tree(tmp_path).file("proc/cpuinfo", text).root
    assert read_cpu_info(root) == CpuInfo(model="X", vendor=None)
