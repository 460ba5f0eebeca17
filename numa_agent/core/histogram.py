"""How often a duration fell into which bucket: a histogram that is replaced, never changed.

https://prometheus.io/docs/practices/histograms/
"""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """`counts` has one number for each of the ascending `bounds` (inclusive) and one beyond them.

    `total` is the sum of all values.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float = 0.0

    @classmethod
    def of(cls, *bounds: float) -> Self:
        """One without a value."""
        return cls(bounds=bounds, counts=(0,) * (len(bounds) + 1))

    def plus(self, value: float) -> "Histogram":
        """This one with one more value; one below 0 counts as 0."""
        value = max(value, 0.0)
        counts = list(self.counts)
        counts[bisect_left(self.bounds, value)] += 1
        return Histogram(bounds=self.bounds, counts=tuple(counts), total=self.total + value)

    @property
    def cumulative(self) -> tuple[int, ...]:
        """How many values were at most each bound, and how many there are in all."""
        return tuple(accumulate(self.counts))
