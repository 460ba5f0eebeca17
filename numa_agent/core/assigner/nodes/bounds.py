"""What the rest of a row of items could still give, at best."""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import gt


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Of the items from one position on, by how many of them are taken.

    `sums` are, for each amount by itself, the largest sums, negative; `least` the least sums of
    keys; both only for as many items as there are. `meets` are the places that any of them meets.
    """

    sums: Sequence[Sequence[int]]
    least: Sequence[int]
    meets: int

    def most(self, taken: int) -> tuple[int, ...] | None:
        """The largest sums that so many items have, None where there aren't so many."""
        return tuple([-each[taken] for each in self.sums]) if taken < len(self.least) else None


def bounds_of(
    amounts: Sequence[tuple[int, ...]], keys: Sequence[int], hits: Sequence[int], count: int
) -> list[Bounds]:
    """The bounds at each position, and after the last, for up to `count` items."""
    columns: list[list[int]] = [[] for _ in (amounts[0] if amounts else ())]
    costs: list[int] = []
    meets = 0
    found = [_bounds(columns, costs, meets, count)]
    for each, key, met in zip(reversed(amounts), reversed(keys), reversed(hits), strict=True):
        for column, amount in zip(columns, each, strict=True):
            insort(column, -amount)
        insort(costs, key)
        meets |= met
        found.append(_bounds(columns, costs, meets, count))
    found.reverse()
    return found


def _bounds(
    columns: Sequence[Sequence[int]], costs: Sequence[int], meets: int, count: int
) -> Bounds:
    sums = [list(accumulate(column[:count], initial=0)) for column in columns]
    return Bounds(sums=sums, least=list(accumulate(costs[:count], initial=0)), meets=meets)


def within(amounts: tuple[int, ...], most: tuple[int, ...]) -> bool:
    """Whether none of the amounts is larger than its bound."""
    return True not in map(gt, amounts, most)
