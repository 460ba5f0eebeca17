"""A recorded machine: the answers of live APIs in a folder, and cgroup files with kernel's rules.

The folder's format is docs/recorded-machines.md.
"""

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config import CPU_DIR, NODE_DIR, RECORDED_ANSWERS, RECORDED_MARK
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import Document, mapping
from numa_agent.core.errors import SourceError
from numa_agent.host.recording.plain import LeftOutError, read_plain

_LARGE = 1 << 25


def is_recorded(host_root: Path) -> bool:
    """Whether a host root is a recorded machine, so that every source is read from it."""
    return (host_root / RECORDED_MARK).is_file()


def read_answer(host_root: Path, name: str) -> Document:
    """A live API's answer, such as `pods` or `node`. Raises SourceError when it isn't usable."""
    path = host_root / RECORDED_ANSWERS / f"{name}.json"
    try:
        answer = json.loads(read_plain(path, _LARGE).decode())
    except FileNotFoundError as error:
        raise SourceError(
            f"{path}: not there; a recorded machine keeps the answer in it"
        ) from error
    except (OSError, ValueError, RecursionError, LeftOutError) as error:
        raise SourceError(f"{path}: {error}") from error
    if not isinstance(answer, dict):
        raise SourceError(f"{path}: not a JSON object")
    return mapping(answer)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of a cgroup's sets: its files, and where the machine lists what is online and can be."""

    effective_v2: str
    effective_v1: str
    folder: str


_KINDS = {
    "cpuset.cpus": _Kind("cpuset.cpus.effective", "cpuset.effective_cpus", CPU_DIR),
    "cpuset.mems": _Kind("cpuset.mems.effective", "cpuset.effective_mems", NODE_DIR),
}


class RecordedKernel:
    """Writes cpuset files of a folder by the kernel's rules, and keeps its effective files true.

    The rules are measured ones: on v2 a set is taken as it is, and what is in force is what it
    shares with the parent's, or the parent's if that is nothing; on v1 a set must be online, lie
    in the parent's and hold the children's.
    """

    def __init__(self, host_root: Path) -> None:
        """Take the recorded machine's folder."""
        self._host_root = host_root
        self._root = host_root.resolve()

    def put(self, path: Path, text: str) -> None:
        """Write a list into cpuset.cpus or cpuset.mems. Raises OSError as the kernel does.

        A file outside the folder, where a link may lead, is never written.
        """
        if not path.resolve().is_relative_to(self._root):
            raise _refused(errno.EXDEV, path)
        if not path.is_file() or path.name not in _KINDS:
            raise _refused(errno.ENOENT, path)
        try:
            changes = self._changes(path, cpulist.parse(text))
        except ValueError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        for file, ids in changes.items():
            file.write_text(cpulist.render(ids) + "\n")

    def _changes(self, path: Path, ids: CpuSet) -> dict[Path, CpuSet]:
        """Every file that the write changes, with its new set."""
        group, kind = path.parent, _KINDS[path.name]
        lists = self._host_root / kind.folder
        possible = _read(lists / "possible") or _read(lists / "present")
        if possible and ids and max(ids) > max(possible):
            raise _refused(errno.ERANGE, path)
        if not ids and _populated(group):
            raise _refused(errno.ENOSPC, path)
        if (group / kind.effective_v2).exists():
            above = _read(group.parent / kind.effective_v2)
            return {path: ids} | _in_force(group, path.name, above, ids)
        _check_v1(path, ids, _read(lists / "online"))
        effective = group / kind.effective_v1
        return {path: ids} | ({effective: ids} if effective.exists() else {})


def _check_v1(path: Path, ids: CpuSet, online: CpuSet) -> None:
    group = path.parent
    if ids - online:
        raise _refused(errno.EINVAL, path)
    if (group.parent / path.name).exists() and ids - _read(group.parent / path.name):
        raise _refused(errno.EACCES, path)
    if any(_read(child / path.name) - ids for child in group.iterdir() if child.is_dir()):
        raise _refused(errno.EBUSY, path)


def _in_force(group: Path, name: str, parent: CpuSet, ids: CpuSet) -> dict[Path, CpuSet]:
    """The effective files of a v2 group and those below it, once its set is `ids`."""
    effective = ids & parent or parent
    file = _KINDS[name].effective_v2
    changes = {group / file: effective}
    for child in sorted(group.iterdir()):
        if (child / file).is_file():
            changes |= _in_force(child, name, effective, _read(child / name))
    return changes


def _populated(group: Path) -> bool:
    """Whether a process is in a group or below it."""
    return any(file.read_text().strip() for file in group.rglob("cgroup.procs"))


def _read(path: Path) -> CpuSet:
    return cpulist.parse(path.read_text()) if path.is_file() else frozenset()


def _refused(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
