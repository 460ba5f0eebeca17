"""The recording's one file: a tar, written as it is read.

pax(1). Times, owners and the machine's own modes aren't in it.
"""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from numa_agent.core.recording.manifest import LeftOut, Recorded

_BLOCK = 512
_TOP = "recorded-machine"
_FOR_MANIFEST = 1 << 18
"""Bytes kept free for the manifest's other lines."""
LEAST = 1 << 20
"""The least limit that makes sense, in bytes."""
_SHORT = 80
"""Letters of a name that is in the tar's own header for sure."""


@contextmanager
def archived(stream: BinaryIO, limit: int) -> Iterator["Archive"]:
    """An archive that is written into a stream, whole when the block ends."""
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        yield Archive(tar, limit)


class Archive:
    """Takes files, links and directories, each once, up to a limit of bytes when unpacked."""

    def __init__(self, tar: tarfile.TarFile, limit: int) -> None:
        self._tar = tar
        self._left = limit - _FOR_MANIFEST
        self._seen: set[str] = set()
        self.recorded: list[Recorded] = []
        self.left_out: list[LeftOut] = []

    def file(self, path: str, data: bytes, rule: str) -> None:
        """Add a file, unless it is over the limit: then it is left out."""
        if self._takes(path, len(data), rule):
            self._add(path, tarfile.REGTYPE, data)

    def folder(self, path: str) -> None:
        """Add a directory."""
        if self._takes(path, 0, "directory"):
            self._add(path, tarfile.DIRTYPE)

    def link(self, path: str, target: str) -> None:
        """Add a link."""
        if self._takes(path, 0, "link", target):
            self._add(path, tarfile.SYMTYPE, target=target)

    def leave_out(self, path: str, why: str) -> None:
        """Say that something isn't in it."""
        self.left_out.append(LeftOut(path, why))

    def end(self, name: str, text: str) -> None:
        """Add the last file, for which there is room."""
        self._add(name, tarfile.REGTYPE, text.encode("utf-8", "backslashreplace"))

    def _takes(self, path: str, size: int, rule: str, target: str = "") -> bool:
        if path in self._seen:
            return False
        self._seen.add(path)
        # A long name takes blocks of its own, and each is named in the manifest too.
        named = len(path.encode("utf-8", "backslashreplace")) + len(rule) + 16
        is_short = max(named, len(target)) < _SHORT and path.isascii() and target.isascii()
        header = _BLOCK * (1 if is_short else 4 + 2 * (named + len(target)) // _BLOCK)
        cost = header + -(-size // _BLOCK) * _BLOCK + named
        if cost > self._left:
            self.leave_out(path, "over the limit of --limit")
            return False
        self._left -= cost
        self.recorded.append(Recorded(path, size, rule))
        return True

    def _add(self, path: str, kind: bytes, data: bytes = b"", target: str = "") -> None:
        info = tarfile.TarInfo(f"{_TOP}/{path}")
        info.type, info.size, info.linkname = kind, len(data), target
        info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
        self._tar.addfile(info, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
