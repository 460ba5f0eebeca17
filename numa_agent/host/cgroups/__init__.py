"""The cpuset controller through the cgroup filesystem: find, read and write, decide nothing.

v2: https://docs.kernel.org/admin-guide/cgroup-v2.html, v1:
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html.
"""

from numa_agent.host.cgroups.errors import (
    CgroupError,
    DriverMismatchError,
    GoneError,
    NeverWrittenError,
    NotSupportedError,
    OwnGroupError,
    ReadOnlyError,
    RefusedError,
)
from numa_agent.host.cgroups.folder import Warn, put_to_kernel
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.cgroups.tree import CpusetTree
from numa_agent.host.cgroups.writing import File, Put

__all__ = [
    "CgroupError",
    "CpusetTree",
    "DriverMismatchError",
    "File",
    "GoneError",
    "Mount",
    "NeverWrittenError",
    "NotSupportedError",
    "OwnGroupError",
    "Put",
    "ReadOnlyError",
    "RefusedError",
    "Warn",
    "put_to_kernel",
]
