"""The kernel's inotify, as small as it is used.

https://man7.org/linux/man-pages/man7/inotify.7.html
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from inotify_simple import INotify

Raw = tuple[int, int, int, str]
"""inotify's event: watch descriptor, mask, cookie, name."""


class Instance(Protocol):
    """An inotify instance; each call raises OSError as the kernel does."""

    def fileno(self) -> int:
        """Give its file descriptor."""

    def add_watch(self, path: Path, mask: int) -> int:
        """Watch what is at a path; what is watched already keeps its watch descriptor."""

    def rm_watch(self, wd: int) -> None:
        """End a watch."""

    def read(self, timeout: int) -> Iterable[Raw]:
        """Give what is queued after at most `timeout` milliseconds."""

    def close(self) -> None:
        """End all watches."""


def open_instance() -> Instance:
    """The kernel's inotify. Raises OSError: EMFILE when the user has no instance left."""
    instance: Instance = INotify(nonblocking=True)
    return instance
