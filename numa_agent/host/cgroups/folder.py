"""Open directories of a cgroup hierarchy, walked name by name without following a link.

The kernel's own cgroup file systems hold no links: one can only be planted in a folder that looks
like a machine. Directories are held open, so that what is read belongs to one cgroup, be it
removed meanwhile or made anew. openat(2).
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups.errors import HINTS, CgroupError, GoneError, refused

# A FIFO in place of a file must not block us, and nothing we open may reach a child process.
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_READ = os.O_RDONLY | _SAFE
# No O_CREAT: it would turn "the cgroup has gone" into a permission error.
_WRITE = os.O_WRONLY | _SAFE
_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY

MAX_ENTRIES = 4096
"""Entries looked at in one directory; a cgroup's own files are less than a hundred of them."""

_LINKS_OF_A_LEAF = 2

GONE = {errno.ENOENT, errno.ENODEV, errno.ESRCH}
"""What the kernel says of a cgroup or task that has been removed before or after it was opened."""

Warn = Callable[[str], None]
"""Takes a sentence about something that was left out, and names it."""


class Folder:
    """One open cgroup directory; `parts` are the names that lead to it from the mount.

    Each method opens, reads and closes once; nothing but the directory itself stays open.
    """

    __slots__ = ("_fd", "parts")

    def __init__(self, fd: int, parts: tuple[str, ...]) -> None:
        """Take an open descriptor, which is closed at exit."""
        self._fd = fd
        self.parts = parts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    @property
    def path(self) -> str:
        """Its path below the mount, "" for the mount itself."""
        return "/".join(self.parts)

    def of(self, name: str) -> str:
        """The path of a name in it, as messages show it."""
        return shown("/".join((*self.parts, name)))

    def __str__(self) -> str:
        return shown(self.path) or "the hierarchy's root"

    def below(self, name: str) -> "Folder":
        """A directory in it. Raises OSError, for a link too."""
        fd = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=self._fd)
        return Folder(fd, (*self.parts, name))

    def directories(self, warn: Warn) -> list[str]:
        """The names of the directories in it, sorted; links and what is past the bound are not.

        A directory that has been removed has none.
        """
        names: list[str] = []
        try:
            if self._is_leaf():
                return names
            with os.scandir(self._fd) as entries:
                for count, entry in enumerate(entries):
                    if count == MAX_ENTRIES:
                        warn(f"{self}: over {MAX_ENTRIES} entries; the rest is left out")
                        break
                    if entry.is_dir(follow_symlinks=False):
                        names.append(entry.name)
                    elif entry.is_symlink():
                        warn(f"{self.of(entry.name)}: a link, which is never followed")
        except OSError as error:
            if error.errno not in GONE:
                warn(f"{self}: {error.strerror}; what is in it is left out")
        return sorted(names)

    def _is_leaf(self) -> bool:
        """Whether the kernel's own count says so: a cgroup has up to a hundred files to list.

        A directory of kernfs has size 0 and a link for each directory in it besides its own two
        (kernfs_refresh_inode in fs/kernfs/inode.c); one on a disk has another size.
        """
        status = os.fstat(self._fd)
        return status.st_size == 0 and status.st_nlink == _LINKS_OF_A_LEAF

    def has(self, name: str) -> bool:
        """Whether there still is anything of this name in it."""
        try:
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def holds(self, folder: "Folder") -> bool:
        """Whether a directory opened in it still is there, and wasn't made anew."""
        try:
            status = os.stat(folder.parts[-1], dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == folder.identity()

    def read(self, name: str, limit: int) -> bytes:
        """A file's content, at most `limit` bytes of it. Raises OSError."""
        fd = os.open(name, _READ, dir_fd=self._fd)
        try:
            data = chunk = os.read(fd, limit)
            # A set comes whole, with its newline; what was damaged may not.
            while chunk and chunk[-1:] != b"\n" and len(data) < limit:
                chunk = os.read(fd, limit - len(data))
                data += chunk
            return data
        finally:
            os.close(fd)

    def lines(self, name: str, limit: int) -> list[bytes]:
        """A file's lines, at most about `limit` bytes of them, each whole. Raises OSError."""
        fd = os.open(name, _READ, dir_fd=self._fd)
        try:
            data = b""
            while len(data) < limit and (chunk := os.read(fd, limit)):
                data += chunk
        finally:
            os.close(fd)
        whole, _, _ = data.rpartition(b"\n")
        return whole.split(b"\n") if whole else []

    def put(self, name: str, text: str) -> None:
        """Write a file as the kernel wants it: not created, in one write. Raises OSError."""
        fd = os.open(name, _WRITE, dir_fd=self._fd)
        _write_whole(fd, text)

    def is_link(self, name: str) -> bool:
        """Whether the name is a link. Raises OSError when it isn't there."""
        return stat.S_ISLNK(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode)

    def moved(self, mount: Path) -> bool:
        """Whether its path leads to it no more, for it has been removed, or made anew."""
        try:
            with opened(mount, self.parts) as again:
                return again.identity() != self.identity()
        except CgroupError:
            return True

    def identity(self) -> tuple[int, int]:
        """Its device and inode, by which two paths are told to be one cgroup."""
        status = os.fstat(self._fd)
        return status.st_dev, status.st_ino


Chain = tuple[Folder, ...]
"""Open cgroups, each in the one before it, the hierarchy's root first."""


def shown(path: str) -> str:
    """A path as messages show it."""
    # A name may hold any bytes, which not every terminal or file takes.
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def put_to_kernel(path: Path, text: str) -> None:
    """Write a cgroup file by its path as the kernel wants it: not created, in one write."""
    _write_whole(os.open(path, _WRITE), text)


def read_file(path: Path, limit: int) -> bytes:
    """A small kernel file by its path, at most `limit` bytes of it. Raises OSError."""
    # Links may lead to it: only below a cgroup hierarchy's mount they may not.
    fd = os.open(path, _READ & ~os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        return file.read(limit)


def open_mount(path: Path) -> Folder:
    """The hierarchy's root, to which links may lead. Raises SourceError."""
    try:
        return Folder(os.open(path, _DIRECTORY), ())
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error


def names_of(path: str) -> tuple[str, ...]:
    """A path's names from the mount, () for "". Raises CgroupError where it leads elsewhere."""
    if not path:
        return ()
    parts = tuple(path.split("/"))
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise CgroupError(path, f"{shown(path[:300])!r} isn't a cgroup's path below the mount")
    return parts


def reach(stack: ExitStack, chain: Sequence[Folder], names: Iterable[str], warn: Warn) -> Chain:
    """The chain of open cgroups, longer by those that the names lead to; () where one isn't there.

    The stack closes them.
    """
    reached = list(chain)
    for name in names:
        try:
            below = reached[-1].below(name)
        except OSError as error:
            if error.errno not in GONE:
                hint = HINTS.get(error.errno or 0, error.strerror)
                warn(f"{reached[-1].of(name)}: left out: {hint}")
            return ()
        reached.append(stack.enter_context(below))
    return tuple(reached)


@contextmanager
def opened(mount: Path, parts: Sequence[str]) -> Iterator[Folder]:
    """The cgroup that the names lead to. Raises GoneError, and RefusedError where a link is."""
    folder = open_mount(mount)
    for name in parts:
        with folder:
            folder = _below(folder, name, mount)
    with folder:
        yield folder


def _below(folder: Folder, name: str, mount: Path) -> Folder:
    path, where = "/".join((*folder.parts, name)), f"{mount}/{folder.of(name)}"
    try:
        return folder.below(name)
    except OSError as error:
        if error.errno in GONE:
            raise GoneError(path, f"{where}: not there (any more)") from error
        raise refused(path, where, error) from error


def _write_whole(fd: int, text: str) -> None:
    data = text.encode("ascii")
    try:
        taken = os.write(fd, data)
    finally:
        os.close(fd)
    if taken != len(data):
        # A second write would be a command of its own.
        raise OSError(errno.EIO, f"only {taken} of {len(data)} bytes were taken")
