"""How many CPUs, of which cores of a node, a pod takes: kinds of CPUs and threads of cores.

What is found here is a number of units from each class of alike cores, and any of its units will
do; which ones depends on the caches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from numa_agent.core.assigner.cpus.cores import Core, sizes_of
from numa_agent.core.assigner.cpus.subset_sums import (
    Counts,
    added,
    descending,
    largest,
    largest_first,
    sums_of,
    up_to,
)
from numa_agent.core.assigner.values import Apart, Threads, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """CPUs that are taken together, ascending, and the position of their cache."""

    cpus: tuple[int, ...]
    cache: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """So many of these units, in ascending order; of one only the `odd` lowest CPUs, unless 0."""

    units: tuple[Unit, ...]
    count: int
    odd: int = 0


def needs(wish: Wish, cores: Sequence[Core], count: int) -> list[Need]:
    """What it takes to have this many CPUs of a node's cores; they have as many.

    Of the fastest kind as many as can be, then of the next. Then by the wish's threads:
    - whole cores: as many CPUs as can be in whole cores, of these the larger cores first. What is
      left of the count is of broken cores if they have as many; else, and always for a wish to
      be apart by cores, it is of one more whole core, of the smallest ones;
    - spread: as many cores as can be, of these whole ones first.
    """
    kinds = [list(alike) for _, alike in groupby(_by_kind(cores), key=lambda core: core.kind)]
    found: list[Need] = []
    for alike, of_kind in zip(kinds, _counts(wish, kinds, count), strict=True):
        if of_kind and wish.threads is Threads.SPREAD:
            found += _spread(alike, of_kind)
        elif of_kind:
            found += _whole(alike, of_kind, apart=wish.apart is Apart.CORES)
    return [need for need in found if need.count]


def possible(wish: Wish, cores: Sequence[Core]) -> Counts:
    """The counts of CPUs that can be had of these cores."""
    if wish.threads is Threads.ONLY_WHOLE_CORES:
        return sums_of(sizes_of(cores))
    return up_to(_threads(cores))


def unbroken(wish: Wish, cores: Sequence[Core]) -> Counts:
    """Those of the possible counts that leave no core broken that is whole now."""
    if wish.threads is not Threads.WHOLE_CORES:
        return possible(wish, cores)
    found, before = 1, 0
    for _, alike in groupby(_by_kind(cores), key=lambda core: core.kind):
        of_kind = list(alike)
        whole = sums_of(sizes_of(of_kind))
        single = _threads(core for core in of_kind if not core.whole)
        full = whole.bit_length() - 1
        odd = 1 << full if wish.apart is Apart.CORES else whole
        found |= (whole | added(odd, up_to(single))) << before
        before += full + single
    return found


def _by_kind(cores: Sequence[Core]) -> list[Core]:
    return sorted(cores, key=lambda core: core.kind)


def _threads(cores: Iterable[Core]) -> int:
    return sum(len(core.cpus) for core in cores)


def _counts(wish: Wish, kinds: Sequence[Sequence[Core]], count: int) -> list[int]:
    """How many CPUs of each kind: as many as can be of each, if the next can have the rest."""
    parts = [possible(wish, alike) for alike in kinds]
    rests = [1]
    for part in reversed(parts[1:]):
        rests.append(added(part, rests[-1]))
    taken: list[int] = []
    for part, rest in zip(parts, reversed(rests), strict=True):
        fits = part & up_to(count)
        taken.append(next(now for now in descending(fits) if rest >> (count - now) & 1))
        count -= taken[-1]
    return taken


def _whole(cores: Sequence[Core], count: int, *, apart: bool) -> list[Need]:
    sizes = sizes_of(cores)
    whole = largest(sums_of(sizes), count)
    taken = largest_first(sizes, whole)
    rest = count - whole
    single = [Unit(cpus=(cpu,), cache=c.cache) for c in cores if not c.whole for cpu in c.cpus]
    unused = [size for size in sizes if taken[size] < sizes[size]]
    # The rest is smaller than any unused core, else that core would be among the whole ones.
    breaks = min(unused) if rest and unused and (apart or rest > len(single)) else None
    found = [Need(units=_ascending(single), count=rest if breaks is None else 0)]
    for size, number in taken.items():
        units = [
            Unit(cpus=core.cpus, cache=core.cache)
            for core in cores
            if core.whole and len(core.cpus) == size
        ]
        more = size == breaks
        found.append(Need(units=_ascending(units), count=number + more, odd=rest if more else 0))
    return found


def _spread(cores: Sequence[Core], count: int) -> list[Need]:
    """One thread of each core, the lowest; beyond that the lowest of the other threads."""
    found: list[Need] = []
    for whole in (True, False):
        firsts = [
            Unit(cpus=core.cpus[:1], cache=core.cache) for core in cores if core.whole is whole
        ]
        found.append(Need(units=_ascending(firsts), count=min(count, len(firsts))))
        count -= found[-1].count
    others = [Unit(cpus=(cpu,), cache=core.cache) for core in cores for cpu in core.cpus[1:]]
    return [*found, Need(units=_ascending(others), count=count)]


def _ascending(units: Iterable[Unit]) -> tuple[Unit, ...]:
    return tuple(sorted(units, key=lambda unit: unit.cpus))
