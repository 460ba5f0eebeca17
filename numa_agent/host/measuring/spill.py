"""Whether memory that a node was to give came from others."""

import mmap
from pathlib import Path

from numa_agent.config import NUMA_COUNTERS
from numa_agent.host.sysfs.spilled import read_spilled


def spilled_so_far(node: int | None, root: Path = Path("/")) -> int | None:
    """How often since the boot the kernel gave memory of another node to who wanted this one's.

    It is `numa_foreign`, which counts a huge page as one, and of every process. None without a
    node, and where the kernel doesn't count (https://docs.kernel.org/admin-guide/numastat.html).
    """
    if node is None or not _counts(root):
        return None
    size = read_spilled(root, [node]).get(node)
    return None if size is None else size // mmap.PAGESIZE


def risen(before: int | None, after: int | None) -> int | None:
    """By how much a count rose, None where either isn't known."""
    return None if before is None or after is None else max(0, after - before)


def _counts(root: Path) -> bool:
    """Whether the sysctl vm.numa_stat has the kernel count; a kernel without it counts."""
    try:
        return (root / NUMA_COUNTERS).read_text().strip() != "0"
    except OSError:
        return True
