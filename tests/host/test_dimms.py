"""Memory modules from SMBIOS structures, as the kernel gives them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from numa_agent.core.doctor.facts import Dimm
from numa_agent.host.dimms import parse_dimm, read_dimms
from tests.machine_tree import Tree

GIB = 2**30


def module(
    size: int = 0x7FFF,
    *,
    extended: int = 32768,
    speed: int = 4800,
    length: int = 0x28,
    kind: int = 0x22,
    technology: int = 3,
) -> bytes:
    """A type 17 structure with its strings; sizes in MiB."""
    entry = bytearray(max(length, 0x28))
    entry[0], entry[1] = 17, length
    entry[0x0C:0x0E] = size.to_bytes(2, "little")
    entry[0x10], entry[0x11], entry[0x12] = 2, 1, kind
    if length > 0x28:
        entry[0x28] = technology
    entry[0x15:0x17] = (5600).to_bytes(2, "little")
    entry[0x1C:0x20] = extended.to_bytes(4, "little")
    entry[0x20:0x22] = speed.to_bytes(2, "little")
    return bytes(entry[:length]) + b"BANK 0\0CPU1_DIMM_A1 \0\0"


def test_a_module_has_its_slot_s_name_its_size_and_the_speed_that_it_runs_at() -> None:
    assert parse_dimm(module()) == Dimm(
        locator="CPU1_DIMM_A1", kind="DDR5", size_bytes=32 * GIB, speed_mts=4800
    )


@pytest.mark.parametrize(
    ("size", "found"),
    [(16384, 16 * GIB), (0x8000 | 512, 512 * 2**10), (0x7FFF, 32 * GIB)],
)
def test_a_size_is_in_mebibytes_in_kibibytes_or_in_a_wider_field(size: int, found: int) -> None:
    dimm = parse_dimm(module(size))
    assert dimm is not None
    assert dimm.size_bytes == found


@pytest.mark.parametrize("size", [0, 0xFFFF])
def test_an_empty_slot_has_no_module(size: int) -> None:
    assert parse_dimm(module(size)) is None


def test_older_structures_end_before_the_speed_that_it_runs_at() -> None:
    dimm = parse_dimm(module(16384, length=0x1B))
    assert dimm is not None
    assert dimm.speed_mts == 5600


@pytest.mark.parametrize(
    "entry", [b"", b"\x11", b"\x01" + module()[1:], module()[:20], bytes([17, 0x15 - 1]) * 40]
)
def test_anything_else_is_refused(entry: bytes) -> None:
    with pytest.raises(ValueError, match="not a memory device"):
        parse_dimm(entry)


@given(some.binary(max_size=200))
def test_any_bytes_are_read_or_refused(entry: bytes) -> None:
    try:
        parse_dimm(entry)
    except ValueError:
        return


def test_slots_are_read_in_firmware_s_order_and_empty_ones_left_out(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for number, size in enumerate([16384] * 10 + [0, 8192]):
        tree.raw(f"sys/firmware/dmi/entries/17-{number}/raw", module(size))
    tree.raw("sys/firmware/dmi/entries/4-0/raw", b"a processor")
    found = read_dimms(tmp_path, absent="not recorded").value
    assert found is not None
    assert [dimm.size_bytes // GIB for dimm in found] == [16] * 10 + [8]


def test_what_can_t_be_read_is_said(tmp_path: Path) -> None:
    assert read_dimms(tmp_path, absent="not recorded").why == "not recorded"
    folder = tmp_path / "sys/firmware/dmi/entries/17-0"
    folder.parent.mkdir(parents=True)
    assert read_dimms(tmp_path, absent="").why == "firmware lists no memory slot"
    folder.mkdir()
    assert read_dimms(tmp_path, absent="").why == "No such file or directory"
    (folder / "raw").write_bytes(b"?")
    assert read_dimms(tmp_path, absent="").why.startswith("17-0: not a memory device")
    (folder / "raw").unlink()
    os.mkfifo(folder / "raw")
    assert read_dimms(tmp_path, absent="").why.startswith("17-0: ")


@pytest.mark.parametrize(
    ("kind", "technology"),
    [
        (0x09, 3),  # the chip that firmware itself is in
        (0x1F, 7),  # persistent memory
        (0x1A, 4),  # a DDR4 module with a battery
        (0x07, 3),  # "RAM", as QEMU says
        (0x03, 2),  # "DRAM", as other hypervisors say
        (0x02, 2),  # unknown
    ],
)
def test_what_isn_t_a_module_of_main_memory_is_none(
    kind: int, technology: int, tmp_path: Path
) -> None:
    entry = module(kind=kind, technology=technology, length=0x54)
    assert parse_dimm(entry) is None
    Tree(tmp_path).raw("sys/firmware/dmi/entries/17-0/raw", entry)
    found = read_dimms(tmp_path, absent="not recorded")
    assert (found.value, "what kind" in found.why) == (None, True)


def test_an_older_structure_doesn_t_tell_its_technology() -> None:
    dimm = parse_dimm(module(kind=0x1A, length=0x28))
    assert dimm is not None
    assert dimm.kind == "DDR4"
