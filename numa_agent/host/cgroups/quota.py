"""How much CPU time a cgroup may use, whatever its CPUs: the cpu controller's quota.

v2: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files (cpu.max), v1:
https://docs.kernel.org/scheduler/sched-bwc.html.
"""

import os
import re
from pathlib import Path

from numa_agent.config import CGROUP_DIR
from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups.folder import names_of, opened
from numa_agent.host.cgroups.mount import Mount

_MAX = re.compile(rb"(?P<quota>[1-9]\d{0,15}) (?P<period>[1-9]\d{0,15})")
_V1_MOUNTS = ("cpu,cpuacct", "cpu", "cpuacct,cpu")
_LIMIT = 4096


def read_quota(mount: Mount, host_root: Path, path: str) -> float | None:
    """The CPUs' worth of time that a cgroup may use, None where nothing bounds it.

    Raises OSError or CgroupError where the cgroup can't be read.
    """
    names = names_of(path)
    if mount.version is Version.V2:
        with opened(mount.path, names) as folder:
            return _cpus(folder.lines("cpu.max", _LIMIT))
    for name in _V1_MOUNTS:
        base = host_root / CGROUP_DIR / name
        if os.path.isdir(base):
            with opened(base, names) as folder:
                quota = folder.lines("cpu.cfs_quota_us", _LIMIT)
                period = folder.lines("cpu.cfs_period_us", _LIMIT)
                return _cpus([b" ".join((*quota, *period))])
    return None


def _cpus(lines: list[bytes]) -> float | None:
    match = _MAX.fullmatch(lines[0]) if lines else None
    return None if match is None else int(match["quota"]) / int(match["period"])
