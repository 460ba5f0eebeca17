"""The closest so many cards of those that are free: exact, by branch and bound.

Cards that are alike in everything, as all on one NVSwitch are, count as one: of these the first
are taken, so that the many ways to choose among them aren't looked through.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from operator import itemgetter

from numa_agent.core.gpu_plugin.closeness import Closeness

Rank = tuple[int, int, int, int]
"""How good a choice is by what isn't its own closeness; lower is better."""

_Key = tuple[int, int, int, int]
"""A choice's own closeness, lower is better: its weakest NVLink and its NVLink in all, both
negated; its farthest PCIe level; levels and distances of nodes in all, as one number."""

_Best = tuple[_Key, Rank, tuple[int, ...]]

_NO_PAIR: _Key = (-(1 << 62), 0, 0, 0)
_LEVEL = 1 << 24
"""What a level counts beside a distance, of which 16 cards have less in all."""


class Search:
    """Looks for the best choice among cards by their positions in `close` and `nodes`.

    `rank` decides between choices of equal closeness, and the lower positions between equal ranks.
    After `most_steps` the best found so far is it; `steps` says how many there were.
    """

    def __init__(
        self,
        *,
        close: Closeness,
        nodes: Sequence[int],
        rank: Callable[[Sequence[int]], Rank],
        most_steps: int,
    ) -> None:
        self.steps = 0
        self._most_steps = most_steps
        self._rank = rank
        self._nodes = nodes
        bits = {node: 1 << place for place, node in enumerate(sorted({*nodes}))}
        self._bits = [bits[node] for node in nodes]
        self._nvlink = close.nvlink
        self._far = tuple(
            tuple(level * _LEVEL + apart for level, apart in zip(*rows, strict=True))
            for rows in zip(close.level, close.apart, strict=True)
        )

    def best(
        self, *, free: Sequence[int], must: Sequence[int], size: int, most_nodes: int
    ) -> tuple[int, ...]:
        """The best `size` of the `free` positions with all of `must`, on so many nodes at most."""
        self._size, self._most_nodes = size, most_nodes
        self._order = tuple(position for position in free if position not in must)
        self._twin = self._twins(free)
        pairs = [(a, b) for a in free for b in free if a < b]
        self._most_nvlink = max((self._nvlink[a][b] for a, b in pairs), default=0)
        self._least_far = min((self._far[a][b] for a, b in pairs), default=0)
        self._best: _Best | None = None
        self.steps = 0
        chosen: tuple[int, ...] = ()
        key, mask = _NO_PAIR, 0
        for position in must:
            key = self._with(key, chosen, position)
            chosen, mask = (*chosen, position), mask | self._bits[position]
        if len(free) >= size:
            self._seed(must, key)
        self._extend(chosen, key, mask, 0)
        return () if self._best is None else self._best[2]

    def _seed(self, must: Sequence[int], key: _Key) -> None:
        """Begin with a choice on so few nodes, so that there is one whenever the search ends."""
        held = {self._nodes[position] for position in must}
        there = Counter(self._nodes[position] for position in self._order)
        nearer = sorted(there, key=lambda node: (node not in held, -there[node], node))
        chosen = (*must,)
        for node in nearer:
            for position in self._order:
                if self._nodes[position] == node and len(chosen) < self._size:
                    key, chosen = self._with(key, chosen, position), (*chosen, position)
        self._take(chosen, key)

    def _extend(self, chosen: tuple[int, ...], key: _Key, mask: int, start: int) -> None:
        """Try every way to add cards from `start` on."""
        missing = self._size - len(chosen)
        for at in range(start, len(self._order) - missing + 1):
            position = self._order[at]
            twin = self._twin.get(position)
            if twin is not None and twin not in chosen:
                continue
            on = mask | self._bits[position]
            if not self._on_few(on, at, missing):
                continue
            if self.steps >= self._most_steps:
                return
            self.steps += 1
            extended = self._with(key, chosen, position)
            if missing == 1:
                self._take((*chosen, position), extended)
            elif self._may_win(extended, len(chosen) + 1):
                self._extend((*chosen, position), extended, on, at + 1)

    def _with(self, key: _Key, chosen: tuple[int, ...], position: int) -> _Key:
        """The closeness of a choice that grows by one card."""
        if len(chosen) < 2:
            if not chosen:
                return key
            link, far = self._nvlink[position][chosen[0]], self._far[position][chosen[0]]
            return (-link, -link, far // _LEVEL, far)
        pick = itemgetter(*chosen)
        links, fars = pick(self._nvlink[position]), pick(self._far[position])
        weakest, all_links, level, all_far = key
        least, farthest = -min(links), max(fars) // _LEVEL
        return (
            max(least, weakest),
            all_links - sum(links),
            max(farthest, level),
            all_far + sum(fars),
        )

    def _on_few(self, mask: int, at: int, missing: int) -> bool:
        """Whether the cards from `at` on can make the choice whole without one node too many."""
        nodes = mask.bit_count()
        if nodes < self._most_nodes:
            return True
        if nodes > self._most_nodes:
            return False
        there = sum(1 for position in self._order[at:] if self._bits[position] & mask)
        return there >= missing

    def _may_win(self, key: _Key, count: int) -> bool:
        """Whether a choice of so many cards may become as close as the best."""
        if self._best is None:
            return True
        pairs = (self._size * (self._size - 1) - count * (count - 1)) // 2
        optimist = (
            max(key[0], -self._most_nvlink),
            key[1] - pairs * self._most_nvlink,
            max(key[2], self._least_far // _LEVEL),
            key[3] + pairs * self._least_far,
        )
        return optimist <= self._best[0]

    def _take(self, chosen: tuple[int, ...], key: _Key) -> None:
        if self._best is not None and key > self._best[0]:
            return
        choice = tuple(sorted(chosen))
        found = (key, self._rank(choice), choice)
        if self._best is None or found < self._best:
            self._best = found

    def _twins(self, free: Sequence[int]) -> dict[int, int]:
        """For each card the nearest one before it that is alike in everything among the free."""
        found: dict[int, int] = {}
        for at, position in enumerate(self._order):
            for other in reversed(self._order[:at]):
                if self._alike(position, other, free):
                    found[position] = other
                    break
        return found

    def _alike(self, a: int, b: int, free: Collection[int]) -> bool:
        return self._nodes[a] == self._nodes[b] and all(
            table[a][other] == table[b][other]
            for table in (self._nvlink, self._far)
            for other in free
            if other not in (a, b)
        )
