"""Makes an open of a cgroup's file or directory fail in this process, by an audit hook.

The interpreter asks its audit hooks before each open(2), and what a hook raises is what the open
raises: https://docs.python.org/3/library/sys.html#sys.addaudithook. A hook can't be taken back,
so that there is one, which does nothing unless it is armed.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Refusing:
    """The names that were opened below a directory, and which of those opens fails."""

    fails_at: int | None = None
    error: int = 0
    names: list[str] = field(default_factory=list)

    @property
    def happened(self) -> bool:
        return self.fails_at is not None and len(self.names) > self.fails_at

    def ask(self, name: str) -> None:
        """Raises OSError if it is this open's turn."""
        self.names.append(name)
        if len(self.names) - 1 == self.fails_at:
            raise OSError(self.error, os.strerror(self.error), name)


_armed: list[Refusing] = []
_hooked: list[bool] = []


def _hook(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and _armed:
        name = args[0]
        # A cgroup is opened from the one above it, by its name alone.
        if isinstance(name, str) and "/" not in name:
            _armed[-1].ask(name)


@contextmanager
def refusing(fails_at: int | None = None, error: int = 0) -> Iterator[Refusing]:
    """The open with this number, counted from here, fails; without one all are counted."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    _armed.append(Refusing(fails_at, error))
    try:
        yield _armed[-1]
    finally:
        _armed.pop()
