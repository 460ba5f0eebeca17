"""Sets of items that are near to each other."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from numa_agent.core.assigner.nodes.counting import so_many
from numa_agent.core.assigner.nodes.covering import cheapest
from numa_agent.core.assigner.nodes.items import Bits, Item, Wanted, Work, members

Distances = Sequence[Sequence[int]]
"""From the item at each position to the one at each position, itself included."""


def radius(positions: Sequence[int], distances: Distances) -> int:
    """The distance within which one item of a set has all of them; the nearest such one counts."""
    return min(max(distances[here][there] for there in positions) for here in positions)


def nearest(
    items: Sequence[Item], count: int, wanted: Wanted, distances: Distances, work: Work
) -> list[Item] | None:
    """The set of `count` items with all that is wanted of the smallest radius, then the cheapest.

    None where no set of so many has it. `items` are in the order of the positions in `distances`.
    Around each item, the items within one radius after the other are searched until a set is
    found; where steps run short it is one that has all that is wanted, but may be wider.
    """
    anywhere = so_many(items, count, wanted, work)
    if anywhere is None:
        return None
    at = {item.bit: position for position, item in enumerate(items)}
    reach = radius([at[item.bit] for item in anywhere], distances)
    # The cheapest of all sets needs no search at its own radius, only nearer.
    limit = reach - 1 if work.exact else reach
    for within, balls in _rings(items, count, wanted, distances, limit):
        found = [anywhere] if within == reach else []
        for ball, centres in balls.items():
            if work.left <= 0:
                return min(found, key=_key, default=anywhere)
            around = replace(wanted, places=(*wanted.places, centres))
            near = cheapest(members(items, ball), count, around, work)
            found += [] if near is None else [near]
        if found:
            return min(found, key=_key)
    return anywhere


def _key(found: Sequence[Item]) -> int:
    return sum(item.key for item in found)


def _rings(
    items: Sequence[Item], count: int, wanted: Wanted, distances: Distances, limit: int
) -> Iterator[tuple[int, Mapping[Bits, Bits]]]:
    """By radius, ascending: the sets of items within it around an item, each with its centres.

    Only sets are in it that could have a set with all that is wanted, and that a smaller radius
    didn't have.
    """
    rings: dict[int, dict[Bits, Bits]] = {}
    orders = _orders(items, wanted)
    for item, row in zip(items, distances, strict=True):
        balls = [ball for ball in _balls(items, item, row) if ball[0] <= limit]
        first = bisect_left(balls, True, key=lambda ball: _could(ball[1], count, wanted, orders))
        for within, ball in balls[first:]:
            ring = rings.setdefault(within, {})
            ring[ball] = ring.get(ball, 0) | item.bit
    for within in sorted(rings):
        yield within, rings[within]


def _balls(items: Sequence[Item], centre: Item, row: Sequence[int]) -> list[tuple[int, Bits]]:
    """The items within each distance that there is from a centre, which is one of them."""
    bits: dict[int, Bits] = {}
    for item, distance in zip(items, row, strict=True):
        bits[distance] = bits.get(distance, 0) | item.bit
    steps = sorted(bits)
    balls = accumulate((bits[step] for step in steps), int.__or__)
    return [(step, ball) for step, ball in zip(steps, balls, strict=True) if ball & centre.bit]


def _orders(items: Sequence[Item], wanted: Wanted) -> list[list[tuple[Bits, int]]]:
    """For each amount the items' bits and what they have of it, the largest first."""
    return [
        sorted(((item.bit, item.amounts[at]) for item in items), key=lambda each: -each[1])
        for at in range(len(wanted.amounts))
    ]


def _could(
    ball: Bits, count: int, wanted: Wanted, orders: Sequence[Sequence[tuple[Bits, int]]]
) -> bool:
    """Whether a set of so many could have each thing that is wanted, taken by itself."""
    if ball.bit_count() < count or not all(place & ball for place in wanted.places):
        return False
    for order, amount in zip(orders, wanted.amounts, strict=True):
        left, lack = count, amount
        for bit, has in order:
            if lack <= 0 or not left:
                break
            if bit & ball:
                left, lack = left - 1, lack - has
        if lack > 0:
            return False
    return True
