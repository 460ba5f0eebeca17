"""A recorded machine: the answers of live APIs in a folder, and cgroup files with kernel's rules.

The folder's format is docs/recorded-machines.md.
"""

import errno
import json
import os
from pathlib import Path

from numa_agent.config import CPU_DIR, RECORDED_ANSWERS, RECORDED_MARK
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import Document, mapping
from numa_agent.core.errors import SourceError

_V2_EFFECTIVE = "cpuset.cpus.effective"
_V1_EFFECTIVE = "cpuset.effective_cpus"


def is_recorded(host_root: Path) -> bool:
    """Whether a host root is a recorded machine, so that every source is read from it."""
    return (host_root / RECORDED_MARK).is_file()


def read_answer(host_root: Path, name: str) -> Document:
    """A live API's answer, such as `pods` or `node`. Raises SourceError when it isn't usable."""
    path = host_root / RECORDED_ANSWERS / f"{name}.json"
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SourceError(
            f"{path}: not there; a recorded machine keeps the answer in it"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: {error}") from error
    if not isinstance(answer, dict):
        raise SourceError(f"{path}: not a JSON object")
    return mapping(answer)


class RecordedKernel:
    """Writes cpuset files of a folder by the kernel's rules, and keeps its effective files true.

    The rules are measured ones: on v2 a set is taken as it is, and what is in force is what it
    shares with the parent's, or the parent's if that is nothing; on v1 a set must be online, lie
    in the parent's and hold the children's.
    """

    def __init__(self, host_root: Path) -> None:
        """Take the recorded machine's folder."""
        self._root = host_root.resolve()
        self._cpu = host_root / CPU_DIR

    def put(self, path: Path, text: str) -> None:
        """Write a CPU list into a cpuset file. Raises OSError as the kernel does.

        A file outside the folder, where a link may lead, is never written.
        """
        if not path.resolve().is_relative_to(self._root):
            raise _refused(errno.EXDEV, path)
        if not path.is_file():
            raise _refused(errno.ENOENT, path)
        try:
            changes = self._changes(path, cpulist.parse(text))
        except ValueError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        for file, cpus in changes.items():
            file.write_text(cpulist.render(cpus) + "\n")

    def _changes(self, path: Path, cpus: CpuSet) -> dict[Path, CpuSet]:
        """Every file that the write changes, with its new set."""
        group = path.parent
        possible = _read(self._cpu / "possible") or _read(self._cpu / "present")
        if possible and cpus and max(cpus) > max(possible):
            raise _refused(errno.ERANGE, path)
        if not cpus and _populated(group):
            raise _refused(errno.ENOSPC, path)
        if (group / _V1_EFFECTIVE).exists():
            self._check_v1(path, cpus)
            return {path: cpus, group / _V1_EFFECTIVE: cpus}
        return {path: cpus} | _in_force(group, _read(group.parent / _V2_EFFECTIVE), cpus)

    def _check_v1(self, path: Path, cpus: CpuSet) -> None:
        group = path.parent
        if cpus - _read(self._cpu / "online"):
            raise _refused(errno.EINVAL, path)
        if (group.parent / path.name).exists() and cpus - _read(group.parent / path.name):
            raise _refused(errno.EACCES, path)
        if any(_read(child / path.name) - cpus for child in group.iterdir() if child.is_dir()):
            raise _refused(errno.EBUSY, path)


def _in_force(group: Path, parent: CpuSet, cpus: CpuSet) -> dict[Path, CpuSet]:
    """The effective files of a v2 group and those below it, once its set is `cpus`."""
    effective = cpus & parent or parent
    changes = {group / _V2_EFFECTIVE: effective}
    for child in sorted(group.iterdir()):
        if (child / _V2_EFFECTIVE).is_file():
            changes |= _in_force(child, effective, _read(child / "cpuset.cpus"))
    return changes


def _populated(group: Path) -> bool:
    """Whether a process is in a group or below it."""
    return any(file.read_text().strip() for file in group.rglob("cgroup.procs"))


def _read(path: Path) -> CpuSet:
    return cpulist.parse(path.read_text()) if path.is_file() else frozenset()


def _refused(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
