"""Medians, and how surely two series of times differ.

Times of computers aren't normally distributed and few are taken, so that nothing here asks for a
distribution: the ratio of two series is the median of all ratios of a time of one and a time of
the other (Hodges and Lehmann's estimate, of the times' logarithms), and its interval holds those
ratios that the rank-sum test of Mann and Whitney doesn't reject:
https://www.itl.nist.gov/div898/handbook/prc/section3/prc35.htm and
https://doi.org/10.1214/aoms/1177704172.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ERROR = 0.05
"""How often an interval may be wrong where only chance is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of a series with its lowest and highest, in the series' unit."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times as long the second of two series takes.

    `low` and `high` are the bounds that 19 of 20 such intervals hold the truth in, None where the
    series are too short to give any.
    """

    value: float
    low: float | None
    high: float | None

    @property
    def known(self) -> bool:
        """Whether there are enough times to say anything."""
        return self.low is not None

    @property
    def above(self) -> bool:
        """Whether the second takes longer, beyond chance."""
        return self.low is not None and self.low > 1

    @property
    def below(self) -> bool:
        """Whether the second takes less, beyond chance."""
        return self.high is not None and self.high < 1


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle. Raises ValueError for none."""
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def spread(values: Sequence[float]) -> Spread:
    """The spread of a series. Raises ValueError for an empty one."""
    return Spread(median=median(values), low=min(values), high=max(values), count=len(values))


def ratio(first: Sequence[float], second: Sequence[float]) -> Ratio:
    """How many times as long the second takes. Raises ValueError unless all are above 0."""
    if not first or not second or min(*first, *second) <= 0:
        raise ValueError("a ratio needs times above 0 in both series")
    ratios = sorted(late / early for late in second for early in first)
    cut = _outside(len(first), len(second))
    if cut == 0:
        return Ratio(value=median(ratios), low=None, high=None)
    return Ratio(value=median(ratios), low=ratios[cut - 1], high=ratios[-cut])


def _outside(first: int, second: int) -> int:
    """The place, from 1, of the ratio that bounds the interval at each end; 0 where none can."""
    counts = _rank_sums(first, second)
    allowed = sum(counts) * ERROR / 2
    cut = 0
    while cut < len(counts) and sum(counts[: cut + 1]) <= allowed:
        cut += 1
    return cut


def _rank_sums(first: int, second: int) -> list[int]:
    """In how many orders of the two series u pairs are the wrong way round, for each u.

    The Gaussian binomial coefficient of `first + second` over `first`, as a polynomial.
    """
    counts = [1]
    for factor in range(1, first + 1):
        counts = _divided(_multiplied(counts, second + factor), factor)
    return counts


def _multiplied(polynomial: list[int], power: int) -> list[int]:
    """Times 1 - q^power."""
    shifted = [0] * power + polynomial
    padded = polynomial + [0] * power
    return [own - other for own, other in zip(padded, shifted, strict=True)]


def _divided(polynomial: list[int], power: int) -> list[int]:
    """By 1 - q^power, which leaves no rest here."""
    found = polynomial.copy()
    for place in range(power, len(found)):
        found[place] += found[place - power]
    return found[: len(found) - power]
