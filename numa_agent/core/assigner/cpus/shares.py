"""How many of a pod's CPUs are on each of its NUMA nodes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.assigner.cpus.subset_sums import Counts, added, descending, up_to

_Cost = tuple[int, int]
"""The nodes that get no CPU, and those on which a core is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one node could give.

    `free` are its CPUs, `possible` the counts of them that can be had, `unbroken` those of these
    that leave no core broken that is whole now.
    """

    free: int
    possible: Counts
    unbroken: Counts


def shares(nodes: Mapping[int, Share], count: int) -> dict[int, int] | None:
    """How many CPUs each of these nodes gives, by node id; None where no counts add up.

    As many nodes as can be give one; then on as few as can be a core is broken. Then the nodes are
    filled, that with the fewest CPUs first (of equal ones the lowest id), so that what is left is
    together on those with the most.
    """
    order = sorted(nodes, key=lambda node_id: (nodes[node_id].free, node_id))
    options = [_options(nodes[node_id], count) for node_id in order]
    if all(share.possible == up_to(share.free) for share in nodes.values()):
        options = [_some(choices, one=count < len(order)) for choices in options]
    rests = _rests(options, count)
    costs = [cost for cost, counts in rests[0].items() if counts >> count & 1]
    if not costs:
        return None
    cost, given = min(costs), dict[int, int]()
    for node_id, choices, rest in zip(order, options, rests[1:], strict=True):
        given[node_id], cost = _most(choices, rest, count, cost)
        count -= given[node_id]
    return given


def _options(share: Share, count: int) -> dict[_Cost, Counts]:
    """What a node can give, nothing included, by what it costs."""
    some = up_to(count) - 1
    return {
        (0, 0): share.unbroken & some,
        (0, 1): share.possible & ~share.unbroken & some,
        (1, 0): 1,
    }


def _some(choices: Mapping[_Cost, Counts], *, one: bool) -> dict[_Cost, Counts]:
    """What a node gives where any count can be had: one or nothing, or one at least.

    This follows from the rule that as many nodes as can be give one, and saves work.
    """
    if one:
        return {cost: counts & up_to(1) for cost, counts in choices.items()}
    return {cost: counts for cost, counts in choices.items() if not cost[0]}


def _rests(options: Sequence[Mapping[_Cost, Counts]], count: int) -> list[dict[_Cost, Counts]]:
    """What the nodes from each position on can give together, and those after the last."""
    found: list[dict[_Cost, Counts]] = [{(0, 0): 1}]
    for choices in reversed(options):
        sums: dict[_Cost, Counts] = defaultdict(int)
        for cost, counts in choices.items():
            for more, rest in found[-1].items():
                sums[_plus(cost, more)] |= added(counts, rest) & up_to(count)
        found.append({cost: counts for cost, counts in sums.items() if counts})
    found.reverse()
    return found


def _most(
    choices: Mapping[_Cost, Counts], rest: Mapping[_Cost, Counts], count: int, cost: _Cost
) -> tuple[int, _Cost]:
    """The most that this node can give if the rest gives what is left, and the rest's cost."""
    found = [
        (number, after)
        for own, counts in choices.items()
        for after, others in rest.items()
        if _plus(own, after) == cost
        for number in descending(counts & up_to(count))
        if others >> (count - number) & 1
    ]
    return max(found)


def _plus(one: _Cost, other: _Cost) -> _Cost:
    return one[0] + other[0], one[1] + other[1]
