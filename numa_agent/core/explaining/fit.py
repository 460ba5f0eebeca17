"""Where a pod that isn't placed would fit: which node has room in one NUMA node, and what lacks.

What a scheduler with the policy SingleNUMANode looks for, by what the agents have published.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from numa_agent.core.explaining.chapters import demanded
from numa_agent.core.explaining.story import Chapter, Story, Todo
from numa_agent.core.pods import Pod

_CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is available in one NUMA node of a machine: CPUs in thousandths, the rest in units.

    `holders` are pods that hold some of it alone, each with what ending it would free; only the
    node that one looks from knows them.
    """

    machine: str
    node: str
    available: Mapping[str, int]
    holders: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def missing(self, wanted: Mapping[str, int]) -> Mapping[str, int]:
        """What of a demand there isn't; a resource that no NUMA node is told of isn't counted."""
        return {
            name: size - self.available.get(name, 0)
            for name, size in wanted.items()
            if size > self.available.get(name, 0)
        }


def placing(pod: Pod, rooms: Sequence[Room], why: str) -> Story:
    """Where a pod would fit, and what would make room for it. `why` says why it isn't placed."""
    told = {name for room in rooms for name in room.available}
    wanted = {name: size for name, size in pod.demands.effective().items() if name in told}
    whole = pod.demands.effective()
    chapters = (
        Chapter(title="asked", lines=(demanded(whole), *_untold(whole, wanted))),
        Chapter(title="placed", lines=(why,)),
        Chapter(title="room", lines=tuple(_lines(wanted, rooms)) or ("no node is told of",)),
    )
    return Story(pod=pod.full_name, chapters=chapters, todo=tuple(_todo(pod, wanted, rooms)))


def _untold(whole: Mapping[str, int], wanted: Mapping[str, int]) -> Iterator[str]:
    others = {name: size for name, size in whole.items() if name not in wanted}
    if others:
        yield f"not told by NUMA node, and so not looked at: {demanded(others)}"


def _lines(wanted: Mapping[str, int], rooms: Iterable[Room]) -> Iterator[str]:
    for room in rooms:
        missing = room.missing(wanted)
        said = f"lacks {demanded(missing)}" if missing else "fits"
        yield f"{room.machine} {room.node}: {said}"


def _todo(pod: Pod, wanted: Mapping[str, int], rooms: Sequence[Room]) -> Iterator[Todo]:
    if any(not room.missing(wanted) for room in rooms):
        yield Todo(
            what="a node has room: see what else the scheduler says (taints, affinity, quotas)",
            command=f"kubectl describe pod -n {pod.namespace} {pod.name}",
        )
        return
    for room in rooms:
        ended = _enough(room, room.missing(wanted))
        if ended:
            yield Todo(
                what=f"ending {', '.join(ended)} would make room in {room.machine} {room.node}",
            )
    largest = _largest(wanted, rooms)
    if largest:
        yield Todo(what=f"it fits in one NUMA node if it asks for at most {largest}")


def _enough(room: Room, missing: Mapping[str, int]) -> list[str]:
    """The fewest pods, the smallest of equal use first, that free all that is missing."""
    left = dict(missing)
    ended: list[str] = []
    candidates = dict(room.holders)
    while left and candidates:
        name, freed = max(
            candidates.items(),
            key=lambda held: (_use(held[1], left), -sum(held[1].values()), held[0]),
        )
        if not _use(freed, left):
            return []
        del candidates[name]
        ended.append(name)
        left = {
            each: size - freed.get(each, 0)
            for each, size in left.items()
            if size > freed.get(each, 0)
        }
    return [] if left else ended


def _use(freed: Mapping[str, int], left: Mapping[str, int]) -> float:
    """Of all that is missing, the part that this frees."""
    return sum(min(freed.get(name, 0), size) / size for name, size in left.items())


def _largest(wanted: Mapping[str, int], rooms: Sequence[Room]) -> str:
    """What the roomiest NUMA node has of it, "" where that is nothing."""
    if not rooms:
        return ""
    best = max(rooms, key=lambda room: _use(room.available, wanted) if wanted else 0)
    offered = {name: min(size, best.available.get(name, 0)) for name, size in wanted.items()}
    if not all(offered.values()):
        return ""
    return f"{demanded(offered)} ({best.machine} {best.node})"
