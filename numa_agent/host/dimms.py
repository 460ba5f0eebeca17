"""Memory modules by firmware: SMBIOS type 17, which the kernel gives to root alone.

https://www.dmtf.org/standards/smbios (DSP0134, 7.18) and
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-firmware-dmi-entries
"""

import os
import re
from pathlib import Path

from numa_agent.config import DMI_DIR
from numa_agent.core.doctor.facts import Dimm
from numa_agent.core.doctor.findings import Told

_ENTRY = re.compile(r"17-(\d{1,4})")
_MOST_ENTRIES = 1024
_LIMIT = 4096
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

_TYPE = 17
_SIZE, _LOCATOR, _KIND, _SPEED, _EXTENDED, _CONFIGURED, _TECHNOLOGY = (
    *(0x0C, 0x10, 0x12, 0x15, 0x1C, 0x20),
    0x28,
)
_KINDS = {
    0x0F: "SDRAM",
    0x12: "DDR",
    0x13: "DDR2",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x22: "DDR5",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x23: "LPDDR5",
    0x20: "HBM",
    0x21: "HBM2",
    0x24: "HBM3",
}
"""Kinds of main memory. Firmware's own flash chips and persistent memory are none of them; a
guest's firmware makes modules up and calls them `RAM`, of whatever sizes add up."""
_DRAM = {0, 1, 2, 3}
"""Technologies of a module that loses what it holds; 0 where an older structure ends before it."""
_UNKNOWN_SIZE, _EXTENDED_SIZE, _IN_KIB = 0xFFFF, 0x7FFF, 0x8000


def read_dimms(host_root: Path, *, absent: str) -> Told[tuple[Dimm, ...]]:
    """The slots that hold a module, in firmware's order."""
    folder = host_root / DMI_DIR
    source = f"{DMI_DIR}/17-*/raw"
    try:
        names = [name for name in os.listdir(folder) if _ENTRY.fullmatch(name)]
    except (FileNotFoundError, NotADirectoryError):
        return Told(source=source, why=absent)
    except OSError as error:
        return Told(source=source, why=f"{error.strerror}")
    if not names:
        return Told(source=source, why="firmware lists no memory slot")
    names.sort(key=lambda name: int(name.removeprefix("17-")))
    found = []
    for name in names[:_MOST_ENTRIES]:
        try:
            dimm = parse_dimm(_bytes(folder / name / "raw"))
        except OSError as error:
            return Told(source=source, why=f"{error.strerror}")
        except ValueError as error:
            return Told(source=source, why=f"{name}: {error}")
        if dimm is not None:
            found.append(dimm)
    if not found:
        return Told(source=source, why="firmware tells of no module what kind of memory it is")
    return Told(source=source, value=tuple(found))


def parse_dimm(entry: bytes) -> Dimm | None:
    """The module of main memory of one type 17 structure, None where it is none or isn't told.

    Raises ValueError for anything else.
    """
    if len(entry) < 2 or entry[0] != _TYPE or not _SPEED <= entry[1] <= len(entry):
        raise ValueError("not a memory device of SMBIOS")
    formatted = entry[: entry[1]]
    size, kind = _size(formatted), _KINDS.get(formatted[_KIND])
    technology = formatted[_TECHNOLOGY] if len(formatted) > _TECHNOLOGY else 0
    if size is None or kind is None or technology not in _DRAM:
        return None
    strings = entry[entry[1] :].split(b"\0")
    number = formatted[_LOCATOR]
    locator = strings[number - 1].decode("ascii", "replace") if 0 < number < len(strings) else ""
    speed = _word(formatted, _CONFIGURED) or _word(formatted, _SPEED)
    known = speed if speed not in (0, 0xFFFF) else None
    return Dimm(locator=locator.strip(), kind=kind, size_bytes=size, speed_mts=known)


def _size(entry: bytes) -> int | None:
    size = _word(entry, _SIZE)
    if size in (0, _UNKNOWN_SIZE):
        return None
    if size == _EXTENDED_SIZE:
        mebibytes = int.from_bytes(entry[_EXTENDED : _EXTENDED + 4], "little") & 0x7FFFFFFF
        return mebibytes << 20 or None
    return (size & ~_IN_KIB) << 10 if size & _IN_KIB else size << 20


def _word(entry: bytes, offset: int) -> int:
    """A 16-bit number, 0 where the structure of an older version ends before it."""
    return int.from_bytes(entry[offset : offset + 2], "little")


def _bytes(path: Path) -> bytes:
    descriptor = os.open(path, _FLAGS)
    try:
        return os.read(descriptor, _LIMIT)
    finally:
        os.close(descriptor)
