"""Memory that is free on each NUMA node now: nodeN/meminfo, read only when it is to be used.

MemFree and what the kernel takes back without swapping (FilePages less Shmem and what is being
written, and SReclaimable), as `MemAvailable` counts it for the whole machine:
https://docs.kernel.org/filesystems/proc.html#meminfo
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from numa_agent.config import NODE_DIR
from numa_agent.core.topology import TopologyWarning
from numa_agent.host.sysfs.files import Directory

_LINE = re.compile(r"^(?:Node \d+ )?(\w+(?:\(\w+\))?):\s+(\d{1,15}) kB$", re.MULTILINE)


def read_free_memory(host_root: Path, nodes: Iterable[int]) -> Mapping[int, int | None]:
    """Bytes that a pod could still have of each node, None where that can't be read."""
    warnings: list[TopologyWarning] = []
    try:
        root = Directory.root(host_root, warnings)
    except OSError:
        return dict.fromkeys(nodes)
    with root:
        return {
            node: root.value(f"{NODE_DIR}/node{node}/meminfo", _available_bytes) for node in nodes
        }


def _available_bytes(text: str) -> int:
    sizes = {name: int(kilobytes) for name, kilobytes in _LINE.findall(text)}
    if "MemFree" not in sizes:
        raise ValueError("no line gives MemFree in kB")
    kept = sum(sizes.get(name, 0) for name in ("Shmem", "Dirty", "Writeback"))
    cached = max(0, sizes.get("FilePages", 0) - kept)
    total = sizes["MemFree"] + cached + sizes.get("SReclaimable", 0)
    return min(total, sizes.get("MemTotal", total)) * 1024
