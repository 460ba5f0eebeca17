"""/proc/PID/numa_maps: where the pages of one process are, mapping by mapping.

proc_pid_numa_maps(5). A page that two processes share is counted for both. What a file's mapping
holds is page cache, private changes to it included: whose library it is nobody can be blamed for.
hugetlbfs is memory alone, whatever its files are called.
"""

import re
from collections import Counter
from collections.abc import Iterable

from numa_agent.core.memory_use.values import MemorySource, MemoryUse

_PAGES = re.compile(rb"N(?P<node>\d{1,6})=(?P<pages>\d{1,15})")
_SIZE = re.compile(rb"kernelpagesize_kB=(?P<size>\d{1,9})")
_FILE = b"file="
_SHARED = (b"file=/dev/shm/", b"file=/memfd:", b"file=/SYSV", b"file=/dev/zero", b"file=[anon")
"""Names that the kernel gives to memory without a file on a disk."""
_HUGE = b"huge"
"""The mark of hugetlbfs: an anonymous mapping of it has a file, too."""


def parse_numa_maps(lines: Iterable[bytes]) -> MemoryUse:
    """What one process's file says; a line without pages says nothing."""
    own, cache = Counter[int](), Counter[int]()
    for line in lines:
        fields = line.split(b" ")
        pages = [match for field in fields if (match := _PAGES.fullmatch(field))]
        sizes = [match for field in fields if (match := _SIZE.fullmatch(field))]
        kib = int(sizes[0]["size"]) if sizes else 4
        of_file = _HUGE not in fields and any(
            field.startswith(_FILE) and not field.startswith(_SHARED) for field in fields
        )
        for match in pages:
            (cache if of_file else own)[int(match["node"])] += int(match["pages"]) * kib * 1024
    return MemoryUse(own=dict(own), cache=dict(cache), source=MemorySource.MAPS, hugepages=True)
