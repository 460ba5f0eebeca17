"""Which of the free cards a container should get: GetPreferredAllocation.

In this order: on the fewest NUMA nodes; the strongest weakest NVLink among them, then the most
NVLink in all; the nearest farthest PCIe level, then the nearest in all, then near NUMA nodes; a
node on which the pod's CPUs are free; what stays free stays together, by node, NVLink and PCIe
level, for who asks for more; and of equals the lowest indices.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.gpu_plugin.cards import Card
from numa_agent.core.gpu_plugin.closeness import FARTHEST, Closeness
from numa_agent.core.gpu_plugin.search import Rank, Search

MOST_STEPS = 60_000
"""Where the search ends with the best found so far, as kubelet waits; 16 cards need a third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What kubelet asks: `size` of the `available` cards, those it `must` have among them.

    Of equally good nodes one on which `wanted_cpus` are in `free_cpus` (a number of CPUs by NUMA
    node) is preferred, where the caller knows them.
    """

    available: Collection[str]
    must: Collection[str]
    size: int
    wanted_cpus: int | None = None
    free_cpus: Mapping[int, int] | None = None


def preferred(
    cards: Sequence[Card], close: Closeness, wish: Wish, most_steps: int = MOST_STEPS
) -> tuple[str, ...]:
    """The ids of the cards to give, in index order, `size` of them where so many are there.

    An id that isn't one of our cards is passed over: kubelet then fills up by itself, where an
    error would fail the pod. `close` is of the same cards in the same order.
    """
    free = _positions(cards, [*wish.available, *wish.must])
    must = _positions(cards, wish.must)
    size = min(max(wish.size, 0), len(free))
    if size <= len(must):
        return tuple(cards[position].id for position in must)
    ranking = _Ranking(cards, close, wish, free)
    search = Search(close=close, nodes=ranking.nodes, rank=ranking.rank, most_steps=most_steps)
    found = search.best(free=free, must=must, size=size, most_nodes=_fewest(ranking, must, size))
    return tuple(cards[position].id for position in found)


def _positions(cards: Sequence[Card], ids: Iterable[str]) -> tuple[int, ...]:
    asked = {*ids}
    return tuple(position for position, card in enumerate(cards) if card.id in asked)


def _fewest(ranking: "_Ranking", must: Sequence[int], size: int) -> int:
    """On how few nodes so many free cards are, those of `must` among them."""
    held = {ranking.nodes[position] for position in must}
    free = Counter(ranking.nodes[position] for position in ranking.free)
    there = sum(free[node] for node in held)
    others = sorted((count for node, count in free.items() if node not in held), reverse=True)
    count = len(held)
    for more in others:
        if there >= size:
            break
        there += more
        count += 1
    return count


class _Ranking:
    """Compares choices that are as close as each other, by where they are and what they leave."""

    def __init__(
        self, cards: Sequence[Card], close: Closeness, wish: Wish, free: tuple[int, ...]
    ) -> None:
        self.free = free
        # Cards of unknown place count as being together: nobody knows better.
        self.nodes = tuple(-1 if card.node is None else card.node for card in cards)
        self._close = close
        self._wanted = wish.wanted_cpus
        self._cpus = wish.free_cpus

    def rank(self, chosen: Sequence[int]) -> Rank:
        """Lower is better."""
        taken = {*chosen}
        rest = [position for position in self.free if position not in taken]
        together = linked = near = 0
        for at, a in enumerate(rest):
            for b in rest[at + 1 :]:
                together += self.nodes[a] == self.nodes[b]
                linked += self._close.nvlink[a][b]
                near += FARTHEST - self._close.level[a][b]
        return (not self._fits(chosen), -together, -linked, -near)

    def _fits(self, chosen: Sequence[int]) -> bool:
        if self._wanted is None or self._cpus is None:
            return True
        on = {self.nodes[position] for position in chosen}
        return sum(self._cpus.get(node, 0) for node in on) >= self._wanted
