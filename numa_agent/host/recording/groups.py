"""Looking for the cgroups of pods.

Below the hierarchy's mount no link is followed, as host.cgroups doesn't.
"""

import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config import CGROUP_DIR
from numa_agent.core.cgroups import Version
from numa_agent.core.errors import SourceError
from numa_agent.core.recording import contents, groups, rules
from numa_agent.core.recording.rules import File, Shown
from numa_agent.host.cgroups.folder import MAX_ENTRIES
from numa_agent.host.cgroups.hierarchies import CPU, DEVICES, MEMORY, PIDS
from numa_agent.host.cgroups.layout import Parts as Levels
from numa_agent.host.cgroups.layout import container_id, layouts, layouts_below, root_names
from numa_agent.host.cgroups.mount import find_mount
from numa_agent.host.cgroups.reading import MAX_DEPTH, MAX_NESTED
from numa_agent.host.recording.account import account_of
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.spots import Finds, FoundFile, FoundFolder, Spot, spot_of
from numa_agent.host.recording.tasks import find_tasks
from numa_agent.host.recording.tree import Parts

_ABOVE_CONTAINERS = 4


@dataclass(frozen=True, slots=True)
class _Levels:
    """The files that are read at the top, of cgroups above pods, and of pods and in them."""

    top: tuple[File, ...]
    above: tuple[File, ...]
    pod: tuple[File, ...]


_LEVELS = _Levels(
    top=(*rules.CONTROLLERS, *rules.SETS),
    above=(*rules.SETS, *rules.POPULATED),
    pod=(*rules.SETS, *rules.POPULATED, *rules.POD),
)
_OTHERS = (
    (CPU, _Levels(top=(), above=(), pod=rules.QUOTA)),
    (MEMORY, _Levels(top=(), above=(), pod=rules.ACCOUNT)),
    (DEVICES, _Levels(top=(), above=(), pod=rules.ALLOWED_DEVICES)),
    (PIDS, _Levels(top=(), above=(), pod=rules.TASK_COUNT)),
)
"""v1's other hierarchies, by the names that they are mounted under."""
_SYSTEM, _SERVICE = "system.slice", ".service"


def find_groups(
    finds: Finds, host_root: Path, cgroup_root: str, gpu_files: Collection[str]
) -> None:
    """Find kubelet's cgroups, the tasks in them, and which of the GPUs' files those have open."""
    base = spot_of(CGROUP_DIR)
    try:
        mount = find_mount(host_root)
    except SourceError:
        _without_hierarchy(finds)
        return
    parts = mount.path.relative_to(host_root).parts
    if not parts or ".." in parts or not all(map(str.isprintable, parts)):
        finds.leave_out(base, "it is mounted where nothing is looked for")
        return
    try:
        real = finds.tree.resolve(parts)
    except LeftOutError as error:
        finds.leave_out(base, str(error))
        return
    spot = spot_of(parts, groups.group)
    walk = _Walk(finds, _LEVELS)
    walk.all(spot, real, cgroup_root)
    if mount.version is Version.V1:
        for names, files in _OTHERS:
            _other(finds, names, files, cgroup_root)
    find_tasks(finds, walk.containers, account_of(finds.tree, mount, host_root, real), gpu_files)


def _without_hierarchy(finds: Finds) -> None:
    """What says that there is none with cpusets: the list of controllers, or the mounts."""
    spot, real = spot_of(CGROUP_DIR), tuple(CGROUP_DIR.split("/"))
    if finds.tree.is_folder(real):
        finds.add(FoundFolder(spot))
        for name in ("cgroup.controllers",):
            if finds.tree.exists((*real, name)):
                finds.add(FoundFile(spot.below(name), (*real, name), contents.controllers))
        for name in _folders(finds, spot, real):
            if name.split(",")[0] in groups.CONTROLLERS:
                finds.add(FoundFolder(spot.below(name)))


def _other(finds: Finds, names: Iterable[str], files: _Levels, cgroup_root: str) -> None:
    for name in names:
        real = (*CGROUP_DIR.split("/"), name)
        if finds.tree.is_folder(real):
            _Walk(finds, files).all(spot_of(real, groups.group), real, cgroup_root)
            return


