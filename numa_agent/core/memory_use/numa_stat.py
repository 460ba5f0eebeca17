"""memory.numa_stat, which says by node what is charged to a cgroup and all below it.

v2 in bytes (https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files), v1 in
pages (https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#numa-stat). In v2's `file` shared
memory and tmpfs are counted, which `shmem` tells alone; in v1 they are on the anonymous lists.
"""

import re
from collections.abc import Iterable, Mapping

from numa_agent.core.memory_use.values import MemorySource, MemoryUse

_FIELD = re.compile(rb"N(?P<node>\d{1,6})=(?P<amount>\d{1,19})")


def parse_v2(lines: Iterable[bytes]) -> MemoryUse:
    """What a v2 cgroup's file says. Raises ValueError for what is no such file."""
    rows = _rows(lines, b" ")
    anonymous, file = _row(rows, b"anon"), _row(rows, b"file")
    shared = rows.get(b"shmem", {})
    return MemoryUse(
        own={node: amount + shared.get(node, 0) for node, amount in anonymous.items()},
        cache={node: max(0, amount - shared.get(node, 0)) for node, amount in file.items()},
        source=MemorySource.CGROUP,
    )


def parse_v1(lines: Iterable[bytes], page_bytes: int) -> MemoryUse:
    """What a v1 cgroup's file says. Raises ValueError for what is no such file."""
    rows = _rows(lines, b"=")
    # Those of the cgroup with all below it, where the hierarchy counts so.
    anonymous = rows.get(b"hierarchical_anon") or _row(rows, b"anon")
    file = rows.get(b"hierarchical_file") or _row(rows, b"file")
    return MemoryUse(
        own={node: pages * page_bytes for node, pages in anonymous.items()},
        cache={node: pages * page_bytes for node, pages in file.items()},
        source=MemorySource.CGROUP,
    )


def _rows(lines: Iterable[bytes], separator: bytes) -> Mapping[bytes, Mapping[int, int]]:
    """The amounts by node of each row; v1 has a sum after the row's name."""
    rows: dict[bytes, Mapping[int, int]] = {}
    for line in lines:
        name, found, rest = line.partition(separator)
        if not found:
            raise ValueError(f"{line[:80]!r} is no row of memory.numa_stat")
        fields = rest.split()
        if separator == b"=":
            fields = fields[1:]
        matches = [_FIELD.fullmatch(field) for field in fields]
        rows[name] = {
            int(match["node"]): int(match["amount"]) for match in matches if match is not None
        }
        if len(rows[name]) != len(fields):
            raise ValueError(f"{line[:80]!r} has something else than a number for each node")
    return rows


def _row(rows: Mapping[bytes, Mapping[int, int]], name: bytes) -> Mapping[int, int]:
    if name not in rows:
        raise ValueError(f"memory.numa_stat has no row {name.decode()!r}")
    return rows[name]
