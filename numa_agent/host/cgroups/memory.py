"""Where the memory of a container is: its cgroup's own account, else its processes' page tables.

memory.numa_stat is world-readable and is all that a pod without hostPID sees. numa_maps is asked
only where there is none, since the kernel walks every page table to answer
(https://docs.kernel.org/filesystems/proc.html).
"""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from numa_agent.core import cpulist
from numa_agent.core.cgroups import Version
from numa_agent.core.memory_use import (
    HUGETLB_FILES,
    MemoryUse,
    parse_numa_maps,
    parse_v1,
    parse_v2,
    together,
    with_hugepages,
)
from numa_agent.host.cgroups.folder import Folder, names_of, opened, read_file
from numa_agent.host.cgroups.hierarchies import MEMORY, controller_base
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.cgroups.tasks import processes_of, same_namespace

MAX_PROCESSES = 64
"""Processes of one cgroup whose page tables are read."""

MAPS_LIMIT = 1 << 22
"""Bytes of one process's page tables; a longer text isn't read."""

_STAT = "memory.numa_stat"
_LIMIT = 1 << 16


def read_memory(mount: Mount, host_root: Path, path: str) -> MemoryUse | None:
    """The account of a cgroup with all below it, None where the kernel keeps none.

    Raises OSError, CgroupError or ValueError where it can't be read.
    """
    base = controller_base(mount, host_root, MEMORY)
    if base is None:
        return None
    with opened(base, names_of(path)) as folder:
        try:
            lines = folder.lines(_STAT, _LIMIT)
        except FileNotFoundError:
            return None
        if mount.version is Version.V2:
            allowed = partial(_allowed, folder, mount.names.effective_mems)
            return with_hugepages(parse_v2(lines), _hugepages(folder), allowed)
    return parse_v1(lines, os.sysconf("SC_PAGE_SIZE"))


def _hugepages(folder: Folder) -> Iterator[list[bytes]]:
    """The account of each size of hugepages that there is one of."""
    for name in HUGETLB_FILES:
        try:
            yield folder.lines(name, _LIMIT)
        except FileNotFoundError:
            continue


def _allowed(folder: Folder, name: str) -> frozenset[int] | None:
    """The nodes that a cgroup may take memory from, None where that isn't told."""
    try:
        text = folder.read(name, _LIMIT)
        return cpulist.parse(text.decode("utf-8", "replace")) or None
    except (OSError, ValueError):
        return None


def read_maps(mount: Mount, proc: Path, paths: Iterable[str]) -> MemoryUse | None:
    """What the page tables of the cgroups' own processes say, None where one isn't seen.

    Raises OSError or CgroupError where a cgroup can't be read.
    """
    processes: list[int] = []
    for path in paths:
        with opened(mount.path, names_of(path)) as folder:
            processes += processes_of(folder)
    if 0 in processes or len(processes) > MAX_PROCESSES or not same_namespace(proc):
        return None
    found = []
    for process in processes:
        try:
            text = read_file(proc / str(process) / "numa_maps", MAPS_LIMIT + 1)
        except (FileNotFoundError, ProcessLookupError):
            if (proc / str(process)).exists():
                return None  # a kernel without NUMA
            continue
        except OSError:
            return None  # somebody else's process
        if len(text) > MAPS_LIMIT:
            return None
        found.append(parse_numa_maps(text.splitlines()))
    return together(found)
