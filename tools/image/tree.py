"""A folder taken as a machine's root: its links lead to places inside of it."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_MOST_LINKS = 40  # as the kernel's own limit, path_resolution(7)


@dataclass(frozen=True, slots=True)
class Tree:
    """The folder, and what has been copied out of it as real paths below it."""

    root: Path
    taken: set[PurePosixPath] = field(default_factory=set)

    def real(self, path: PurePosixPath | str) -> PurePosixPath:
        """Return the path below the root with no link in it. Raises OSError on a loop of links."""
        done = PurePosixPath()
        todo = [*reversed(PurePosixPath(path).parts)]
        links = 0
        while todo:
            part = todo.pop()
            if part == "/":
                done = PurePosixPath()
            elif part == "..":
                done = done.parent
            elif (self.root / done / part).is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(f"{path} in {self.root} has too many links")
                target = (self.root / done / part).readlink()
                todo.extend(reversed(target.parts))
            else:
                done = done / part
        return done

    def find(self, path: PurePosixPath | str) -> PurePosixPath | None:
        """Return the real path of what is there, None where nothing is."""
        real = self.real(path)
        return real if (self.root / real).exists() else None

    def copy_to(self, other: "Tree", path: PurePosixPath | str) -> Path:
        """Copy one file to its place in the other tree, and the file that a link there leads to.

        The folder is the real one, so that /lib and /usr/lib are one place; the name is the one
        asked for, so that a library is found by the name that others need it by.
        """
        real = self.real(path)
        place = other.root / self.real(PurePosixPath(path).parent) / PurePosixPath(path).name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.root / real, place)
        self.taken.add(real)
        return place


def settle(root: Path, seconds: int) -> None:
    """Give all below the same owner, time and plain permissions; drop setuid and write for others.

    `seconds` is SOURCE_DATE_EPOCH: https://reproducible-builds.org/specs/source-date-epoch/
    """
    for folder, _names, files in os.walk(root, topdown=False):
        for path in [*(Path(folder) / name for name in files), Path(folder)]:
            if not path.is_symlink():
                runs = path.is_dir() or path.stat().st_mode & 0o100
                path.chmod(0o755 if runs else 0o644)
            os.chown(path, 0, 0, follow_symlinks=False)
            os.utime(path, (seconds, seconds), follow_symlinks=False)
