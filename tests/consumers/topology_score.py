"""What the plugin's Score makes of an object, by strategy (see topology_match.py for `SP`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, comb
from statistics import variance
from typing import Any

from tests.consumers.topology_match import (
    Amounts,
    Cell,
    PluginPanicError,
    Pod,
    amounts,
    cells,
    effective,
    managed,
)

Strategy = Callable[[Amounts, Amounts], int]
"""A zone's score by what is asked for and what is available."""

UNKNOWN_DISTANCE = 255
MOST_SETS = 1 << 20


class SchedulerStallsError(Exception):
    """The scheduler would go through more sets of zones than it can in seconds."""


def least_allocated(wanted: Amounts, available: Amounts) -> int:
    """SP least_allocated.go, the default: the mean of what stays free, in percent."""
    return sum(_free(wanted[name], available.get(name)) for name in wanted) // len(wanted)


def most_allocated(wanted: Amounts, available: Amounts) -> int:
    """SP most_allocated.go: the mean of what is then used, in percent."""
    return sum(_used(wanted[name], available.get(name)) for name in wanted) // len(wanted)


def balanced_allocation(wanted: Amounts, available: Amounts) -> int:
    """SP balanced_allocation.go: the less the parts used differ the better, 1 for none."""
    parts = [
        Fraction(ceil(amount), ceil(available[name])) if available.get(name) else Fraction(1)
        for name, amount in wanted.items()
    ]
    return 0 if max(parts) > 1 else int((1 - variance(parts)) * 100)


STRATEGIES: tuple[Strategy, ...] = (least_allocated, most_allocated, balanced_allocation)


def scored(pod: Pod, nrt: Mapping[str, Any] | None, strategy: Strategy = least_allocated) -> int:
    """SP score.go, Score, with one of the three strategies that look at each zone alone."""
    if pod.qos != "Guaranteed":
        return 100
    if nrt is None or managed(nrt).policy != "single-numa-node":
        return 0
    nodes = cells(nrt)
    if managed(nrt).scope == "pod":
        return _worst(effective(pod), nodes, strategy)
    each = [
        _worst(amounts(c), nodes, strategy) for c in (*pod.init, *pod.sidecars, *pod.containers)
    ]
    return sum(each) // len(each)


def least_numa_nodes(pod: Pod, nrt: Mapping[str, Any]) -> int:
    """SP least_numa.go, LeastNUMANodes: the fewer zones hold it the better, by any policy."""
    if pod.qos != "Guaranteed":
        return 100
    manager, nodes = managed(nrt), cells(nrt)
    asked = [amounts(c) for c in (*pod.init, *pod.sidecars, *pod.containers)]
    if manager.scope == "pod":
        asked = [effective(pod)]
    most, nearest = 0, True
    for wanted in asked:
        # pluginhelpers.go, onlyNonNUMAResources.
        if not any(name in node.available for name in wanted for node in nodes):
            continue
        chosen, best = _fewest(wanted, nodes)
        if not chosen:
            return 0
        most, nearest = max(most, len(chosen)), nearest and best
        if manager.scope == "container":
            _take(wanted, nodes, [nodes[place].id for place in chosen])
    if not most:
        return 100
    # least_numa.go, normalizeScore; a score below 0 is an error of the scheduling framework.
    step = 100 // manager.most_nodes
    return 100 - most * step + (step // 2 if nearest else 0)


def _worst(wanted: Amounts, nodes: Sequence[Cell], strategy: Strategy) -> int:
    """score.go, scoreForEachNUMANode: the lowest score that isn't 0, kept by id in a list."""
    worst = 0
    for node in nodes:
        score = strategy(wanted, node.available)
        if worst == 0 or 0 < score < worst:
            worst = score
        if node.id >= len(nodes):
            raise PluginPanicError(f"index out of range [{node.id}] with length {len(nodes)}")
    return worst


def _fewest(wanted: Amounts, nodes: Sequence[Cell]) -> tuple[tuple[int, ...], bool]:
    """numaNodesRequired: places of the smallest set that holds it, and whether it is a nearest."""
    tried = 0
    for size in range(1, len(nodes) + 1):
        # gonum's Combinations makes all sets of a size before the first is looked at.
        tried += comb(len(nodes), size)
        if tried > MOST_SETS:
            raise SchedulerStallsError(f"{tried} sets of {len(nodes)} zones")
        if any(_most(name, nodes, size) < amount for name, amount in wanted.items()):
            continue
        sets = list(combinations(range(len(nodes)), size))
        fits = [places for places in sets if _together(wanted, [nodes[p] for p in places])]
        if fits:
            nearest = min(_distance(nodes, places) for places in sets)
            best = min(fits, key=lambda places: _distance(nodes, places))
            return best, _distance(nodes, best) == min(nearest, UNKNOWN_DISTANCE)
    return (), False


def _most(name: str, nodes: Sequence[Cell], size: int) -> Fraction:
    """The most that so many zones have: less needs no look at the sets, which the plugin takes."""
    return sum(sorted(n.available.get(name, Fraction(0)) for n in nodes)[-size:], Fraction(0))


def _together(wanted: Amounts, nodes: Sequence[Cell]) -> bool:
    """isValidCombineResources and checkResourcesFit: each zone must list each resource."""
    return all(
        all(name in node.available for node in nodes)
        and amount <= sum((node.available[name] for node in nodes), Fraction(0))
        for name, amount in wanted.items()
    )


def _distance(nodes: Sequence[Cell], places: Iterable[int]) -> Fraction:
    """nodesAvgDistance: the mean of all pairs, a node and itself too."""
    chosen = [nodes[place] for place in places]
    pairs = [a.costs.get(b.id, UNKNOWN_DISTANCE) for a in chosen for b in chosen]
    return Fraction(sum(pairs), len(pairs))


def _take(wanted: Amounts, nodes: Sequence[Cell], ids: Iterable[int]) -> None:
    """numaresources.go, subtractFromNUMAs: an id is taken for a place in the list."""
    for name, amount in wanted.items():
        left = amount
        for place in ids:
            if left == 0:
                break
            if place >= len(nodes):
                raise PluginPanicError(f"index out of range [{place}] with length {len(nodes)}")
            if name in nodes[place].available:
                part = min(left, nodes[place].available[name])
                nodes[place].available[name] -= part
                left -= part


def _free(wanted: Fraction, available: Fraction | None) -> int:
    if not available or wanted > available:
        return 0
    return (ceil(available) - ceil(wanted)) * 100 // ceil(available)


def _used(wanted: Fraction, available: Fraction | None) -> int:
    if not available or wanted > available:
        return 0
    return ceil(wanted) * 100 // ceil(available)
