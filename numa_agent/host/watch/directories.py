"""Which directories have a watch, and what inotify's events say about them.

On cgroups the kernel tells the making and removing of children and the writes of programs, never
a change of an effective set. Nor does it end the watch of a removed cgroup, which would count
against the user's limit for good: the watch ends here as soon as the parent tells the removal.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inotify_simple import flags

from numa_agent.host.watch.events import Event, Followed, Kind, Role, kinds
from numa_agent.host.watch.instance import Instance, Raw
from numa_agent.host.watch.refusals import Refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """A watch; `prefix` is the path with a slash, as the paths of all below it begin."""

    wd: int
    path: Path
    role: Role
    prefix: str


class Directories:
    """The followed directories of one inotify instance; one thread at a time."""

    def __init__(self, open_instance: Callable[[], Instance]) -> None:
        """Take what opens an inotify instance; it is asked again as long as it fails."""
        self._open = open_instance
        self.instance: Instance | None = None
        self.refusals = Refusals()
        self._by_wd: dict[int, _Watched] = {}
        self._by_path: dict[Path, _Watched] = {}

    @property
    def paths(self) -> frozenset[Path]:
        """The directories that have a watch."""
        return frozenset(self._by_path)

    def follow(self, path: Path, role: Role) -> tuple[Followed, list[Event]]:
        """Watch a directory, and list the children of one that wasn't watched before."""
        before = self._by_path.get(path)
        outcome = self._attach(path, role)
        if outcome is not Followed.FOLLOWED or self._by_path[path] == before:
            return outcome, []
        return self._listed(path, role)

    def forget(self, path: Path) -> None:
        """Watch a directory no more."""
        self.refusals.settle(path)
        if (watched := self._by_path.get(path)) is not None:
            self._detach(watched)

    def told(self, events: Iterable[Raw]) -> Iterator[Event]:
        """What inotify's events say, in their order."""
        for wd, mask, _, name in events:
            if mask & flags.Q_OVERFLOW:
                yield from self._overflowed()
            # An event that was queued before its watch was ended is of no directory any more.
            elif (watched := self._by_wd.get(wd)) is not None:
                yield from self._happened(watched, mask, name)

    def lost(self, error: OSError) -> Iterator[Event]:
        """Give up an instance that can't be read any more; the next `follow` opens another."""
        paths = tuple(self._by_path)
        self.close()
        for path in paths:
            self.refusals.add(path, error)
            yield Event(kind=Kind.OVERFLOW, path=path)

    def close(self) -> None:
        """End all watches."""
        self._by_wd.clear()
        self._by_path.clear()
        if self.instance is not None:
            self.instance.close()
            self.instance = None

    def _happened(self, watched: _Watched, mask: int, name: str) -> Iterator[Event]:
        if mask & (flags.IGNORED | flags.MOVE_SELF):
            self._detach(watched)
            yield _gone(watched.path)
            if watched.path.is_dir():
                # Made anew: whoever forgot the parent meanwhile has been told of that before.
                path = watched.path
                yield Event(kind=Kind.CREATED, path=path.parent, name=path.name)
            return
        for kind in kinds(watched.role, mask, name):
            if kind is Kind.GONE:
                self._detach_all(f"{watched.prefix}{name}/")
            yield Event(kind=kind, path=watched.path, name=name)

    def _overflowed(self) -> Iterator[Event]:
        for watched in tuple(self._by_path.values()):
            yield Event(kind=Kind.OVERFLOW, path=watched.path)
            # Its end may be among what was lost, or another one may be there.
            outcome = self._attach(watched.path, watched.role)
            if outcome is Followed.FOLLOWED:
                outcome, children = self._listed(watched.path, watched.role)
                yield from children
            if outcome is Followed.GONE:
                yield _gone(watched.path)

    def _attach(self, path: Path, role: Role) -> Followed:
        before = self._by_path.get(path)
        try:
            if self.instance is None:
                self.instance = self._open()
            wd = self.instance.add_watch(path, role.mask)
        except OSError as error:
            return self._refused(path, error)
        if before is not None and before.wd != wd:
            self._detach(before)
        if (alias := self._by_wd.get(wd)) is not None:
            self._by_path.pop(alias.path, None)
        self.refusals.settle(path)
        watched = _Watched(wd=wd, path=path, role=role, prefix=f"{path}/")
        self._by_wd[wd] = self._by_path[path] = watched
        return Followed.FOLLOWED

    def _listed(self, path: Path, role: Role) -> tuple[Followed, list[Event]]:
        if role is Role.STATE:
            return Followed.FOLLOWED, []
        try:
            with os.scandir(path) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            return self._refused(path, error), []
        children = [Event(kind=Kind.CREATED, path=path, name=name) for name in sorted(names)]
        return Followed.FOLLOWED, children

    def _refused(self, path: Path, error: OSError) -> Followed:
        if (watched := self._by_path.get(path)) is not None:
            self._detach(watched)
        return self.refusals.add(path, error)

    def _detach_all(self, prefix: str) -> None:
        for watched in [one for one in self._by_path.values() if one.prefix.startswith(prefix)]:
            self._detach(watched)

    def _detach(self, watched: _Watched) -> None:
        self._by_wd.pop(watched.wd, None)
        if self._by_path.get(watched.path) == watched:
            del self._by_path[watched.path]
        if self.instance is None:
            return
        try:
            self.instance.rm_watch(watched.wd)
        except OSError:
            # EINVAL: the kernel had ended it.
            return


def _gone(path: Path) -> Event:
    return Event(kind=Kind.GONE, path=path.parent, name=path.name)
