"""Tasks that cgroup v1's lists leave out: those of PID namespaces that this process can't see.

v2 lists each of them as 0. On v1 the pids controller tells how many there are, in whatever
namespace: https://docs.kernel.org/admin-guide/cgroup-v1/pids.html
"""

import os
from pathlib import Path

from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups.errors import CgroupError
from numa_agent.host.cgroups.folder import Folder, names_of, opened
from numa_agent.host.cgroups.hierarchies import PIDS, controller_base
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.cgroups.tasks import same_namespace

_COUNT = "pids.current"
_LONGEST = 20


class Hidden:
    """How many tasks the lists of a machine's cgroups leave out; none where they show all."""

    def __init__(self, mount: Mount, host_root: Path, proc: Path) -> None:
        """Take the cpuset hierarchy, the machine's root and its procfs."""
        self._all_shown = mount.version is Version.V2 or _shows_tasks(proc)
        self._base = None if self._all_shown else controller_base(mount, host_root, PIDS)

    def tasks(self, path: str) -> int | None:
        """How many are in a cgroup whose list is empty, without those below it; None if not told.

        The pids controller counts those that the kernel moved out of the cgroup of cpusets, too.
        """
        if self._all_shown:
            return 0
        if self._base is None:
            return None
        try:
            with opened(self._base, names_of(path)) as folder:
                return _own(folder)
        except (OSError, CgroupError, ValueError):
            return None


def _shows_tasks(proc: Path) -> bool:
    """Whether a procfs has the tasks of a machine, and those under the ids that we are told.

    A pod without hostPID has files of it mounted, and no task's.
    """
    try:
        with os.scandir(proc) as entries:
            return any(entry.name.isdigit() for entry in entries) and same_namespace(proc)
    except OSError:
        return False


def _own(folder: Folder) -> int:
    """Its count is also of those below it, which come and go while they are counted."""
    below = 0
    for name in folder.directories(_unheard):
        with folder.below(name) as each:
            below += _count(each)
    return max(0, _count(folder) - below)


def _count(folder: Folder) -> int:
    return int(folder.read(_COUNT, _LONGEST))


def _unheard(_: str) -> None:
    pass
