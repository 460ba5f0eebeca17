"""What is followed and what is told about it, as values.

The flags are those of https://man7.org/linux/man-pages/man7/inotify.7.html.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inotify_simple import flags

_SETS = frozenset({"cpuset.cpus", "cpuset.mems", "cpus", "mems"})
"""The cpuset controller's files, those of a v1 hierarchy mounted with `noprefix` included."""

_STATES = frozenset({"cpu_manager_state", "memory_manager_state"})

# Not IN_MODIFY: the kernel itself sends it for cgroup.events and memory.events, up to a hundred
# times a second under memory pressure, while every program that writes a set closes the file.
_WRITTEN = flags.CLOSE_WRITE | flags.MOVED_TO
_CREATED = flags.CREATE | flags.MOVED_TO
_GONE = flags.DELETE | flags.MOVED_FROM


class Role(StrEnum):
    """What a directory is followed for.

    CGROUP: child cgroups and the writes to its own cpuset files; kubelet's root, a QoS class, a
    pod or a container. STATE: the files in which kubelet's CPU and memory managers keep what they
    gave out.
    """

    CGROUP = "cgroup"
    STATE = "state"

    @property
    def mask(self) -> int:
        """What inotify is asked for."""
        mask = _CREATED | _GONE | _WRITTEN | flags.MOVE_SELF | flags.ONLYDIR
        # kubelet's folder may be a link to another disk; among cgroups there are no links.
        return int(mask if self is Role.STATE else mask | flags.DONT_FOLLOW)

    @property
    def files(self) -> frozenset[str]:
        """The files whose writes are told."""
        return _STATES if self is Role.STATE else _SETS


class Kind(StrEnum):
    """What happened.

    CREATED and GONE: a child directory, or a directory followed. WRITTEN: a file was closed after
    writing, or renamed into place; by anyone, this process included, and perhaps with the value
    that it had. OVERFLOW: what happened in a followed directory was lost, so read it anew.
    """

    CREATED = "created"
    GONE = "gone"
    WRITTEN = "written"
    OVERFLOW = "overflow"


class Followed(StrEnum):
    """What became of a wish to follow: GONE where no such directory is there.

    REFUSED where the kernel has no watch for it; then `Watch.degraded` says why.
    """

    FOLLOWED = "followed"
    GONE = "gone"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to `name` in `path`; an OVERFLOW is of `path` and has no name."""

    kind: Kind
    path: Path
    name: str = ""

    @property
    def target(self) -> Path:
        """What it happened to: read it and compare, since our own writes are told as well."""
        return self.path / self.name


def kinds(role: Role, mask: int, name: str) -> Iterator[Kind]:
    """What an inotify event in a directory of that role tells; nothing for what isn't asked."""
    if mask & flags.ISDIR:
        if role is Role.CGROUP and mask & (_CREATED | _GONE):
            yield Kind.CREATED if mask & _CREATED else Kind.GONE
    elif name in role.files and mask & (_WRITTEN | _GONE):
        yield Kind.WRITTEN if mask & _WRITTEN else Kind.GONE
