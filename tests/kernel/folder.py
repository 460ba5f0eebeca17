"""The files of the groups on disk, written so that inotify tells what it tells of the kernel's.

A watch on a group's folder sees what a user writes, even if that changes nothing, and nothing of
what the kernel changes by itself: that is written by another name of the file, in a hidden folder,
since a watch on a folder sees what is done to its own entries. Files are written in place, and a
reader meets the old text or the new one, never a mixture, though maybe with more line ends. What
can't be had: a folder that comes with its files already in it, at once, and goes with them.
"""

import os
import shutil
from pathlib import Path

NOTIFYING = frozenset({"cgroup.events"})
"""The files whose changes by the kernel itself a watch sees too."""

_WRITE = os.O_WRONLY | os.O_CLOEXEC


class Folder:
    """A tree of folders with files below `root`, and a hidden folder beside it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._hidden = root.with_name(f".{root.name}.kernel")
        self._shown: dict[str, dict[str, str]] = {}
        for folder in (root, self._hidden):
            folder.mkdir(parents=True, exist_ok=True)

    def show(self, path: str, texts: dict[str, str]) -> None:
        """Make the folder at `path`, if need be, and its files say `texts` and nothing else."""
        folder = self._root / path
        if path not in self._shown:
            folder.mkdir(exist_ok=True)
        shown = self._shown.get(path, {})
        for name in shown.keys() - texts.keys():
            (folder / name).unlink()
        for name, text in texts.items():
            if name not in shown:
                self._make_unseen(folder / name, text)
            elif shown[name] != text and name in NOTIFYING:
                overwrite(folder / name, shown[name], text)
            elif shown[name] != text:
                self._overwrite_unseen(folder / name, shown[name], text)
        self._shown[path] = texts

    def remove(self, path: str) -> None:
        """Remove the folder at `path` with its files."""
        del self._shown[path]
        shutil.rmtree(self._root / path)

    def _make_unseen(self, file: Path, text: str) -> None:
        name = self._hidden / file.name
        name.write_text(text)
        file.hardlink_to(name)
        name.unlink()

    def _overwrite_unseen(self, file: Path, old: str, new: str) -> None:
        name = self._hidden / file.name
        name.hardlink_to(file)
        try:
            overwrite(name, old, new)
        finally:
            name.unlink()


def overwrite(file: Path, old: str, new: str) -> None:
    """Write `new` over `old` in place, so that no reader meets a mixture of both.

    A shorter text is first written with line ends over the rest of the old one, then cut.
    """
    descriptor = os.open(file, _WRITE)
    try:
        os.pwrite(descriptor, new.encode().ljust(len(old.encode()), b"\n"), 0)
        if len(new.encode()) < len(old.encode()):
            os.ftruncate(descriptor, len(new.encode()))
    finally:
        os.close(descriptor)
