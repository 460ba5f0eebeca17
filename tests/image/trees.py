"""Small trees and libraries to try the steps on."""

import struct
from pathlib import Path


def elf_bytes(machine: int = 62, *, needed: tuple[str, ...] = (), runpath: str = "") -> bytes:
    """A library of nothing but its dynamic section."""
    names = [*needed, runpath]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    starts = [1 + sum(len(name) + 1 for name in names[:number]) for number in range(len(names))]
    entries = [(1, start) for start in starts[:-1]] + ([(29, starts[-1])] if runpath else [])
    head, programs = 64, 2 * 56
    place = head + programs + len(strings)
    dynamic = b"".join(
        struct.pack("<qQ", *one) for one in [*entries, (5, head + programs), (0, 0)]
    )
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, head, 0, 0, head, 56, 2, 0, 0, 0
    )
    size = place + len(dynamic)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    section = struct.pack("<IIQQQQQQ", 2, 6, place, place, place, len(dynamic), len(dynamic), 8)
    return header + load + section + strings + dynamic


def write(path: Path, content: bytes | str = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
