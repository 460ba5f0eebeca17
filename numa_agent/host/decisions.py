"""The file of the agent's own decisions: whole or not at all, and a broken one out of the way."""

import os
from collections.abc import Mapping
from pathlib import Path

from numa_agent.core.assigner import MOST_BYTES, Kept, parse_kept, render_kept
from numa_agent.core.errors import SourceError


class DecisionsFile:
    """Keeps decisions in a file, which is replaced as a whole:
    https://man7.org/linux/man-pages/man2/rename.2.html"""

    def __init__(self, path: Path) -> None:
        """Take the file; its folder is made when something is first kept."""
        self._path = path

    def load(self) -> Mapping[str, Kept] | None:
        """What was kept last, None where there is no file.

        Raises SourceError where it can't be read, or isn't what was written.
        """
        try:
            text = self._read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise SourceError(f"decisions {self._path}: {error.strerror}") from error
        try:
            return parse_kept(text)
        except ValueError as error:
            raise SourceError(
                f"decisions {self._path}: {error}; pods keep the CPUs that the kernel holds them"
                " to"
            ) from error

    def save(self, kept: Mapping[str, Kept]) -> None:
        """Replace the file. Raises SourceError where that can't be; the old one then stays."""
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _write(new, render_kept(kept).encode())
            new.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise SourceError(
                f"decisions {self._path}: {error.strerror}; after a restart pods keep the"
                " CPUs that the kernel holds them to"
            ) from error

    def forget(self) -> None:
        """Remove the file, where there is one. Raises SourceError where that can't be done."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(
                f"decisions {self._path}: {error.strerror}; remove it, or an agent that comes"
                " later goes on by it"
            ) from error

    def _read(self) -> str:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self._path, flags), "rb") as file:
            content = file.read(MOST_BYTES + 1)
        return content.decode(errors="replace") if len(content) <= MOST_BYTES else ""

    def set_aside(self) -> str:
        """Get what can't be read out of the way; where it is now, in words."""
        aside = self._path.with_name(f"{self._path.name}.broken")
        try:
            self._path.replace(aside)
        except OSError as error:
            return f"it couldn't be set aside ({error.strerror})"
        return f"it is {aside} now"


def _write(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(held)
    finally:
        os.close(held)
