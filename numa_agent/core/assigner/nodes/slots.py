"""How many more pods would find room on one NUMA node each: slots."""

from collections.abc import Iterable

from numa_agent.core.assigner.values import Room, Wish


def slots(cpus: int, shapes: Iterable[int]) -> int:
    """How often each shape, as a number of CPUs, goes into a node's free CPUs, summed."""
    return sum(cpus // shape for shape in shapes)


def shapes_for(wish: Wish, room: Room) -> tuple[int, ...]:
    """The shapes to leave room for: the machine's, or pods like this one where it has none."""
    return tuple(each for each in room.shapes or (wish.room,) if each > 0)
