"""Processes that a command has started and left behind when it was ended.

While a command runs, this process adopts the orphans among what it started
(PR_SET_CHILD_SUBREAPER, https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html),
so that they are known by their parent.
"""

import math
import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from numa_agent.config import OWN_PROC
from numa_agent.host.measuring.calls import LIBC

_SET_CHILD_SUBREAPER = 36
_PAUSE = 0.02


def adopt(*, orphans: bool) -> None:
    """Have orphans become this process's children from now on, or not any more."""
    # Where there is no such call they are somebody else's as ever.
    LIBC.prctl(_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def children() -> frozenset[int]:
    """The processes whose parent is this one."""
    own = os.getpid()
    with suppress(OSError):
        found = [name for name in os.listdir(OWN_PROC) if name.isdecimal()]
        return frozenset(int(name) for name in found if _parent(name) == own)
    return frozenset()


def end_children(others: Collection[int], grace: float) -> None:
    """End all children but those, and what becomes a child when its own parent ends.

    Each gets SIGTERM, SIGKILL after so many seconds, and is left after as many more.
    """
    told: set[int] = set()
    late = time.monotonic() + grace
    end = math.inf
    while left := children().difference(others):
        now = time.monotonic()
        if now > end:
            return
        if now > late:
            # Counted from the first kill on: this process may have stood still until now.
            end = min(end, now + grace)
        for child in left:
            if now > late or child not in told:
                told.add(child)
                _send(child, signal.SIGKILL if now > late else signal.SIGTERM)
            with suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        time.sleep(_PAUSE)


def _send(process: int, number: int) -> None:
    # A child's number is its own until we have waited for it.
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _parent(process: str) -> int | None:
    """A process's parent by proc_pid_stat(5), None for one that has ended."""
    try:
        text = Path(OWN_PROC, process, "stat").read_text(encoding="ascii", errors="replace")
        # The name before may hold anything.
        return int(text.rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
