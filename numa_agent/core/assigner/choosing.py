"""The nodes and CPUs for one wish."""

from collections.abc import Mapping
from dataclasses import replace

from numa_agent.core.assigner.cpus import choose_cpus, eligible
from numa_agent.core.assigner.nodes import choose_nodes, may_be_on
from numa_agent.core.assigner.nodes import fewest_ever as _fewest_ever
from numa_agent.core.assigner.values import Choice, Policy, Room, Wish


def choose(wish: Wish, room: Room, *, memory: bool = True) -> Choice:
    """Where a wish is granted. Raises NoRoomError where it can't be.

    Without `memory` that isn't looked at: the pod has it already.
    """
    wish = wish if memory else replace(wish, memory={})
    offer = {node.id: eligible(wish, room, node, node.free) for node in room.nodes}
    ever = {node.id: eligible(wish, room, node, node.usable) for node in room.nodes}
    nodes = choose_nodes(wish, room, offer, ever)
    return Choice(nodes=nodes, cpus=choose_cpus(wish, room, nodes))


def fewest_ever(wish: Wish, room: Room) -> int | None:
    """On how few NUMA nodes a wish could ever be granted, None where on none: its CPUs and its
    memory, wherever its devices are and whatever its policy is."""
    anywhere = replace(wish, places=(), policy=Policy.BEST_EFFORT)
    ever = {node.id: eligible(anywhere, room, node, node.usable) for node in room.nodes}
    return _fewest_ever(anywhere, room, ever)


def free_for(wish: Wish, room: Room) -> Mapping[int, int]:
    """How many CPUs of each NUMA node could be given out for a wish, none of one that it can't be
    on: for who chooses its devices before the pod is there."""
    offer = {node.id: eligible(wish, room, node, node.free) for node in room.nodes}
    nodes = may_be_on(wish, room, offer)
    return {node: len(cpus) if node in nodes else 0 for node, cpus in offer.items()}
