"""The directories that can't be followed now, and why."""

import errno
from pathlib import Path

from numa_agent.host.watch.events import Followed

_GONE = (errno.ENOENT, errno.ENODEV)

_HINTS = {
    errno.ENOSPC: "the user has no inotify watch left, raise fs.inotify.max_user_watches",
    errno.EMFILE: (
        "no inotify instance or open file is left, raise fs.inotify.max_user_instances"
        " or the limit of open files"
    ),
    errno.ENOTDIR: "it is no directory, or a link to one",
    errno.EACCES: "the agent may not read it",
}


class Refusals:
    """What was refused, by directory, until it is settled."""

    def __init__(self) -> None:
        self._reasons: dict[Path, str] = {}

    def add(self, path: Path, error: OSError) -> Followed:
        """Take in that a directory can't be followed; one that isn't there is no refusal."""
        if error.errno in _GONE:
            self._reasons.pop(path, None)
        else:
            hint = _HINTS.get(error.errno or 0)
            reason = f"{error.strerror} ({hint})" if hint else f"{error.strerror}"
            self._reasons[path] = f"{path}: {reason}"
        return self.outcome(path)

    def settle(self, path: Path) -> None:
        """Drop what was said about a directory."""
        self._reasons.pop(path, None)

    def outcome(self, path: Path) -> Followed:
        """REFUSED or GONE, for a directory that has no watch."""
        return Followed.REFUSED if path in self._reasons else Followed.GONE

    @property
    def sentence(self) -> str | None:
        """What to do and the first reason, None while nothing is refused."""
        if not self._reasons:
            return None
        first = min(self._reasons)
        count = len(self._reasons)
        many = "1 directory isn't" if count == 1 else f"{count} directories aren't"
        return f"{many} followed, list periodically: {self._reasons[first]}"
