"""inotify in a thread of its own: it hands over which cgroups changed, and wakes the loop."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.watch import Event, Kind, Role, Watch

WAIT_SECONDS = 3600.0


class CgroupWatch:
    """Follows cgroups of one hierarchy; `wake` is called, in its thread, when one changed."""

    def __init__(self, tree: CpusetTree, states: Path, wake: Callable[[], None]) -> None:
        """Take the hierarchy and kubelet's folder, and start the thread.

        Raises SourceError where the process may open no more files.
        """
        self._tree = tree
        self._states = states
        self._stale = False
        self._root: Path | None = None
        self._places: dict[str, Path] = {}
        self._wake = wake
        self._watch = Watch()
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="cgroup-watch", daemon=True)
        self._thread.start()

    def follow(self, paths: Iterable[str]) -> None:
        """Follow these cgroups and no others; to ask again for one costs one system call."""
        mount = self._mount()
        if mount is None:
            return
        known = self._places
        # The same objects again: making hundreds of paths takes longer than the system calls.
        self._places = {
            path: known[path] if path in known and self._root == mount else mount / path
            for path in sorted(set(paths))
        }
        self._root = mount
        for place in self._places.values():
            self._watch.follow(place, Role.CGROUP)
        self._watch.follow(self._states, Role.STATE)
        for place in self._watch.followed.difference(self._places.values(), (self._states,)):
            self._watch.forget(place)

    def changed(self) -> frozenset[str]:
        """The cgroups in which something happened since it was asked last."""
        with self._lock:
            found, self._changed = frozenset(self._changed), set()
        return found

    def stale(self) -> bool:
        """Whether kubelet's state files changed since it was asked last."""
        with self._lock:
            found, self._stale = self._stale, False
        return found

    def pods(self) -> frozenset[str]:
        """The uids, as kubelet knows them, of the pods that have a cgroup."""
        try:
            return frozenset(self._tree.pod_directories())
        except SourceError:
            return frozenset()

    def parents(self) -> tuple[str, ...]:
        """The cgroups in which pods' cgroups appear, none where there is no hierarchy."""
        try:
            return self._tree.parents()
        except SourceError:
            return ()

    @property
    def degraded(self) -> str | None:
        """Why some cgroups can't be followed and are looked at by the passes alone."""
        return self._watch.degraded

    def close(self) -> None:
        """End the thread."""
        self._watch.close()
        self._thread.join(timeout=1)

    def _run(self) -> None:
        while not self._watch.closed:
            events = self._watch.events(WAIT_SECONDS)
            mount = self._mount()
            found = {
                str(path.relative_to(mount))
                for event in events
                if mount is not None and event.path.is_relative_to(mount)
                for path in _touched(event)
            }
            stale = any(
                event.path == self._states and event.kind is Kind.WRITTEN for event in events
            )
            if found or stale:
                with self._lock:
                    self._changed |= found
                    self._stale = self._stale or stale
                self._wake()

    def _mount(self) -> Path | None:
        """Where the hierarchy is, None where there is none: the pass itself says so."""
        try:
            return Path(self._tree.mount().path)
        except SourceError:
            return None


def _touched(event: Event) -> tuple[Path, ...]:
    """The cgroups to look at: a new one may have the name of one that has gone."""
    if event.kind is Kind.GONE:
        return ()
    return (event.path, event.target) if event.kind is Kind.CREATED else (event.path,)
