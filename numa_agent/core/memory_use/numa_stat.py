"""memory.numa_stat, which says by node what is charged to a cgroup and all below it.

v2 in bytes (https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files), v1 in
pages (https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#numa-stat). In v2's `file` shared
memory and tmpfs are counted, which `shmem` tells alone; in v1 they are on the anonymous lists, and
what is locked (mlock(2)) is on a list of its own, pages of files among it.

Pages of hugetlbfs are in neither: hugetlb.<size>.numa_stat tells them, in cgroup v2 and since
Linux 5.17 (https://docs.kernel.org/admin-guide/cgroup-v2.html#hugetlb-interface-files). It counts
a page where it was taken, also after the kernel has moved it to another node (as a write to
cpuset.mems makes it do), and when that page is freed the other node's count falls below zero. Seen
on Linux 6.1 and 6.12: tests/vm/test_hugepages.py.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from numa_agent.core.memory_use.values import MemorySource, MemoryUse

HUGETLB_FILES = tuple(
    f"hugetlb.{size}.numa_stat"
    for size in ("64KB", "1MB", "2MB", "16MB", "32MB", "512MB", "1GB", "2GB", "16GB")
)
"""One for each size that the kernel has on some machine:
https://docs.kernel.org/admin-guide/mm/hugetlbpage.html."""

_FIELD = re.compile(rb"N(?P<node>\d{1,6})=(?P<amount>\d{1,19})")
_FIELD_BELOW_ZERO = re.compile(rb"N(?P<node>\d{1,6})=(?P<amount>\d{1,20})")
"""A count below zero is printed as an unsigned number of 64 bits."""

_ZERO = 1 << 63
"""A number from here on stands for one below zero."""


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
    locked = rows.get(b"hierarchical_unevictable") or rows.get(b"unevictable", {})
    file = rows.get(b"hierarchical_file") or _row(rows, b"file")
    own = _sum(anonymous, locked)
    return MemoryUse(
        own={node: pages * page_bytes for node, pages in own.items()},
        cache={node: pages * page_bytes for node, pages in file.items()},
        source=MemorySource.CGROUP,
    )


def with_hugepages(
    use: MemoryUse,
    files: Iterable[Iterable[bytes]],
    allowed: Callable[[], frozenset[int] | None] = lambda: None,
) -> MemoryUse:
    """The same with the pages of hugetlbfs by the cgroup's file of each size, if there is one.

    `allowed` gives the nodes that the cgroup may take memory from, None where they aren't known;
    it is asked where there are pages. A size whose pages have been moved, as far as its file
    shows that, isn't counted, and hugepages then aren't among what is told. Raises ValueError for
    what is no such file.
    """
    sizes = [_row(_rows(lines, b"=", _FIELD_BELOW_ZERO), b"total") for lines in files]
    nodes = allowed() if any(amount for size in sizes for amount in size.values()) else None
    kept = [size for size in sizes if not _moved(size, nodes)]
    return replace(
        use, own=_sum(use.own, *kept), hugepages=bool(sizes) and len(kept) == len(sizes)
    )


def _moved(size: Mapping[int, int], allowed: frozenset[int] | None) -> bool:
    """Whether pages were moved since they were taken: nobody can have freed more than there were,
    and what was taken in a node that isn't allowed any more the kernel has moved, or tried to.
    """
    return any(
        amount >= _ZERO or (allowed is not None and node not in allowed)
        for node, amount in size.items()
        if amount
    )


def _sum(*parts: Mapping[int, int]) -> Mapping[int, int]:
    found = Counter[int]()
    for part in parts:
        found.update(part)
    return dict(found)


def _rows(
    lines: Iterable[bytes], separator: bytes, field: re.Pattern[bytes] = _FIELD
) -> Mapping[bytes, Mapping[int, int]]:
    """The amounts by node of each row; v1 has a sum after the row's name."""
    rows: dict[bytes, Mapping[int, int]] = {}
    for line in lines:
        name, found, rest = line.partition(separator)
        if not found:
            raise ValueError(f"{line[:80]!r} is no row of a numa_stat file")
        fields = rest.split()
        if separator == b"=":
            fields = fields[1:]
        matches = [field.fullmatch(each) for each in fields]
        rows[name] = {
            int(match["node"]): int(match["amount"]) for match in matches if match is not None
        }
        if len(rows[name]) != len(fields):
            raise ValueError(f"{line[:80]!r} has something else than a number for each node")
    return rows


def _row(rows: Mapping[bytes, Mapping[int, int]], name: bytes) -> Mapping[int, int]:
    if name not in rows:
        raise ValueError(f"a numa_stat file has no row {name.decode()!r}")
    return rows[name]
