"""Where the cpuset controller's hierarchy is mounted, v1 or v2, and what its files are called.

https://docs.kernel.org/admin-guide/cgroup-v2.html#mounting,
https://docs.kernel.org/admin-guide/cgroup-v1/cgroups.html and proc_pid_mountinfo(5).
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config import CGROUP_DIR
from numa_agent.core.cgroups import Version
from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups.folder import read_file

PROC_DIR = "proc"

_CONTROLLERS = "cgroup.controllers"
_CPUSET = "cpuset"
_OCTAL = re.compile(r"\\([0-3][0-7]{2})")
_VERSIONS = {"cgroup": Version.V1, "cgroup2": Version.V2}
_LIMIT = 1 << 22
"""Bytes read of a mountinfo: a node with thousands of pods has a few thousand mounts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What one hierarchy calls its files; `threads` lists every task, one number a line."""

    cpus: str
    mems: str
    effective_cpus: str
    effective_mems: str
    threads: str


_V2 = Names(
    cpus="cpuset.cpus",
    mems="cpuset.mems",
    effective_cpus="cpuset.cpus.effective",
    effective_mems="cpuset.mems.effective",
    threads="cgroup.threads",
)
_V1 = Names(
    cpus="cpuset.cpus",
    mems="cpuset.mems",
    effective_cpus="cpuset.effective_cpus",
    effective_mems="cpuset.effective_mems",
    threads="tasks",
)
_V1_NOPREFIX = Names(
    cpus="cpus",
    mems="mems",
    effective_cpus="effective_cpus",
    effective_mems="effective_mems",
    threads="tasks",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """The cpuset controller's hierarchy: the directory of its root, and its files' names."""

    path: Path
    version: Version
    names: Names

    def read_only(self) -> bool:
        """Whether it is mounted read-only, by statvfs(3), so that nothing is written to ask."""
        try:
            return bool(os.statvfs(self.path).f_flag & os.ST_RDONLY)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class MountLine:
    """One cgroup mount of a mountinfo.

    `root` is the directory of the hierarchy that `point` shows: "/" is all of it, and "/../.."
    what lies above the reader's cgroup namespace. `options` are the super block's, of which v1's
    name the controllers.
    """

    point: str
    root: str
    version: Version
    options: frozenset[str]


def parse_mountinfo(text: str) -> tuple[MountLine, ...]:
    """The cgroup mounts of a mountinfo, without bad lines and those that a later mount hides."""
    visible: dict[str, MountLine] = {}
    for line in text.split("\n"):
        mounted, dash, source = line.partition(" - ")
        fields, kind = mounted.split(" "), source.split(" ")
        if not dash or len(fields) < 6 or len(kind) < 3:
            continue
        point = _unescaped(fields[4])
        visible.pop(point, None)
        if kind[0] in _VERSIONS:
            visible[point] = MountLine(
                point=point,
                root=_unescaped(fields[3]),
                version=_VERSIONS[kind[0]],
                options=frozenset(kind[2].split(",")),
            )
    return tuple(visible.values())


def find_mount(host_root: Path) -> Mount:
    """The cpuset hierarchy of the machine at a host root.

    It is looked up in that machine's own list of mounts, and where there is none, or where its
    mounts aren't below the host root, in the place where every distribution mounts it. Raises
    SourceError that says whether no hierarchy is mounted or none of them has the controller.
    """
    base = host_root / CGROUP_DIR
    without: list[Path] = []
    for place in (*_mounted(host_root), *_usual(base)):
        listed = _controllers(place)
        if listed is None:
            names = _v1_names(place)
            if names is not None:
                return Mount(path=place, version=Version.V1, names=names)
        elif _CPUSET in listed:
            return Mount(path=place, version=Version.V2, names=_V2)
        else:
            without.append(place)
    if without:
        raise SourceError(
            f"{without[0]}: the cpuset controller isn't enabled: {_CONTROLLERS} doesn't list it,"
            " and no cgroup v1 cpuset hierarchy is mounted; the kernel was built or booted"
            " without it (cgroup_disable=cpuset), or something else holds it"
        )
    raise SourceError(f"{base}: {_nothing_in(base)}")


def _nothing_in(base: Path) -> str:
    try:
        there = os.listdir(base)
    except (FileNotFoundError, NotADirectoryError):
        there = []
    except OSError as error:
        return f"{error.strerror}"
    if not there:
        return "no cgroup hierarchy is mounted; mount the host's /sys/fs/cgroup"
    return (
        "no cpuset hierarchy is mounted: it is neither cgroup v2 nor is there cgroup v1's cpuset;"
        " mount the host's /sys/fs/cgroup with all that is mounted below it"
    )


def _mounted(host_root: Path) -> Iterator[Path]:
    """The directories that may be the hierarchy by the machine's mounts, the likeliest first."""
    lines = _mounts(host_root)
    # The controller is in v1 or in v2, never in both; a mount of a part shows less than the whole.
    for line in sorted(lines, key=lambda line: (line.version, line.root.strip("/.") != "")):
        if line.version is Version.V2 or _CPUSET in line.options:
            yield host_root / line.point.lstrip("/")


def _mounts(host_root: Path) -> tuple[MountLine, ...]:
    # Mount points are as that process sees them: ours below "/", those of the machine's first
    # process below another root.
    processes = ("self", "1") if os.path.realpath(host_root) == "/" else ("1", "self")
    for process in processes:
        path = host_root / PROC_DIR / process / "mountinfo"
        try:
            lines = parse_mountinfo(os.fsdecode(read_file(path, _LIMIT)))
        except OSError:
            continue
        if lines:
            return lines
    return ()


def _usual(base: Path) -> Iterator[Path]:
    """Where systemd and the distributions mount it: at the place itself or in a folder there."""
    yield base
    # Below a v2 hierarchy are its cgroups, and no other mounts.
    if _controllers(base) is None:
        names = sorted(_directories(base), key=lambda name: (_CPUSET not in name.split(","), name))
        yield from (base / name for name in names)


def _directories(path: Path) -> Iterator[str]:
    try:
        with os.scandir(path) as entries:
            yield from (entry.name for entry in entries if entry.is_dir())
    except OSError:
        return


def _controllers(path: Path) -> list[str] | None:
    """The controllers that a v2 hierarchy's root lists, None where it is no such root."""
    try:
        listed = read_file(path / _CONTROLLERS, _LIMIT)
    except OSError:
        return None
    return listed.decode("ascii", "replace").split()


def _v1_names(path: Path) -> Names | None:
    """What the files of a v1 cpuset hierarchy's root are called, None where it is no such root."""
    if os.path.isfile(path / _V1.cpus):
        return _V1
    both = (_V1_NOPREFIX.cpus, _V1_NOPREFIX.mems)
    return _V1_NOPREFIX if all(os.path.isfile(path / name) for name in both) else None


def _unescaped(field: str) -> str:
    """A field of mountinfo with its spaces, tabs, newlines and backslashes back in place."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
