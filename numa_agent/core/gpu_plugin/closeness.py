"""How close cards are to each other: NVLink, PCIe level, distance of their NUMA nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.devices import Link
from numa_agent.core.gpu_plugin.cards import Card
from numa_agent.core.links import Level
from numa_agent.core.topology import Topology

_LEVELS = {level: rank for rank, level in enumerate(Level)}
FARTHEST = len(_LEVELS)
"""The rank of a level that nobody knows, after all of those that somebody does."""
_LOCAL, _UNKNOWN_DISTANCE = 10, 255
"""The kernel's distance of a node to itself, and of two that can't be reached."""


Table = tuple[tuple[int, ...], ...]
"""A number for each pair of cards."""


@dataclass(frozen=True, slots=True)
class Closeness:
    """Square tables by the cards' positions, symmetric.

    `nvlink` is bandwidth in bytes a second, or the number of links where the speed of some isn't
    known; 0 without any. `level` is the PCIe level's rank, 0 nearest. `apart` is the distance of
    the two NUMA nodes.
    """

    nvlink: Table
    level: Table
    apart: Table


def closeness(topology: Topology, cards: Sequence[Card]) -> Closeness:
    """The closeness of each pair of cards by the map's links."""
    ours = {card.address for card in cards}
    links = {
        frozenset((link.a, link.b)): link
        for link in topology.links
        if link.a in ours and link.b in ours
    }
    by_speed = all(link.bytes_per_second is not None for link in links.values() if link.nvlinks)
    distances = {node.id: node.distances for node in topology.nodes}

    def pair(a: Card, b: Card) -> Link | None:
        return links.get(frozenset((a.address, b.address)))

    return Closeness(
        nvlink=_table(cards, lambda a, b: _nvlink(pair(a, b), by_speed=by_speed)),
        level=_table(cards, lambda a, b: _level(pair(a, b))),
        apart=_table(cards, lambda a, b: _apart(distances, a, b)),
    )


def _table(cards: Sequence[Card], of_pair: Callable[[Card, Card], int]) -> Table:
    return tuple(tuple(0 if a is b else of_pair(a, b) for b in cards) for a in cards)


def _nvlink(link: Link | None, *, by_speed: bool) -> int:
    if link is None or not link.nvlinks:
        return 0
    return (link.bytes_per_second or 0) if by_speed else link.nvlinks


def _level(link: Link | None) -> int:
    found = None if link is None else link.level or link.nvml_level
    return FARTHEST if found is None else _LEVELS[found]


def _apart(distances: Mapping[int, Mapping[int, int] | None], a: Card, b: Card) -> int:
    if a.node is None or b.node is None:
        return _UNKNOWN_DISTANCE
    if a.node == b.node:
        return _LOCAL
    # A firmware may tell two directions apart; the farther one counts, so that order doesn't.
    rows = (distances.get(a.node) or {}, distances.get(b.node) or {})
    return max(
        rows[0].get(b.node, _UNKNOWN_DISTANCE),
        rows[1].get(a.node, _UNKNOWN_DISTANCE),
    )
