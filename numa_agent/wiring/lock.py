"""One agent per node: who holds the lock file runs, and a second one is refused.

The lock ends with its process, however that ends: https://man7.org/linux/man-pages/man2/flock.2.html
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from numa_agent.core.errors import SourceError

_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN)


class TakenError(SourceError):
    """Another process has the lock."""


@contextmanager
def only_one(file: Path) -> Iterator[None]:
    """Hold the node's lock. Raises TakenError where another process has it, else SourceError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise SourceError(
            f"lock {file}: {error.strerror}; it keeps a second agent off this node: mount its"
            " folder writable, or set lockFile"
        ) from error
    try:
        _lock(held, file)
        _sign(held)
        yield
    finally:
        os.close(held)


def _sign(held: int) -> None:
    """Write down who holds it, which a full disk doesn't take; the lock holds without it."""
    with suppress(OSError):
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)


def _lock(held: int, file: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise SourceError(
                f"lock {file}: {error.strerror}; set lockFile to a local disk"
            ) from error
        holder = os.pread(held, 20, 0).decode(errors="replace").strip() or "unknown"
        raise TakenError(
            f"another numa-agent runs on this node and holds {file} (pid {holder} where it runs):"
            " end that one first; two would fight over the same cgroups"
        ) from None
