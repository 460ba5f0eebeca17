"""Slots: how many more pods of a shape fit on one NUMA node each, and what fragments cost.

There are at most MOST_SHAPES shapes, whoever makes pods: numa_agent.core.slots.
"""

from collections.abc import Iterator

from prometheus_client.core import Metric

from numa_agent.core.slots import MOST_SHAPES, SlotsNow
from numa_agent.serve.metrics.families import gauge


def slots(now: SlotsNow) -> Iterator[Metric]:
    """The families of the slots; one that nothing is known of has no series."""
    shapes = now.shapes[:MOST_SHAPES]
    yield gauge(
        "numa_agent_slots",
        "How many more pods of a shape would be placed on a NUMA node.",
        ["shape", "numa_node"],
        (
            ((str(each.shape), str(node.node_id)), node.slots)
            for each in shapes
            for node in each.nodes
        ),
    )
    yield gauge(
        "numa_agent_fragmentation",
        "The share of pods of a shape that don't fit only because what is free is on several"
        " NUMA nodes.",
        ["shape"],
        (
            ((str(each.shape),), each.fragmentation)
            for each in shapes
            if each.fragmentation is not None
        ),
    )
