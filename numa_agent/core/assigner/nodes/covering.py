"""The cheapest set of so many items whose amounts suffice, without trying every set.

Choosing NUMA nodes for a pod is this: a node is an item, its amounts are the CPUs and the bytes
of each kind that it can give, and a place is a set of items of which one must be taken: the nodes
that a device may be on. Kubelet tries all sets of nodes, and hangs where there are many:
https://github.com/kubernetes/kubernetes/issues/135581
"""

from collections.abc import Iterable, Sequence
from math import ceil

from numa_agent.core.assigner.nodes.bounds import Bounds, bounds_of, within
from numa_agent.core.assigner.nodes.fronts import Layer, State, few_of, front_of
from numa_agent.core.assigner.nodes.items import (
    Amounts,
    Bits,
    Item,
    Wanted,
    Work,
    lacking,
    members,
)

_BOUND = 2
"""The steps that it takes to tell what an item and those after it could give."""

_FEW = 600
"""The steps that any search may take: all that 8 items have, so that these are always exact."""


def cheapest(items: Sequence[Item], count: int, wanted: Wanted, work: Work) -> list[Item] | None:
    """The set of `count` of these items with all that is wanted whose key is the least.

    A dynamic programme over the items: for each number of items taken, places met and amounts
    still lacking it keeps the cheapest set, as long as the items that come could complete it. A
    step is one such set with and without one item. Where steps run short, only the cheapest and
    the most complete sets are kept: what is found is then still valid, but may not be the
    cheapest, and nothing may be found where there is something; `work.exact` says so.
    """
    begun = _begin(items, count, wanted)
    if begun is None:
        return None
    taken, rest, state = begun
    search = _Search(rest, count - len(taken), _places(rest, wanted, taken), work)
    bits = search.run((search.unmet, state))
    return None if bits is None else [*taken, *members(rest, bits)]


def _begin(
    items: Sequence[Item], count: int, wanted: Wanted
) -> tuple[list[Item], list[Item], Amounts] | None:
    """The items that every set has, the others, and what is lacking then; None if none can be."""
    there = sum(item.bit for item in items)
    forced = 0
    for place in wanted.places:
        meets = place & there
        if not meets:
            return None
        if meets & (meets - 1) == 0:
            forced |= meets
    taken = members(items, forced)
    if not len(taken) <= count <= len(items):
        return None
    return taken, [item for item in items if not item.bit & forced], lacking(wanted, taken)


def _places(rest: Sequence[Item], wanted: Wanted, taken: Sequence[Item]) -> list[Bits]:
    """The places that have no item yet; one that a smaller one is part of is met with that."""
    there, met = sum(item.bit for item in rest), sum(item.bit for item in taken)
    places: list[Bits] = []
    open_places = {place & there for place in wanted.places if not place & met}
    for place in sorted(open_places, key=lambda bits: (bits.bit_count(), bits)):
        if not any(place & smaller == smaller for smaller in places):
            places.append(place)
    return places


class _Search:
    """One dynamic programme over some items."""

    def __init__(self, items: list[Item], count: int, places: list[Bits], work: Work) -> None:
        self.count, self.work = count, work
        hits = {
            item.bit: sum(1 << at for at, place in enumerate(places) if place & item.bit)
            for item in items
        }
        self.unmet = (1 << len(places)) - 1
        largest = [max(column, default=0) or 1 for column in zip(*_amounts(items), strict=True)]
        # Items that meet places come first, then the largest: what can't be completed shows early.
        self.items = sorted(items, key=lambda item: (-hits[item.bit], -_size(item, largest)))
        self.hits = [hits[item.bit] for item in self.items]
        self.bounds = bounds_of(
            _amounts(self.items), [i.key for i in self.items], self.hits, count
        )
        self.best = 1 + sum(abs(item.key) for item in items)
        self.none = self.best

    def run(self, start: State) -> Bits | None:
        """The bits of the cheapest set that is complete, None where none is."""
        if self.count == 0:
            return None if start[0] or any(start[1]) else 0
        layers: list[Layer] = [{} for _ in range(self.count)]
        layers[0][start] = 0
        left = max(_FEW, self.work.left // 4)
        self.work.left -= _BOUND * len(self.items)
        for position in range(len(self.items)):
            steps = sum(map(len, layers))
            left -= steps
            self.work.left -= steps
            self._go_on(layers, position)
            self._narrow(layers, max(0, left) // (len(self.items) - position), start[1])
        if self.best == self.none:
            return None
        size = max(item.bit for item in self.items).bit_length()
        return -self.best & ((1 << size) - 1)

    def _go_on(self, layers: list[Layer], position: int) -> None:
        """Have each set once without the item at a position, and once with it."""
        item, hits = self.items[position], self.hits[position]
        amounts = item.amounts
        bounds = self.bounds[position + 1]
        for taken in reversed(range(self.count)):
            layer = layers[taken]
            if not layer:
                continue
            more = self.count - taken
            layers[taken] = self._still_possible(layer, more, bounds)
            grown: Layer = {}
            for (unmet, lacks), key in layer.items():
                pairs = zip(lacks, amounts, strict=True)
                rest = tuple([lack - has if lack > has else 0 for lack, has in pairs])
                state, total = (unmet & ~hits, rest), key + item.key
                if total < grown.get(state, self.none):
                    grown[state] = total
            self._add(layers, taken + 1, self._still_possible(grown, more - 1, bounds))

    def _still_possible(self, layer: Layer, more: int, bounds: Bounds) -> Layer:
        """The sets of a layer that `more` of the items that come could make the cheapest one."""
        most = bounds.most(more)
        if most is None:
            return {}
        ceiling = self.best - bounds.least[more]
        meets = bounds.meets if more else 0
        return {
            state: key
            for state, key in layer.items()
            if key < ceiling and not state[0] & ~meets and within(state[1], most)
        }

    def _add(self, layers: list[Layer], taken: int, grown: Layer) -> None:
        if taken == self.count:
            self.best = min(self.best, *grown.values()) if grown else self.best
            return
        layer = layers[taken]
        for state, key in grown.items():
            if key < layer.get(state, self.none):
                layer[state] = key

    def _narrow(self, layers: list[Layer], room: int, wanted: Amounts) -> None:
        """Keep no more sets than there is room for."""
        if sum(map(len, layers)) <= room:
            return
        for taken, layer in enumerate(layers):
            layers[taken] = front_of(layer)
        if sum(map(len, layers)) <= room:
            return
        share = max(1, room // (2 * sum(map(bool, layers)) or 1))
        for taken, layer in enumerate(layers):
            if len(layer) > 2 * share:
                self.work.exact = False
                layers[taken] = few_of(layer, share, wanted)


def _amounts(items: Iterable[Item]) -> list[Amounts]:
    return [item.amounts for item in items]


def _size(item: Item, largest: Sequence[int]) -> int:
    """How large an item is: its share, in thousandths, of the largest of each amount, summed."""
    return sum(ceil(1000 * has / most) for has, most in zip(item.amounts, largest, strict=True))
