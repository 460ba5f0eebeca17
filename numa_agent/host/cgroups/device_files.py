"""The device files that a container uses, where kubelet can't be asked which devices it gave.

v1 lists what a cgroup may use (https://docs.kernel.org/admin-guide/cgroup-v1/devices.html); v2
asks a BPF program, which nobody can read, so that only what is held open is seen (proc_pid_fd(5)).
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups.folder import names_of, opened
from numa_agent.host.cgroups.hierarchies import DEVICES, controller_base
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.cgroups.tasks import processes_of, same_namespace

MAX_PROCESSES = 64
MAX_FILES = 4096
"""Open files of one process that are looked at."""

_ALLOWED = re.compile(rb"c 195:(?P<minor>\d{1,3}) [rwm]+")
"""A GPU of NVIDIA's in a devices.list: https://docs.kernel.org/admin-guide/devices.html."""

_CONTROL = 254
"""From here on the minor numbers are the driver's own files, which every container gets."""

_LIMIT = 1 << 16
_DEV = ("/dev/", "../../../dev/")
"""How an open file below /dev begins: as the kernel says it, and as a recording does, whose links
stay in it."""


def read_allowed_devices(mount: Mount, host_root: Path, path: str) -> frozenset[str]:
    """The GPUs' files that a v1 cgroup may use, by name. Raises OSError or CgroupError."""
    base = controller_base(mount, host_root, DEVICES)
    if base is None or mount.version is Version.V2:
        return frozenset()
    with opened(base, names_of(path)) as folder:
        matches = map(_ALLOWED.fullmatch, folder.lines("devices.list", _LIMIT))
        minors = [int(match["minor"]) for match in matches if match is not None]
    return frozenset(f"nvidia{minor}" for minor in minors if minor < _CONTROL)


def read_open_devices(mount: Mount, proc: Path, paths: Iterable[str]) -> frozenset[str]:
    """The names below /dev that the cgroups' own processes hold open, as far as they are seen.

    Raises OSError or CgroupError where a cgroup can't be read.
    """
    if not same_namespace(proc):
        return frozenset()
    found: set[str] = set()
    for path in paths:
        with opened(mount.path, names_of(path)) as folder:
            processes = processes_of(folder)
        for process in processes[:MAX_PROCESSES]:
            # It may have ended, or be somebody else's.
            with suppress(OSError):
                found |= {*_open_files(proc / str(process) / "fd")}
    return frozenset(found)


def _open_files(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for _, entry in zip(range(MAX_FILES), entries, strict=False):
            # One that was closed meanwhile costs itself alone.
            with suppress(OSError):
                name = below_dev(os.readlink(entry.path))
                if name is not None:
                    yield name


def below_dev(link: str) -> str | None:
    """The name below /dev of an open file, by its link in `/proc/PID/fd`; None for any other."""
    return next((link.removeprefix(dev) for dev in _DEV if link.startswith(dev)), None)
