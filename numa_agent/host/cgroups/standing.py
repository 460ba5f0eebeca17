"""How this process stands to the cpuset hierarchy: what of it is there, and what may be written.

Nothing is written to find out: https://man7.org/linux/man-pages/man2/access.2.html and
https://man7.org/linux/man-pages/man3/statvfs.3.html
"""

import os
from pathlib import Path

from numa_agent.core import cpulist
from numa_agent.core.cgroups import Version
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.doctor.facts import CgroupFacts, Kubepods
from numa_agent.core.doctor.findings import Told
from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups.folder import read_file
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.cgroups.tree import CpusetTree

_CPUSET = "cpuset"
_LIMIT = 1 << 16


def read_standing(
    host_root: Path, cgroup_root: str, *, absent: str, live: bool, there: bool
) -> CgroupFacts:
    """What is to be known of the hierarchy of the machine at a host root.

    `live` is whether it is this process's own kernel's, so that it can be asked what is permitted;
    `there` whether its place is there at all, so that it is a fault if nothing is in it.
    """
    tree = CpusetTree(host_root, lambda: cgroup_root)
    try:
        mount = tree.mount()
    except SourceError as error:
        why = str(error) if there else absent
        return _without(why, failed=live and there)
    place = _place(mount, host_root)
    return CgroupFacts(
        version=Told(source=place, value=mount.version),
        read_only=_read_only(mount, place) if live else Told(source=place, why=absent),
        kubepods=_kubepods(tree, mount, place, live=live),
        isolated=_isolated(mount, place, absent),
    )


def _without(why: str, *, failed: bool) -> CgroupFacts:
    source = "cgroups"
    return CgroupFacts(
        version=Told(source=source, why=why, failed=failed),
        read_only=Told(source=source, why=why),
        kubepods=Told(source=source, why=why),
        isolated=Told(source=source, why=why),
    )


def _place(mount: Mount, host_root: Path) -> str:
    """The mount as the machine calls it."""
    return str(mount.path).removeprefix(str(host_root).rstrip("/")).lstrip("/")


def _read_only(mount: Mount, place: str) -> Told[bool]:
    try:
        return Told(source=place, value=mount.read_only())
    except SourceError as error:
        return Told(source=place, why=str(error))


def _kubepods(
    tree: CpusetTree, mount: Mount, place: str, *, live: bool
) -> Told[tuple[Kubepods, ...]]:
    try:
        paths = [path for path in tree.parents() if _is_kubepods(path)]
        groups = [_group(tree, mount, path, live=live) for path in paths]
    except SourceError as error:
        return Told(source=place, why=str(error))
    return Told(source=place, value=tuple(groups))


def _is_kubepods(path: str) -> bool:
    name = path.rpartition("/")[2].removesuffix(".slice")
    return name == "kubepods" or name.endswith("-kubepods")


def _group(tree: CpusetTree, mount: Mount, path: str, *, live: bool) -> Kubepods:
    return Kubepods(
        path=path,
        populated=tree.read(path).populated,
        handed_on=_handed_on(mount, path),
        writable=_writable(mount.path / path / mount.names.cpus) if live else None,
    )


def _handed_on(mount: Mount, path: str) -> bool | None:
    """Whether the children have the controller; each cgroup of v1 has."""
    if mount.version is Version.V1:
        return True
    try:
        enabled = read_file(mount.path / path / "cgroup.subtree_control", _LIMIT)
    except OSError:
        return None
    return _CPUSET in enabled.decode("ascii", "replace").split()


def _writable(file: Path) -> bool | None:
    return os.access(file, os.W_OK, effective_ids=True) if file.exists() else None


def _isolated(mount: Mount, place: str, absent: str) -> Told[CpuSet]:
    """The CPUs of isolated partitions, which newer kernels tell; v1 has no partitions."""
    name = f"{place}/cpuset.cpus.isolated"
    if mount.version is Version.V1:
        return Told(source=place, value=frozenset())
    try:
        text = read_file(mount.path / "cpuset.cpus.isolated", _LIMIT).decode("ascii")
        return Told(source=name, value=cpulist.parse(text))
    except FileNotFoundError:
        return Told(source=name, why=absent)
    except (OSError, ValueError) as error:
        return Told(source=name, why=str(error))
