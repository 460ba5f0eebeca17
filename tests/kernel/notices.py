"""What inotify(7) tells of folders, for tests: which entries were written, made or removed."""

import ctypes
import os
import struct
from pathlib import Path

MODIFY, CLOSE_WRITE, CREATE, DELETE = 0x2, 0x8, 0x100, 0x200
IS_FOLDER = 0x40000000

WORDS = {MODIFY: "written", CLOSE_WRITE: "closed", CREATE: "made", DELETE: "removed"}

_HEADER = struct.Struct("iIII")
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC


class Notices:
    """Watches folders by name; each `read` gives what happened since the one before."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._checked(self._libc.inotify_init1(_NONBLOCK_CLOEXEC))
        self._names: dict[int, str] = {}

    def watch(self, name: str, folder: Path) -> None:
        """Tell of `folder` from now on, under this name. Raises OSError."""
        watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), sum(WORDS))
        self._names[self._checked(watch)] = name

    def read(self) -> list[str]:
        """Sorted lines such as `pod/cpuset.cpus written` and `pod/container/ made`.

        Files that come and go are left out: no watch sees the kernel make those of a group.
        """
        try:
            events = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return []
        lines = set()
        while events:
            watch, mask, _, length = _HEADER.unpack_from(events)
            name = events[_HEADER.size : _HEADER.size + length].rstrip(b"\0").decode()
            events = events[_HEADER.size + length :]
            words = [word for bit, word in WORDS.items() if mask & bit]
            folder = bool(mask & IS_FOLDER)
            if words and folder == bool(mask & (CREATE | DELETE)):
                lines.add(f"{self._names[watch]}/{name}{'/' * folder} {words[0]}")
        return sorted(lines)

    def close(self) -> None:
        """Stop watching."""
        os.close(self._descriptor)

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
