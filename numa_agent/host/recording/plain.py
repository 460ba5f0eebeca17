"""Plain files, whole and within a bound, and why other things aren't read."""

import os
import stat
from pathlib import Path

FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW
"""How a file is opened: a FIFO that takes its place in between doesn't block us."""

_CHUNK = 1 << 16
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a fifo"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class LeftOutError(Exception):
    """Something of the machine can't come into a recording; the message says why, without names.

    `missing` is whether it just isn't there, which is a fact like any other.
    """

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.missing = missing


def check_plain(status: os.stat_result, limit: int) -> None:
    """Raise LeftOutError for what is no regular file, or is larger than a limit of bytes."""
    for is_kind, called in _KINDS:
        if is_kind(status.st_mode):
            raise LeftOutError(f"{called}, not a file")
    if status.st_size > limit:
        raise LeftOutError(f"larger than {limit} bytes")


def read_plain(path: Path, limit: int) -> bytes:
    """A plain file by its path, to which links may lead, at most so many bytes.

    Raises OSError, and LeftOutError for anything else: a folder may be from anybody.
    """
    file = os.open(path, FILE & ~os.O_NOFOLLOW)
    try:
        check_plain(os.fstat(file), limit)
        return read_whole(file, limit)
    finally:
        os.close(file)


def read_whole(file: int, limit: int) -> bytes:
    """All of an open file. Raises LeftOutError for one that turns out larger."""
    data = bytearray()
    while chunk := os.read(file, min(_CHUNK, limit + 1 - len(data))):
        data += chunk
        if len(data) > limit:
            raise LeftOutError(f"larger than {limit} bytes")
    return bytes(data)
