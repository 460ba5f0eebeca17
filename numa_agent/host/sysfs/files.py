"""Reading small kernel files below one root: missing is None, damage is None and a warning.

The kernel ends each attribute that we read with a newline (Documentation/filesystems/sysfs.rst),
so a text without one was cut short and its last number can't be trusted.
"""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from numa_agent.core.topology import TopologyWarning

T = TypeVar("T")

_LIMIT = 65536
"""Bytes read of one file; sysfs attributes fit a page, CPU lists may be a bit longer."""

_PAGE = 4096

_LONG_LIMIT = 1 << 24
"""Bytes read of a procfs file: /proc/cpuinfo has 1.5 KB a CPU."""

# A FIFO in place of a file must not block us, and nothing we open may reach a child process.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY


class Directory:
    """One open directory of the machine, and the warnings that reading below it gave.

    Names may hold slashes. Each method opens, reads and closes once; nothing is kept.
    """

    def __init__(self, fd: int, path: str, warnings: list[TopologyWarning]) -> None:
        """Take an open descriptor (closed at exit), its path from the root, and where to warn."""
        self._fd = fd
        self.path = path
        self._warnings = warnings

    @classmethod
    def root(cls, path: Path, warnings: list[TopologyWarning]) -> "Directory":
        """The host root. Raises OSError when it can't be opened as a directory."""
        return cls(os.open(path, _DIRECTORY), "", warnings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    def directory(self, name: str) -> "Directory | None":
        """The directory of this name, None when it isn't there or can't be opened."""
        try:
            fd = os.open(name, _DIRECTORY, dir_fd=self._fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unreadable(name, error)
            return None
        return Directory(fd, self.of(name), self._warnings)

    def names(self, name: str = ".") -> Sequence[str]:
        """The names in the directory of this name, ascending; none when it isn't there."""
        try:
            fd = os.open(name, _DIRECTORY, dir_fd=self._fd)
        except FileNotFoundError:
            return ()
        except OSError as error:
            self._unreadable(name, error)
            return ()
        try:
            return sorted(os.listdir(fd))
        except OSError as error:
            self._unreadable(name, error)
            return ()
        finally:
            os.close(fd)

    def exists(self, name: str) -> bool:
        """Whether there is anything of this name, readable or not."""
        try:
            os.lstat(name, dir_fd=self._fd)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def link(self, name: str) -> str | None:
        """Where the symbolic link of this name points, None when it isn't one."""
        try:
            return os.readlink(name, dir_fd=self._fd)
        except OSError:
            return None

    def text(self, name: str, *, cut: bool = False) -> str | None:
        """The file's text without its ending newline; None when it is missing or damaged.

        With `cut`, a text whose end is missing is given all the same, without a warning.
        """
        try:
            fd = os.open(name, _FLAGS, dir_fd=self._fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unreadable(name, error)
            return None
        try:
            data = chunk = os.read(fd, _PAGE)
            # CPU lists are binary attributes since Linux 5.16, which a read gives a page of.
            while len(chunk) >= _PAGE and len(data) <= _LIMIT:
                chunk = os.read(fd, _LIMIT + 1)
                data += chunk
        except OSError as error:
            self._unreadable(name, error)
            return None
        finally:
            os.close(fd)
        text = _whole(data)
        if text is not None:
            return text
        data = data.rstrip(b"\0")
        if cut and (data[-1:] != b"\n" or len(data) > _LIMIT):
            return data.decode("ascii", "replace")
        self.damaged(name, _damage(data))
        return None

    def long_text(self, name: str) -> str:
        """The text of a procfs file, which gives a page at a time; "" where it can't be read."""
        data = b""
        try:
            with os.fdopen(os.open(name, _FLAGS, dir_fd=self._fd), "rb") as file:
                data = file.read(_LONG_LIMIT + 1)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._unreadable(name, error)
        if len(data) > _LONG_LIMIT:
            self.damaged(name, f"the file is longer than {_LONG_LIMIT} bytes")
            return ""
        return data.decode("utf-8", "replace")

    def value(self, name: str, parse: Callable[[str], T]) -> T | None:
        """What `parse` makes of the file's text; None and a warning where it raises ValueError."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.damaged(name, str(error))
            return None

    def of(self, name: str) -> str:
        """The path of a name in here, from the host root, as messages show it."""
        # A name may hold any bytes, which not every terminal or file takes.
        return f"{self.path}/{name}".encode("utf-8", "backslashreplace").decode()

    def warn(self, code: str, subject: str, message: str) -> None:
        """Add a warning about something read here."""
        self._warnings.append(TopologyWarning(code=code, subject=subject, message=message))

    def damaged(self, name: str, why: str) -> None:
        """Add the warning that a file's content can't be used."""
        self.warn("damaged-file", self.of(name), f"{self.of(name)}: {why}; taken as unknown")

    def _unreadable(self, name: str, error: OSError) -> None:
        # A file where a directory belongs, or the reverse, is named by errno too.
        path = self.of(name)
        self.warn("unreadable-file", path, f"{path}: {error.strerror}; taken as unknown")


@lru_cache(maxsize=1024)  # one machine says the same few numbers a thousand times
def number(text: str) -> int:
    """The decimal number a text is, and nothing but that. Raises ValueError."""
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > 18:
        raise ValueError(f"not a number: {text[:60]!r}")
    return int(text)


def number_or_none(text: str) -> int | None:
    """A decimal number; None for a negative one, the kernel's word for "there is none"."""
    value = number(text)
    return value if value >= 0 else None


@lru_cache(maxsize=1024)
def _whole(data: bytes) -> str | None:
    """The text of a whole file without its newline, None for anything else."""
    # Some recorded machines carry the NUL that old kernels left behind the newline.
    data = data.rstrip(b"\0")
    if data[-1:] == b"\n" and len(data) <= _LIMIT and data.isascii() and b"\0" not in data:
        return data[:-1].decode("ascii")
    return None


def _damage(data: bytes) -> str:
    if not data:
        return "the file is empty"
    if not data.isascii() or b"\0" in data:
        return "the file isn't text"
    if len(data) > _LIMIT:
        return f"the file is longer than {_LIMIT} bytes"
    return "the file doesn't end with a newline, so it was cut short"
