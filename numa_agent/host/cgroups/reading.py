"""What the kernel holds for one cgroup, and for those inside it.

https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset-interface-files and
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from numa_agent.core import cpulist
from numa_agent.core.cgroups import Group, Version
from numa_agent.core.cpulist import CpuSet
from numa_agent.host.cgroups.folder import GONE, Folder, Warn
from numa_agent.host.cgroups.hidden import Hidden
from numa_agent.host.cgroups.mount import Mount

MAX_NESTED = 512
"""Cgroups looked at inside one container: one that may make its own must not cost us seconds."""

MAX_DEPTH = 16
"""How deep cgroups inside a container are looked at."""

_POPULATED = re.compile(rb"^populated ([01])$", re.MULTILINE)
_EVENTS = "cgroup.events"
_PROCESSES = "cgroup.procs"
_MEMORY = "memory.current"
_LONGEST_NUMBER = 20


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the cgroups of one hierarchy, and says of each damaged file what is wrong with it."""

    mount: Mount
    warn: Warn
    hidden: Hidden
    _above: dict[str, Group] = field(default_factory=dict)

    def above(self, folder: Folder) -> Group:
        """The sets of a cgroup above pods', read once for all of them."""
        known = self._above.get(folder.path)
        if known is None:
            known = self._above[folder.path] = self.sets(folder)
        return known

    def sets(self, folder: Folder) -> Group:
        """A cgroup's four sets, each None where its file can't be read."""
        names = self.mount.names
        return Group(
            path=folder.path,
            cpus=self._set(folder, names.cpus),
            effective_cpus=self._set(folder, names.effective_cpus),
            mems=self._set(folder, names.mems),
            effective_mems=self._set(folder, names.effective_mems),
        )

    def group(self, folder: Folder) -> Group:
        """A cgroup's sets, and whether a process is in it or below it where that is told.

        cgroup v1 tells of the cgroup's own processes alone, and so does v2 of its root.
        """
        return replace(self.sets(folder), populated=self.populated(folder))

    def populated(self, folder: Folder) -> bool | None:
        """Whether a process is in a cgroup or below it, None where that isn't told."""
        told = self._events(folder)
        return (self._inhabited(folder) or None) if told is None else told

    def memory_used(self, folder: Folder) -> int | None:
        """A cgroup's memory in bytes, None on v1, where another hierarchy has it."""
        if self.mount.version is Version.V1:
            return None
        content = (self._content(folder, _MEMORY) or b"").strip()
        return int(content) if content.isdigit() and len(content) <= _LONGEST_NUMBER else None

    def subtree(self, folder: Folder) -> tuple[Group, tuple[Group, ...]]:
        """A cgroup and those inside it, each parent before its children, at most MAX_NESTED."""
        groups = [self._with_own(folder)]
        for group in self._nested(folder, MAX_DEPTH):
            if len(groups) > MAX_NESTED:
                self.warn(f"{folder}: over {MAX_NESTED} cgroups in it; the rest is left out")
                # A process may be in one of those.
                groups[0] = replace(groups[0], populated=self.populated(folder))
                break
            groups.append(group)
        own, *nested = _from_below(groups)
        return own, tuple(nested)

    def gone(self, parent: Folder, folder: Folder, group: Group) -> bool:
        """Whether a cgroup of which a set wasn't read isn't there any more."""
        return None in sets_of(group) and not parent.holds(folder)

    def children(self, folder: Folder) -> Iterator[tuple[str, Folder]]:
        """The cgroups in a cgroup by name, each open until the next one is asked for."""
        for name in folder.directories(self.warn):
            try:
                below = folder.below(name)
            except OSError as error:
                if error.errno not in GONE:
                    self.warn(f"{folder.of(name)}: {error.strerror}; left out")
                continue
            with below:
                yield name, below

    def _nested(self, folder: Folder, depth: int) -> Iterator[Group]:
        for name, below in self.children(folder):
            if depth == 0:
                self.warn(f"{folder.of(name)}: over {MAX_DEPTH} cgroups deep; left out")
                return
            group = self._with_own(below)
            if not self.gone(folder, below, group):
                yield group
                yield from self._nested(below, depth - 1)

    def _with_own(self, folder: Folder) -> Group:
        """A cgroup of which `populated` may leave out what is below it."""
        populated = self._events(folder)
        if populated is None:
            populated = self._inhabited(folder)
        return replace(self.sets(folder), populated=populated)

    def _events(self, folder: Folder) -> bool | None:
        """Whether a process is in it or below it, by v2's own word."""
        if self.mount.version is Version.V1:
            return None
        match = _POPULATED.search(self._content(folder, _EVENTS) or b"")
        return None if match is None else match[1] == b"1"

    def _inhabited(self, folder: Folder) -> bool | None:
        """Whether a process is in the cgroup itself."""
        content = self._content(folder, _PROCESSES)
        if content is None:
            return None
        if content.strip():
            return True
        left_out = self.hidden.tasks(folder.path)
        return None if left_out is None else left_out > 0

    def _set(self, folder: Folder, name: str) -> CpuSet | None:
        data = self._content(folder, name)
        if data is None:
            return None
        try:
            return _parsed(data)
        except ValueError as error:
            self.warn(f"{folder.of(name)}: {error}; taken as unknown")
            return None

    def _content(self, folder: Folder, name: str) -> bytes | None:
        try:
            return folder.read(name, cpulist.MAX_LENGTH + 2)
        except OSError as error:
            if error.errno not in GONE:
                self.warn(f"{folder.of(name)}: {error.strerror}; taken as unknown")
            return None


def sets_of(group: Group) -> tuple[CpuSet | None, ...]:
    """A cgroup's four sets."""
    return group.cpus, group.effective_cpus, group.mems, group.effective_mems


def _from_below(groups: list[Group]) -> list[Group]:
    """Cgroups, parents first, each populated if one inside it is."""
    inhabited: set[str] = set()
    told: list[Group] = []
    for group in reversed(groups):
        whole = replace(group, populated=True) if group.path in inhabited else group
        if whole.populated:
            inhabited.add(whole.path.rpartition("/")[0])
        told.append(whole)
    return told[::-1]


@lru_cache(maxsize=1024)  # a node's containers hold the same few sets
def _parsed(data: bytes) -> CpuSet:
    """The set in a file's content. Raises ValueError for anything but one whole line."""
    if len(data) > cpulist.MAX_LENGTH + 1:
        raise ValueError(f"longer than {cpulist.MAX_LENGTH} bytes")
    if data[-1:] != b"\n":
        # Its last number can't be trusted.
        raise ValueError("it doesn't end with a newline, so it was cut short")
    try:
        return cpulist.parse(data[:-1].decode("ascii"))
    except UnicodeDecodeError:
        raise ValueError("it isn't text") from None
