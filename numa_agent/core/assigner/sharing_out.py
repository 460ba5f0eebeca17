"""CPUs of a pod that has some: shared out to its containers, and more or fewer of them."""

from dataclasses import replace

from numa_agent.core.assigner.asking import Asking
from numa_agent.core.assigner.choosing import choose
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.assigner.values import (
    Choice,
    NoRoomError,
    Policy,
    Room,
    Threads,
    Wish,
)
from numa_agent.core.cpulist import CpuSet


def resized(wish: Wish, room: Room, kept: Kept) -> Choice:
    """Fewer of the CPUs that it has, or those and more of the same nodes; else a new place.

    `room` has the pod's own CPUs as free ones.
    """
    more = wish.cpus - len(kept.cpus)
    if more < 0:
        return choose(wish, _narrowed(room, kept.cpus), memory=False)
    others = frozenset[int]().union(*(node.free for node in room.nodes)) - kept.cpus
    here = replace(room, nodes=tuple(node for node in room.nodes if node.id in kept.nodes))
    try:
        extra = choose(
            replace(wish, cpus=more, shared_millis=0), _narrowed(here, others), memory=False
        )
    except NoRoomError:
        return choose(wish, room, memory=False)
    return Choice(nodes=kept.nodes | extra.nodes, cpus=kept.cpus | extra.cpus)


def _narrowed(room: Room, cpus: CpuSet) -> Room:
    """The same with nothing free but some of these CPUs."""
    nodes = tuple(replace(node, free=node.free & cpus) for node in room.nodes)
    return replace(room, nodes=nodes)


def parts(asked: Asking, choice: Choice, room: Room) -> dict[str, CpuSet]:
    """The pod's CPUs shared out to its containers, those that get the most first.

    An odd number is last, so that the others' cores stay whole.
    """
    every = tuple(replace(node, free=node.usable) for node in room.nodes)
    left, found = choice.cpus, dict[str, CpuSet]()
    for name, count in sorted(
        asked.containers.items(), key=lambda each: (each[1] % 2, -each[1], each[0])
    ):
        own = Wish(policy=Policy.BEST_EFFORT, exclusive=False, cpus=count, threads=_threads(asked))
        try:
            part = choose(own, _narrowed(replace(room, nodes=every), left)).cpus
        except NoRoomError:
            part = frozenset(sorted(left)[:count])
        found[name], left = part, left - part
    return {name: found[name] for name in asked.containers}


def _threads(asked: Asking) -> Threads:
    """As the pod asks; of whole cores that it has, single threads may be left for the last."""
    return Threads.SPREAD if asked.wish.threads is Threads.SPREAD else Threads.WHOLE_CORES
