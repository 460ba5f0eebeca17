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
_SIZE, _LOCATOR, _SPEED, _EXTENDED, _CONFIGURED = 0x0C, 0x10, 0x15, 0x1C, 0x20
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
    return Told(source=source, value=tuple(found))


def parse_dimm(entry: bytes) -> Dimm | None:
    """The module of one type 17 structure, None where the slot is empty or its size unknown.

    Raises ValueError for anything else.
    """
    if len(entry) < 2 or entry[0] != _TYPE or not _SPEED <= entry[1] <= len(entry):
        raise ValueError("not a memory device of SMBIOS")
    formatted = entry[: entry[1]]
    size = _size(formatted)
    if size is None:
        return None
    strings = entry[entry[1] :].split(b"\0")
    number = formatted[_LOCATOR]
    locator = strings[number - 1].decode("ascii", "replace") if 0 < number < len(strings) else ""
    speed = _word(formatted, _CONFIGURED) or _word(formatted, _SPEED)
    known = speed if speed not in (0, 0xFFFF) else None
    return Dimm(locator=locator.strip(), size_bytes=size, speed_mts=known)


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
