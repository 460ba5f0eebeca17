"""Where a pod that isn't placed would fit: which node has room in one NUMA node, and what lacks.

What a scheduler with the policy SingleNUMANode looks for, by what the agents have published.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from numa_agent.core.explaining.asking import demanded
from numa_agent.core.explaining.story import Chapter, Story, Todo
from numa_agent.core.pod_reasons import meaning
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
    whole, wanted = _demand(pod, rooms)
    chapters = (
        Chapter(title="asked", lines=(demanded(whole), *_untold(whole, wanted))),
        Chapter(title="placed", lines=(why,)),
        _room(wanted, rooms),
    )
    todo = _elsewhere(pod) if _fits(wanted, rooms) else _making_room(wanted, rooms)
    return Story(pod=pod.full_name, chapters=chapters, todo=tuple(todo))


def waiting(story: Story, pod: Pod, rooms: Sequence[Room]) -> Story:
    """A story with where the pod would have room, of one that is here and runs no container.

    It is placed: what keeps it from running is kubelet, an image, a volume or its program.
    """
    _, wanted = _demand(pod, rooms)
    room = () if _fits(wanted, rooms) else _making_room(wanted, rooms)
    return replace(
        story,
        chapters=(*story.chapters, _room(wanted, rooms)),
        todo=(*story.todo, _why_not_running(pod), *room),
    )


def _why_not_running(pod: Pod) -> Todo:
    if pod.phase == "Failed":
        means = meaning(pod.reason)
        return Todo(
            what=f"{means}: read its own words" if means else "see why it failed",
            command=f"kubectl get pod -n {pod.namespace} {pod.name}"
            " -o jsonpath='{.status.reason}: {.status.message}'",
        )
    return Todo(
        what="it is placed here: see why no container of it runs (image, volumes, crashes)",
        command=f"kubectl describe pod -n {pod.namespace} {pod.name}",
    )


def _demand(pod: Pod, rooms: Iterable[Room]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """All that a pod asks for, and what of it NUMA nodes are told of."""
    told = {name for room in rooms for name in room.available}
    whole = {name: size for name, size in pod.demands.effective().items() if size}
    return whole, {name: size for name, size in whole.items() if name in told}


def _fits(wanted: Mapping[str, int], rooms: Iterable[Room]) -> bool:
    return any(not room.missing(wanted) for room in rooms)


def _room(wanted: Mapping[str, int], rooms: Iterable[Room]) -> Chapter:
    return Chapter(title="room", lines=tuple(_lines(wanted, rooms)) or ("no node is told of",))


def _untold(whole: Mapping[str, int], wanted: Mapping[str, int]) -> Iterator[str]:
    others = {name: size for name, size in whole.items() if name not in wanted}
    if others:
        yield f"not told by NUMA node, and so not looked at: {demanded(others)}"


def _lines(wanted: Mapping[str, int], rooms: Iterable[Room]) -> Iterator[str]:
    for room in rooms:
        missing = room.missing(wanted)
        said = f"lacks {demanded(missing)}" if missing else "fits"
        yield f"{room.machine} {room.node}: {said}"


def _elsewhere(pod: Pod) -> Iterator[Todo]:
    yield Todo(
        what="a node has room: see what else the scheduler says (taints, affinity, quotas)",
        command=f"kubectl describe pod -n {pod.namespace} {pod.name}",
    )


def _making_room(wanted: Mapping[str, int], rooms: Sequence[Room]) -> Iterator[Todo]:
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
    if not all(size > 0 for size in offered.values()):
        return ""
    return f"{demanded(offered)} ({best.machine} {best.node})"
