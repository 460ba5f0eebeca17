"""Bytes by NUMA node, what a container made apart from what it read."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class MemorySource(StrEnum):
    """Who told where the memory is."""

    CGROUP = "memory.numa_stat"
    """The memory controller, of all that is charged to the cgroup."""
    MAPS = "numa_maps"
    """The page tables of the processes that are seen from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Where a container's memory is, in bytes by NUMA node.

    `own` is what it made: anonymous and shared memory. `cache` is the page cache of files that it
    was the first to read, programs and libraries among them, which others may share. `hugepages`
    says whether those of hugetlbfs are among its own.
    """

    own: Mapping[int, int]
    cache: Mapping[int, int]
    source: MemorySource
    hugepages: bool = False


def together(uses: Iterable[MemoryUse]) -> MemoryUse | None:
    """The sum, None of nothing."""
    own, cache = Counter[int](), Counter[int]()
    all_of_it = [*uses]
    for use in all_of_it:
        own.update(use.own)
        cache.update(use.cache)
    if not all_of_it:
        return None
    return MemoryUse(
        own=dict(own),
        cache=dict(cache),
        source=all_of_it[0].source,
        hugepages=all(use.hugepages for use in all_of_it),
    )
