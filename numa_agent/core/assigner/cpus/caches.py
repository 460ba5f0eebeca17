"""Which last-level caches of a node a pod's CPUs are behind."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

Amounts = tuple[int, ...]
"""Of each class of units that a pod needs, so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRoom:
    """One cache: its free units by class, its free CPUs, whether all of its usable CPUs are."""

    amounts: Amounts
    free: int
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """Caches that differ by name alone: the bits of the first 0, 1, 2... of them."""

    amounts: Amounts
    cost: int
    bits: tuple[int, ...]


def fewest_caches(caches: Sequence[CacheRoom], wanted: Amounts) -> frozenset[int]:
    """The positions of the caches that have all the units that are wanted; all have as many.

    They are the fewest; of equal numbers those with the fewest whole ones, then with the fewest
    free CPUs, so that least is left over; then the first, compared as ascending lists.
    """
    forced = _forced(caches, wanted)
    lacks = _lacking(wanted, [caches[place].amounts for place in forced])
    if not any(lacks):
        return forced
    others = {place: each for place, each in enumerate(caches) if place not in forced}
    groups = _grouped(others, len(caches), _scale(caches))
    search = _Search(groups, len(caches), len(wanted))
    for count in range(search.least(lacks), len(others) + 1):
        value = search.best(0, count, lacks)
        if value is not None:
            return forced | _chosen(value, len(caches))
    raise AssertionError("the caches have less than what was counted of them")


def _forced(caches: Sequence[CacheRoom], wanted: Amounts) -> frozenset[int]:
    """Those with units of a class of which all are wanted."""
    total = [sum(column) for column in zip(*(each.amounts for each in caches), strict=True)]
    return frozenset(
        place
        for place, each in enumerate(caches)
        if any(
            has and want == most
            for has, want, most in zip(each.amounts, wanted, total, strict=True)
        )
    )


def _lacking(wanted: Amounts, has: Sequence[Amounts]) -> Amounts:
    return tuple(max(0, want - sum(each[at] for each in has)) for at, want in enumerate(wanted))


def _scale(caches: Sequence[CacheRoom]) -> int:
    """More than the free CPUs of any set of them, so that one whole cache costs more than that."""
    return sum(each.free for each in caches) + 1


def _grouped(caches: Mapping[int, CacheRoom], number: int, scale: int) -> list[_Alike]:
    """Alike caches, those with the most units first."""
    places: dict[tuple[Amounts, int], list[int]] = defaultdict(list)
    for place, each in caches.items():
        if any(each.amounts):
            places[each.amounts, scale * each.whole + each.free].append(place)
    return [
        _Alike(
            amounts=amounts,
            cost=cost,
            bits=tuple(accumulate((1 << (number - 1 - place) for place in found), initial=0)),
        )
        for (amounts, cost), found in sorted(places.items(), reverse=True)
    ]


def _chosen(value: int, number: int) -> frozenset[int]:
    bits = -value & ((1 << number) - 1)
    return frozenset(place for place in range(number) if bits >> (number - 1 - place) & 1)


class _Search:
    """The least value of so many caches that have what is lacking.

    A set's value is its cost, shifted by one bit a cache, less the bits of its caches, the first
    cache's the highest: of equal cost the larger number is the lower ascending list. Values add
    up, so it is enough to know the best of each rest. What is lacking is nearly what so many
    caches can have at most, since one fewer can't have it, and that leaves few rests to look at.
    """

    def __init__(self, groups: Sequence[_Alike], number: int, classes: int) -> None:
        self._groups = groups
        self._shift = number
        self._most = [_most(groups[at:], classes) for at in range(len(groups) + 1)]
        self._known: dict[tuple[int, int, Amounts], int | None] = {}

    def least(self, lacks: Amounts) -> int:
        """A number of caches that it takes at least, by each class of units alone."""
        return max(
            next(count for count, amount in enumerate(column) if amount >= lack)
            for column, lack in zip(self._most[0], lacks, strict=True)
        )

    def best(self, at: int, count: int, lacks: Amounts) -> int | None:
        """Of the groups from this one on, the least value of `count` caches; None: impossible."""
        for column, lack in zip(self._most[at], lacks, strict=True):
            if count >= len(column) or column[count] < lack:
                return None
        if at == len(self._groups):
            return 0
        key = (at, count, lacks)
        if key not in self._known:
            self._known[key] = min(self._values(at, count, lacks), default=None)
        return self._known[key]

    def _values(self, at: int, count: int, lacks: Amounts) -> Iterator[int]:
        group = self._groups[at]
        for number in range(min(count, len(group.bits) - 1) + 1):
            left = tuple(
                [
                    max(0, lack - number * has)
                    for lack, has in zip(lacks, group.amounts, strict=True)
                ]
            )
            rest = self.best(at + 1, count - number, left)
            if rest is not None:
                yield (number * group.cost << self._shift) - group.bits[number] + rest


def _most(groups: Sequence[_Alike], classes: int) -> list[list[int]]:
    """By class, the most units that 0, 1, 2... of these groups' caches can have."""
    columns: list[list[int]] = []
    for at in range(classes):
        has = sorted(((each.amounts[at], len(each.bits) - 1) for each in groups), reverse=True)
        each_one = (amount for amount, number in has for _ in range(number))
        columns.append(list(accumulate(each_one, initial=0)))
    return columns
