"""Which counts of CPUs can be had as whole cores. A set of counts is an int: bit n is for n."""

from collections.abc import Iterator, Mapping

Counts = int
"""A set of counts: bit n is set where n is one of them."""


def up_to(count: int) -> Counts:
    """Every count from 0 to this one."""
    return (1 << (count + 1)) - 1


def sums_of(sizes: Mapping[int, int]) -> Counts:
    """The sums of any of so many numbers of each size: {2: 3, 1: 1} is 0 to 7."""
    found = 1
    for size, number in sizes.items():
        step = 1
        while number > 0:
            now = min(step, number)
            found |= found << (now * size)
            number -= now
            step *= 2
    return found


def added(one: Counts, other: Counts) -> Counts:
    """The sums of a count of the one and a count of the other."""
    fewer, more = sorted((one, other), key=int.bit_count)
    found = 0
    for count in descending(fewer):
        found |= more << count
    return found


def descending(counts: Counts) -> Iterator[int]:
    """The counts, the largest first."""
    while counts:
        count = counts.bit_length() - 1
        yield count
        counts ^= 1 << count


def largest(counts: Counts, most: int) -> int:
    """The largest of the counts, which has 0, that isn't more than `most`."""
    return (counts & up_to(most)).bit_length() - 1


def largest_first(sizes: Mapping[int, int], total: int) -> dict[int, int]:
    """How many of each size make this total, as many as possible of the largest, then the next.

    The total must be one of sums_of(sizes).
    """
    taken: dict[int, int] = {}
    smaller = dict(sorted(sizes.items()))
    for size in sorted(sizes, reverse=True):
        number = smaller.pop(size)
        rest = sums_of(smaller)
        most = min(number, total // size)
        taken[size] = next(n for n in range(most, -1, -1) if rest >> (total - n * size) & 1)
        total -= taken[size] * size
    return taken
