"""A recorded machine: the answers of live APIs in a folder, and cgroup files with kernel's rules.

The folder's format is docs/recorded-machines.md.
"""

import ctypes
import errno
import json
import os
from pathlib import Path

from numa_agent.config import CGROUP_DIR, CPU_DIR, RECORDED_ANSWERS, RECORDED_MARK
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import Document, mapping
from numa_agent.core.errors import SourceError

# cgroup2's and cgroup v1's f_type, from include/uapi/linux/magic.h.
_KERNEL_CGROUPS = {0x63677270, 0x27E0EB}

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


def is_kernel_cgroup(path: Path) -> bool:
    """Whether a path lies in a kernel's cgroup filesystem, which a folder may link to."""
    buffer = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None).statfs(os.fsencode(path), buffer) != 0:
        return False
    return ctypes.c_long.from_buffer(buffer).value in _KERNEL_CGROUPS


class RecordedKernel:
    """Writes cpuset files of a folder by the kernel's rules, and keeps its effective files true.

    The rules are measured ones: on v2 a set is taken as it is, and what is in force is what it
    shares with the parent's, or the parent's if that is nothing; on v1 a set must be online, lie
    in the parent's and hold the children's.
    """

    def __init__(self, host_root: Path) -> None:
        """Take the recorded machine's folder."""
        self._cgroups = host_root / CGROUP_DIR
        self._cpu = host_root / CPU_DIR

    def put(self, path: Path, text: str) -> None:
        """Write a CPU list into a cpuset file. Raises OSError as the kernel does."""
        group = path.parent
        if not path.is_file():
            raise _refused(errno.ENOENT, path)
        cpus = cpulist.parse(text)
        possible = _read(self._cpu / "possible") or _read(self._cpu / "present")
        if possible and cpus and max(cpus) > max(possible):
            raise _refused(errno.ERANGE, path)
        if (group / _V1_EFFECTIVE).exists():
            self._check_v1(path, cpus)
            path.write_text(text)
            (group / _V1_EFFECTIVE).write_text(text)
            return
        if not cpus and _populated(group):
            raise _refused(errno.ENOSPC, path)
        path.write_text(text)
        _settle(group, _read(group.parent / _V2_EFFECTIVE))

    def _check_v1(self, path: Path, cpus: CpuSet) -> None:
        group = path.parent
        if not cpus and _populated(group):
            raise _refused(errno.ENOSPC, path)
        if cpus - _read(self._cpu / "online"):
            raise _refused(errno.EINVAL, path)
        if (group.parent / path.name).exists() and cpus - _read(group.parent / path.name):
            raise _refused(errno.EACCES, path)
        if any(_read(child / path.name) - cpus for child in group.iterdir() if child.is_dir()):
            raise _refused(errno.EBUSY, path)


def _settle(group: Path, parent: CpuSet) -> None:
    """Set what is in force in a v2 group and below it."""
    effective = _read(group / "cpuset.cpus") & parent or parent
    (group / _V2_EFFECTIVE).write_text(cpulist.render(effective) + "\n")
    for child in sorted(group.iterdir()):
        if (child / _V2_EFFECTIVE).is_file():
            _settle(child, effective)


def _populated(group: Path) -> bool:
    """Whether a process is in a group or below it."""
    return any(file.read_text().strip() for file in group.rglob("cgroup.procs"))


def _read(path: Path) -> CpuSet:
    return cpulist.parse(path.read_text()) if path.is_file() else frozenset()


def _refused(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
