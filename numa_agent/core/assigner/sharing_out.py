"""CPUs of a pod that has some: shared out to its containers, and more or fewer of them."""

from dataclasses import replace

from numa_agent.core.assigner.asking import Asking
from numa_agent.core.assigner.choosing import choose
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.assigner.values import (
    Apart,
    Choice,
    NodeRoom,
    NoRoomError,
    Policy,
    Room,
    Threads,
    Wish,
)
from numa_agent.core.cpulist import CpuSet


def in_place(asked: Asking, kept: Kept) -> bool:
    """Whether what a pod has is what it asks for: as many CPUs, shared out as it wants them."""
    return (
        len(kept.cpus) == asked.wish.cpus
        and kept.sharing == asked.sharing
        and kept.containers.keys() == _parted(asked)
        and all(len(kept.containers[name]) == count for name, count in asked.containers.items())
    )


def _parted(asked: Asking) -> set[str]:
    """The containers that get a part of the pod's CPUs."""
    left = asked.wish.cpus > sum(asked.containers.values())
    return {*asked.containers, *(asked.inside if left else ())}


def resized(wish: Wish, room: Room, kept: Kept) -> Choice:
    """Fewer of the CPUs that it has, or those and more of the same nodes; else a new place.

    `room` has the pod's own CPUs as free ones.
    """
    more = wish.cpus - len(kept.cpus)
    if not more or not wish.cpus:
        return Choice(nodes=kept.nodes, cpus=kept.cpus if wish.cpus else frozenset())
    # Where it stays, it needn't ask again who else is there.
    apart = Apart.NOBODY if wish.apart is Apart.NODES else wish.apart
    here = replace(wish, policy=Policy.BEST_EFFORT, exclusive=False, shared_millis=0, apart=apart)
    nodes = replace(room, nodes=tuple(each for each in room.nodes if each.id in kept.nodes))
    if more < 0:
        return _fewer(here, _narrowed(nodes, kept.cpus))
    others = frozenset[int]().union(*(node.free for node in nodes.nodes)) - kept.cpus
    try:
        extra = choose(replace(here, cpus=more, places=()), _narrowed(nodes, others), memory=False)
    except NoRoomError:
        return choose(wish, _credited(room, wish, kept))
    return Choice(nodes=kept.nodes | extra.nodes, cpus=kept.cpus | extra.cpus)


def _fewer(wish: Wish, room: Room) -> Choice:
    """Some of a room's CPUs: beside the pod's devices where it can be."""
    try:
        return choose(wish, room, memory=False)
    except NoRoomError:
        return choose(replace(wish, places=()), room, memory=False)


def _credited(room: Room, wish: Wish, kept: Kept) -> Room:
    """The same with the memory free that the pod has on its nodes."""
    return replace(
        room,
        nodes=tuple(
            replace(node, memory=_more(node, wish, len(kept.nodes)))
            if kept.cpus and node.id in kept.nodes
            else node
            for node in room.nodes
        ),
    )


def _more(node: NodeRoom, wish: Wish, count: int) -> dict[str, int]:
    return {
        kind: min(node.memory_ever.get(kind, size), size + wish.memory.get(kind, 0) // count)
        for kind, size in node.memory.items()
    }


def _narrowed(room: Room, cpus: CpuSet) -> Room:
    """The same with nothing free but some of these CPUs."""
    nodes = tuple(replace(node, free=node.free & cpus) for node in room.nodes)
    return replace(room, nodes=nodes)


def parts(asked: Asking, choice: Choice, room: Room) -> dict[str, CpuSet]:
    """The pod's CPUs shared out to its containers, those that get the most first.

    An odd number is last, so that the others' cores stay whole. What is left is for those that
    share the pod's own.
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
    inside = dict.fromkeys(asked.inside, left) if left else {}
    return {name: found[name] for name in asked.containers} | inside


def _threads(asked: Asking) -> Threads:
    """As the pod asks; of whole cores that it has, single threads may be left for the last."""
    return Threads.SPREAD if asked.wish.threads is Threads.SPREAD else Threads.WHOLE_CORES
