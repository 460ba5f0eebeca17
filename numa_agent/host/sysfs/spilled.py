"""Memory that each node could not give to those who wanted it there, since the boot.

`numa_foreign`, in pages: https://docs.kernel.org/admin-guide/numastat.html
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from numa_agent.config import NODE_DIR
from numa_agent.core.topology import TopologyWarning
from numa_agent.host.sysfs.files import Directory

_LINE = re.compile(r"^numa_foreign (\d{1,19})$", re.MULTILINE)


def read_spilled(host_root: Path, nodes: Iterable[int]) -> Mapping[int, int]:
    """Bytes by node, without those whose file can't be read."""
    warnings: list[TopologyWarning] = []
    try:
        root = Directory.root(host_root, warnings)
    except OSError:
        return {}
    with root:
        found = {node: root.value(f"{NODE_DIR}/node{node}/numastat", _bytes) for node in nodes}
    return {node: size for node, size in found.items() if size is not None}


def _bytes(text: str) -> int:
    match = _LINE.search(text)
    if match is None:
        raise ValueError("no line gives numa_foreign")
    return int(match[1]) * os.sysconf("SC_PAGE_SIZE")
