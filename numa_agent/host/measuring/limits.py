"""What the kernel lets this process have: CPUs, memory nodes and memory.

Of this process and not of a machine below a host root: only the live machine can be measured.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from numa_agent.config import OWN_CGROUP, OWN_PROC
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuListError, CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import Allowed
from numa_agent.host.sysfs.free import read_free_memory

_MEMS = re.compile(r"^Mems_allowed_list:\s*(\S+)$", re.MULTILINE)

_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""What a memory cgroup may have and has, with v2 and v1:
https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files"""


def read_allowed(host_root: Path, nodes: Iterable[int]) -> Allowed:
    """This process's limits, and what is free on each node. Raises SourceError."""
    return Allowed(
        cpus=frozenset(os.sched_getaffinity(0)),
        mems=read_mems(),
        headroom=read_headroom(),
        free=read_free_memory(host_root, nodes),
        quota=read_quota(),
    )


def read_mems(proc: str = OWN_PROC) -> CpuSet:
    """The nodes whose memory this process's cpuset allows. Raises SourceError."""
    path = Path(proc, "self", "status")
    try:
        found = _MEMS.search(path.read_text(encoding="utf-8", errors="replace"))
        if found is None:
            raise SourceError(f"{path} has no Mems_allowed_list: mount the kernel's own /proc")
        return cpulist.parse(found[1])
    except (OSError, CpuListError) as error:
        raise SourceError(f"{path}: can't be read: {error}") from error


def read_headroom(proc: str = OWN_PROC, cgroup: str = OWN_CGROUP) -> int | None:
    """Bytes that the memory cgroups of this process leave it, None where nothing limits it."""
    limits = [
        max(0, most - has)
        for folder in _folders(Path(proc, "self", "cgroup"), Path(cgroup), "memory")
        for limit, usage in _FILES
        if (most := _number(folder / limit)) is not None
        and (has := _number(folder / usage)) is not None
    ]
    return min(limits, default=None)


def read_quota(proc: str = OWN_PROC, cgroup: str = OWN_CGROUP) -> float | None:
    """How many CPUs' time the cgroups of this process leave it, None where nothing limits it."""
    return min(
        (
            quota
            for folder in _folders(Path(proc, "self", "cgroup"), Path(cgroup), "cpu")
            if (quota := _quota(folder)) is not None
        ),
        default=None,
    )


def _quota(folder: Path) -> float | None:
    words = (_text(folder / "cpu.max") or "").split()
    if len(words) == 2:
        most, period = map(_whole, words)
    else:
        most, period = (_number(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    return most / period if most is not None and period else None


def _folders(file: Path, mount: Path, controller: str) -> Iterator[Path]:
    """This process's cgroup and all above it, with v2, and with v1's hierarchy of a controller.

    Inside a container the path may be one that only the host has; the mount is then the
    container's own cgroup, which is the last in here.
    """
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines[:64]:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            top = mount
        elif controller in controllers.split(","):
            top = mount / controller
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for count in range(len(parts), -1, -1):
            yield top.joinpath(*parts[:count])


def _number(path: Path) -> int | None:
    """A file's number; None where it isn't there, says `max` or is negative (no limit)."""
    return _whole(_text(path) or "")


def _text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(4096).decode("ascii", "replace").strip()
    except OSError:
        return None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
