"""The parts of a recording that are written as wholes, and what went wrong with others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from numa_agent.core.errors import SourceError
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.host.recording.archive import Archive
from numa_agent.host.recording.tree import Tree

Written = Callable[[Names], str]
"""A text with pseudonyms in the place of names."""


@dataclass(slots=True)
class Parts:
    """Texts with their paths and what of them is kept.

    `left_out` says without names what isn't in it; `failures` say the same with them, for who
    records.
    """

    texts: list[tuple[str, str, Written]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def opened(self, root: Path, deadline: float) -> Iterator[Tree]:
        """The machine's root. Raises SourceError when it can't be opened."""
        try:
            tree = Tree(root, deadline=deadline)
        except OSError as error:
            raise SourceError(
                f"host root {root}: {error.strerror}; give the folder that holds the machine's"
                " sys/ and proc/ with --host-root"
            ) from error
        with tree:
            yield tree

    def add(self, path: str, rule: str, written: Written) -> None:
        """Add a text."""
        self.texts.append((path, rule, written))

    def fail(self, path: str, why: str, said: str | None = None) -> None:
        """Say that a source gave nothing: why without names, and as it was said."""
        self.left_out.append((path, why))
        self.failures.append(said or f"{path}: {why}")

    def hear(self, names: Names) -> None:
        """Let the names be collected."""
        for _, _, written in self.texts:
            written(names)

    def write(self, archive: Archive, names: Names) -> None:
        """Write everything."""
        for path, rule, written in self.texts:
            archive.file(path, written(names).encode("utf-8", "backslashreplace"), rule)
        for path in self.folders:
            archive.folder(path)
        for path, why in self.left_out:
            archive.leave_out(path, why)
