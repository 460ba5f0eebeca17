"""Items of which some are taken together, and what they must have in sum."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Amounts = tuple[int, ...]
"""How much of each thing, the things in an order that items and what is wanted share."""

Bits = int
"""A set of items: the sum of their bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item, its bit in sets, and its share of the key by which sets are compared."""

    bit: Bits
    key: int
    amounts: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a set must have in sum, and the places of each of which it must have an item."""

    amounts: Amounts
    places: tuple[Bits, ...] = ()


@dataclass(slots=True)
class Work:
    """How many steps may still be taken; `exact` until something was left out to keep to it."""

    left: int
    exact: bool = True


def items_of(amounts: Sequence[Amounts], costs: Sequence[int]) -> tuple[Item, ...]:
    """Items whose sets are compared by the sum of costs, then by which has the first items.

    The key's low bits are the set itself, the first item the highest of them and negative, so that
    sums of keys compare as sorted tuples of positions do, and the least key tells its set.
    """
    count = len(costs)
    bits = [1 << (count - 1 - position) for position in range(count)]
    return tuple(
        Item(bit=bit, key=(cost << count) - bit, amounts=each)
        for bit, cost, each in zip(bits, costs, amounts, strict=True)
    )


def members(items: Iterable[Item], bits: Bits) -> list[Item]:
    """The items of a set."""
    return [item for item in items if item.bit & bits]


def lacking(wanted: Wanted, taken: Iterable[Item]) -> Amounts:
    """What a set lacks of each amount."""
    lacks = wanted.amounts
    for item in taken:
        lacks = tuple([max(0, lack - has) for lack, has in zip(lacks, item.amounts, strict=True)])
    return lacks
