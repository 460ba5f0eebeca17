"""What a program or shared library says that it needs.

Format: https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html (64 bits, little-endian,
which all processors that we make images for are).
"""

import struct
from dataclasses import dataclass
from pathlib import Path

# e_machine -> (the image's architecture, Debian's folder of its libraries)
MACHINES = {62: ("amd64", "x86_64-linux-gnu"), 183: ("arm64", "aarch64-linux-gnu")}

_MAGIC = b"\x7fELF\x02\x01"
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE, _RPATH, _RUNPATH = 1, 5, 15, 29


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """One file: its processor (`e_machine`), loader, needed names and own search folders."""

    machine: int
    loader: str | None
    needed: tuple[str, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def read_elf(path: Path) -> Elf | None:
    """Return what the file needs, None where it is no ELF file. Raises ValueError if broken."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
        file.seek(0)
        data = file.read()
    try:
        return _parse(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is a broken ELF file: {error}") from error


def _parse(data: bytes) -> Elf:
    (machine,) = struct.unpack_from("<H", data, 18)
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [_segment(data, table + size * number) for number in range(count)]
    loader = None
    entries: list[tuple[int, int]] = []
    for segment in segments:
        content = data[segment.offset : segment.offset + segment.size]
        if segment.kind == _INTERPRETER:
            loader = content.rstrip(b"\0").decode()
        if segment.kind == _DYNAMIC:
            whole = content[: len(content) // 16 * 16]
            entries = list(struct.iter_unpack("<qQ", whole))
    strings = next((value for tag, value in entries if tag == _STRING_TABLE), 0)
    start = _offset(segments, strings)

    def texts(*tags: int) -> tuple[str, ...]:
        places = [start + value for tag, value in entries if tag in tags]
        return tuple(data[place : data.index(b"\0", place)].decode() for place in places)

    folders = tuple(one for text in texts(_RPATH, _RUNPATH) for one in text.split(":") if one)
    return Elf(machine=machine, loader=loader, needed=texts(_NEEDED), folders=folders)


def _segment(data: bytes, place: int) -> _Segment:
    kind, _flags, offset, address, _physical, size = struct.unpack_from("<IIQQQQ", data, place)
    return _Segment(kind, offset, address, size)


def _offset(segments: list[_Segment], address: int) -> int:
    """Where in the file the byte of this address stands."""
    for one in segments:
        if one.kind == _LOAD and one.address <= address < one.address + one.size:
            return one.offset + address - one.address
    return address
