"""A folder that is a machine's root, of which no link leads out and nothing but files is read.

openat(2), path_resolution(7). A live machine's own root is "/", where a link from the root stays
in it; anywhere else such a link is for another root, and isn't followed.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from numa_agent.host.recording.plain import FILE, LeftOutError, check_plain, read_whole

Parts = tuple[str, ...]
"""A path below the root, name by name."""

MOST_NAMES = 1 << 16
"""Names looked at in one directory."""

_MOST_LINKS = 40
_MOST_DEEP = 128  # the longest chain of bridges has a few dozens
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | _SAFE

_GONE = {errno.ENOENT, errno.ENODEV, errno.ESRCH}


class Tree:
    """The machine's root, open. Each method raises LeftOutError."""

    def __init__(self, root: Path, *, deadline: float = float("inf")) -> None:
        """Open the root. After `deadline`, by time.monotonic, nothing is read any more.

        Raises OSError.
        """
        self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._whole = os.path.realpath(root) == "/"
        self._deadline = deadline
        self._last: tuple[Parts, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._forget()
        os.close(self._fd)

    def resolve(self, path: str | Parts) -> Parts:
        """Where a path leads once every link in it has been followed."""
        left = list(reversed(path.split("/") if isinstance(path, str) else path))
        found: list[str] = []
        links = 0
        while left:
            name = left.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                self._up(found)
                continue
            if len(found) == _MOST_DEEP:
                raise LeftOutError(f"over {_MOST_DEEP} names deep")
            target = self._target((*found, name))
            if target is None:
                found.append(name)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise LeftOutError("a loop of links")
            if target.startswith("/"):
                if not self._whole:
                    raise LeftOutError("a link that leads out of the root")
                found = []
            left += reversed(target.split("/"))
        return tuple(found)

    def link(self, parts: Parts) -> str:
        """Where a link points."""
        with _reasons(), self._folder(parts[:-1]) as fd:
            return os.readlink(parts[-1], dir_fd=fd)

    def names(self, parts: Parts) -> tuple[list[str], bool]:
        """The names in a directory, ascending, and whether that is all of them."""
        self._check_time()
        found: list[str] = []
        with _reasons(), self._folder(parts) as fd, os.scandir(fd) as entries:
            for entry in entries:
                if len(found) == MOST_NAMES:
                    return sorted(found), False
                found.append(entry.name)
        return sorted(found), True

    def mode(self, parts: Parts) -> int:
        """What kind of thing it is, and its permissions."""
        with _reasons(), self._folder(parts[:-1]) as fd:
            return os.stat(parts[-1], dir_fd=fd, follow_symlinks=False).st_mode

    def is_folder(self, parts: Parts) -> bool:
        """Whether there is a directory, which is no link."""
        try:
            return not parts or stat.S_ISDIR(self.mode(parts))
        except LeftOutError:
            return False

    def is_link(self, parts: Parts) -> bool:
        """Whether there is a link."""
        try:
            return stat.S_ISLNK(self.mode(parts))
        except LeftOutError:
            return False

    def exists(self, parts: Parts) -> bool:
        """Whether there is anything, readable or not."""
        try:
            self.mode(parts)
        except LeftOutError as error:
            return not error.missing
        return True

    def read(self, parts: Parts, limit: int) -> bytes:
        """A regular file's bytes, at most `limit` of them."""
        self._check_time()
        with _reasons(), self._folder(parts[:-1]) as fd:
            status = os.stat(parts[-1], dir_fd=fd, follow_symlinks=False)
            check_plain(status, limit)
            file = os.open(parts[-1], FILE, dir_fd=fd)
            try:
                check_plain(os.fstat(file), limit)
                return read_whole(file, limit)
            finally:
                os.close(file)

    def _up(self, found: list[str]) -> None:
        if found:
            found.pop()
        elif not self._whole:
            raise LeftOutError("a link that leads out of the root")

    def _target(self, parts: Parts) -> str | None:
        """Where a link points, None where it isn't one."""
        with _reasons(), self._folder(parts[:-1]) as fd:
            if not stat.S_ISLNK(os.stat(parts[-1], dir_fd=fd, follow_symlinks=False).st_mode):
                return None
            return os.readlink(parts[-1], dir_fd=fd)

    @contextmanager
    def _folder(self, parts: Parts) -> Iterator[int]:
        """A directory's descriptor, open until another directory is asked for."""
        if not parts:
            yield self._fd
            return
        if self._last is None or self._last[0] != parts:
            fd = self._opened(parts)
            self._forget()
            self._last = parts, fd
        yield self._last[1]

    def _opened(self, parts: Parts) -> int:
        start, left = self._fd, parts
        if self._last is not None and parts[: len(self._last[0])] == self._last[0]:
            start, left = self._last[1], parts[len(self._last[0]) :]
        fd = start
        for name in left:
            try:
                below = os.open(name, _DIRECTORY, dir_fd=fd)
            finally:
                if fd != start:
                    os.close(fd)
            fd = below
        return fd

    def _forget(self) -> None:
        if self._last is not None:
            os.close(self._last[1])
            self._last = None

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise LeftOutError("the time was up")


@contextmanager
def _reasons() -> Iterator[None]:
    """Say an errno in words, without the path."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        raise LeftOutError(os.strerror(number).lower(), missing=number in _GONE) from error
    except ValueError as error:  # a NUL in a name
        raise LeftOutError("no name that a file can have") from error
