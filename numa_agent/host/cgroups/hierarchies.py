"""Where the other controllers of a machine are: on v2 beside cpuset, on v1 in mounts of their own.

https://docs.kernel.org/admin-guide/cgroup-v1/cgroups.html
"""

import os
from collections.abc import Iterable
from pathlib import Path

from numa_agent.config import CGROUP_DIR
from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups.mount import Mount

CPU = ("cpu,cpuacct", "cpu", "cpuacct,cpu")
MEMORY = ("memory",)
DEVICES = ("devices",)
PIDS = ("pids",)


def controller_base(mount: Mount, host_root: Path, v1_names: Iterable[str]) -> Path | None:
    """The root of a controller's hierarchy, by the names of its v1 mount; None without one."""
    if mount.version is Version.V2:
        return mount.path
    mounts = (host_root / CGROUP_DIR / name for name in v1_names)
    return next((each for each in mounts if os.path.isdir(each)), None)
