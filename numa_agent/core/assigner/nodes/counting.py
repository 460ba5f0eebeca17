"""How many items it takes to have all that is wanted, and a set that has it."""

from collections.abc import Sequence
from itertools import accumulate

from numa_agent.core.assigner.nodes.covering import cheapest
from numa_agent.core.assigner.nodes.items import Bits, Item, Wanted, Work, lacking


def fewest(items: Sequence[Item], wanted: Wanted, work: Work) -> int | None:
    """The least number of items, at least one, that have all that is wanted; None if all lack it.

    Where steps run short it may be more than the least.
    """
    enough = greedy(items, wanted)
    if not enough:
        return None
    least = _at_least(items, wanted)
    for count in range(least, len(enough)):
        if cheapest(items, count, wanted, work) is not None:
            return count
        if work.left <= 0:
            break
    return len(enough)


def so_many(items: Sequence[Item], count: int, wanted: Wanted, work: Work) -> list[Item] | None:
    """The cheapest set of `count` items with all that is wanted, or any where steps ran short."""
    found = cheapest(items, count, wanted, work)
    if found is not None or work.exact:
        return found
    enough = greedy(items, wanted)
    return enough if enough is not None and len(enough) == count else None


def greedy(items: Sequence[Item], wanted: Wanted) -> list[Item] | None:
    """A set of at least one item that has all that is wanted, None if all lack it.

    Each time the item is taken that brings most of what is still lacking, then the cheapest; a
    place that isn't met counts as much as all of an amount.
    """
    rest, taken = sorted(items, key=lambda item: item.key), list[Item]()
    lacks, places = wanted.amounts, wanted.places
    while rest and (not taken or places or any(lacks)):
        brings = [_brings(item, lacks, places, wanted.amounts) for item in rest]
        taken.append(rest.pop(brings.index(max(brings))))
        lacks = lacking(wanted, taken)
        places = tuple(place for place in places if not place & taken[-1].bit)
    return None if not taken or places or any(lacks) else taken


def _brings(
    item: Item, lacks: Sequence[int], places: Sequence[Bits], wanted: Sequence[int]
) -> int:
    """How much of what is lacking an item brings, each amount and place in thousandths."""
    met = sum(1000 for place in places if place & item.bit)
    parts = (
        1000 * min(lack, has) // whole
        for lack, has, whole in zip(lacks, item.amounts, wanted, strict=True)
        if whole
    )
    return met + sum(parts)


def _at_least(items: Sequence[Item], wanted: Wanted) -> int:
    """A number of items that it takes at least: by each amount alone, and by places apart."""
    least = 1
    for at, amount in enumerate(wanted.amounts):
        largest = sorted((item.amounts[at] for item in items), reverse=True)
        least = max(least, sum(1 for total in accumulate(largest) if total < amount) + 1)
    met, apart = 0, 0
    for place in sorted(wanted.places, key=lambda bits: (bits.bit_count(), bits)):
        if not place & met:
            met, apart = met | place, apart + 1
    return max(least, apart)
