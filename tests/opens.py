"""Which files of a folder are opened meanwhile, as the kernel tells: inotify(7)."""

import ctypes
import os
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_IN_CLOSE_NOWRITE, _IN_OPEN, _IN_ISDIR, _OVERFLOW = 0x10, 0x20, 0x40000000, 0x4000
_EVENT = struct.Struct("iIII")


@contextmanager
def counted_opens(root: Path) -> Iterator[Counter[str]]:
    """How often each file below a folder was opened, by its path; filled when the block ends."""
    opens: Counter[str] = Counter()
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if queue < 0:
        pytest.skip(f"no inotify: {os.strerror(ctypes.get_errno())}")
    folders: dict[int, str] = {}
    try:
        for folder, _, _ in os.walk(root):
            # Closing is watched too: without it between, equal events in a row become one.
            mask = _IN_OPEN | _IN_CLOSE_NOWRITE
            watch = libc.inotify_add_watch(queue, os.fsencode(folder), mask)
            assert watch > 0, os.strerror(ctypes.get_errno())
            folders[watch] = os.path.relpath(folder, root)
        yield opens
        opens.update(_opened(queue, folders))
    finally:
        os.close(queue)


def _opened(queue: int, folders: dict[int, str]) -> Iterator[str]:
    while True:
        try:
            events = os.read(queue, 1 << 20)
        except BlockingIOError:
            return
        position = 0
        while position < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, position)
            position += _EVENT.size + length
            assert not mask & _OVERFLOW, "more was opened than the kernel's queue holds"
            name = os.fsdecode(events[position - length : position].rstrip(b"\0"))
            if mask & _IN_OPEN and not mask & _IN_ISDIR:
                yield os.path.normpath(f"{folders[watch]}/{name}")