class _Walk:
    """Goes through a hierarchy to kubelet's cgroups, and through those."""

    def __init__(self, finds: Finds, files: _Levels) -> None:
        self._finds = finds
        self._files = files
        self._seen: set[Parts] = set()
        self.containers: list[list[Parts]] = []
        """Of each container its cgroup and those in it."""

    def all(self, spot: Spot, real: Parts, cgroup_root: str) -> None:
        self._group(spot, real, self._files.top)
        top = _folders(self._finds, spot, real)
        for kubepods in self._kubepods(top, cgroup_root):
            self._chain(spot, real, kubepods)
        for name in _misplaced(top):
            self._finds.add(FoundFolder(spot.below(name, groups.group)))
        if _SYSTEM in top:
            self._system(spot.below(_SYSTEM), (*real, _SYSTEM))

    def _kubepods(self, top: list[str], cgroup_root: str) -> Iterator[Levels]:
        try:
            configured = layouts(root_names(cgroup_root))
        except ValueError:
            configured = layouts(())
        found = [*configured, *(each for name in top for each in layouts_below(name))]
        yield from dict.fromkeys(each.kubepods for each in found)

    def _chain(self, spot: Spot, real: Parts, levels: Levels) -> None:
        if not all(map(str.isprintable, levels)):
            return
        if not self._finds.tree.is_folder((*real, *levels)):
            return
        for level in levels:
            spot, real = spot.below(level, groups.group), (*real, level)
            self._group(spot, real, self._files.above)
        self._below(spot, real, _ABOVE_CONTAINERS, None)

    def _below(
        self, spot: Spot, real: Parts, depth: int, inner: list[int] | None, *, in_pod: bool = False
    ) -> None:
        """Go through what is in a cgroup; `inner` counts those that are in a container."""
        names = _folders(self._finds, spot, real)
        if names and depth == 0:
            self._finds.leave_out(spot, "cgroups too deep in it")
            return
        for name in names:
            if inner is not None:
                inner[0] += 1
                if inner[0] > MAX_NESTED + 1:
                    self._finds.leave_out(spot, f"over {MAX_NESTED} cgroups in a container")
                    return
            shown: Shown = groups.group if inner is None else groups.nested
            below, there = spot.below(name, shown), (*real, name)
            of_pod = in_pod or groups.is_pod(name)
            self._group(below, there, self._files.pod if of_pod else self._files.above)
            is_container = inner is None and container_id(name) is not None
            if inner is not None:
                self.containers[-1].append(there)
            if is_container:
                self.containers.append([there])
                self._below(below, there, MAX_DEPTH, [0], in_pod=of_pod)
            else:
                self._below(below, there, depth - 1, inner, in_pod=of_pod)
            if self._finds.full:
                return

    def _group(self, spot: Spot, real: Parts, files: tuple[File, ...]) -> None:
        if real in self._seen:
            return
        self._seen.add(real)
        self._finds.add(FoundFolder(spot))
        for file in files:
            try:
                kind = self._finds.tree.mode((*real, file.name))
            except LeftOutError as error:
                if not error.missing:
                    self._finds.leave_out(spot.below(file.name), str(error))
                continue
            if stat.S_ISLNK(kind):
                self._finds.leave_out(spot.below(file.name), "a link, which is never followed")
            else:
                self._finds.add(FoundFile(spot.below(file.name), (*real, file.name), file.form))

    def _system(self, spot: Spot, real: Parts) -> None:
        """Containers that a runtime left outside their pods, whose names are looked for."""
        names = _folders(self._finds, spot, real)
        places = [(spot, names)]
        for name in names:
            if name.endswith(_SERVICE):
                below = spot.below(name, groups.group)
                places.append((below, _folders(self._finds, below, (*real, name))))
        for place, listed in places:
            for name in _misplaced(listed):
                self._finds.add(FoundFolder(place.below(name, groups.group)))


def _misplaced(names: list[str]) -> list[str]:
    return [name for name in names if groups.misplaced(name)]


def _folders(finds: Finds, spot: Spot, real: Parts) -> list[str]:
    """The names of the directories in a cgroup; links and what is past the bound are not."""
    try:
        names, whole = finds.tree.names(real)
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot, str(error))
        return []
    if not whole or len(names) > MAX_ENTRIES:
        finds.leave_out(spot, f"over {MAX_ENTRIES} names in it: those after the first")
    names = names[:MAX_ENTRIES]
    return [name for name in names if name.isprintable() and finds.tree.is_folder((*real, name))]
