"""How much CPU time a cgroup may use, whatever its CPUs: the cpu controller's quota.

v2: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files (cpu.max), v1:
https://docs.kernel.org/scheduler/sched-bwc.html.
"""

import re
from pathlib import Path

from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups.folder import names_of, opened
from numa_agent.host.cgroups.hierarchies import CPU, controller_base
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.cgroups.writing import Put

_MAX = re.compile(rb"(?P<quota>[1-9]\d{0,15}) (?P<period>[1-9]\d{0,15})")
_V1_UNBOUND = ("cpu.cfs_quota_us", "-1\n")
_LIMIT = 4096


def read_quota(mount: Mount, host_root: Path, path: str) -> float | None:
    """The CPUs' worth of time that a cgroup may use, None where nothing bounds it.

    Raises OSError or CgroupError where the cgroup can't be read.
    """
    base = controller_base(mount, host_root, CPU)
    if base is None:
        return None
    with opened(base, names_of(path)) as folder:
        if mount.version is Version.V2:
            return _cpus(folder.lines("cpu.max", _LIMIT))
        quota = folder.lines("cpu.cfs_quota_us", _LIMIT)
        period = folder.lines("cpu.cfs_period_us", _LIMIT)
        return _cpus([b" ".join((*quota, *period))])


def lift_quota(mount: Mount, host_root: Path, path: str, put: Put | None) -> None:
    """Let a cgroup use all the time of its CPUs. Raises OSError or CgroupError."""
    base = controller_base(mount, host_root, CPU)
    if base is None:
        return
    name, text = ("cpu.max", "max\n") if mount.version is Version.V2 else _V1_UNBOUND
    with opened(base, names_of(path)) as folder:
        if put is None:
            folder.put(name, text)
        else:
            put(base / path / name, text)


def _cpus(lines: list[bytes]) -> float | None:
    match = _MAX.fullmatch(lines[0]) if lines else None
    return None if match is None else int(match["quota"]) / int(match["period"])
