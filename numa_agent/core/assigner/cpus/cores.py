"""The cores of a node as far as a pod may have them, and which of its CPUs it may have at all."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from numa_agent.core.assigner.values import Apart, NodeRoom, Room, Threads, Wish
from numa_agent.core.cpulist import CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What of one core a pod may have: its free CPUs, ascending.

    `whole` says that they are all of its threads; a core of which another pod has a CPU, or where
    one is reserved or isolated, is a broken one. `cache` and `kind` are positions in the room's
    caches and kinds, those of its lowest CPU, and one past the last where none is known.
    """

    cpus: tuple[int, ...]
    whole: bool
    cache: int
    kind: int


def eligible(wish: Wish, room: Room, node: NodeRoom, cpus: CpuSet) -> CpuSet:
    """Of some CPUs of a node, those that this wish may have at all.

    With its kind of CPUs named only those; to be apart by cores none of a core of which another
    such pod holds a CPU, unless that CPU is one of these (it could ever be had); with whole cores
    only those of which all threads are left.
    """
    left = cpus & node.usable
    if wish.kind is not None:
        left &= _union(kind.cpus for kind in room.kinds if kind.name == wish.kind)
    if wish.apart is Apart.CORES:
        held = room.apart - cpus
        left -= _union(core for core in room.cores if core & held) if held else frozenset()
    if wish.threads is Threads.ONLY_WHOLE_CORES:
        left -= _union(core for core in room.cores if not core <= left)
    return left


def cores_of(room: Room, cpus: CpuSet) -> list[Core]:
    """The cores that these CPUs are of, ascending by their lowest of them.

    A CPU that no core names is one by itself, and one that two name is the first one's.
    """
    caches = _places(room.caches, cpus)
    kinds = _places([kind.cpus for kind in room.kinds], cpus)
    left, found = set(cpus), list[Core]()
    for core in (*room.cores, *({cpu} for cpu in sorted(cpus.difference(*room.cores)))):
        own = core & left
        if own:
            left -= own
            lowest = min(own)
            found.append(
                Core(
                    cpus=tuple(sorted(own)),
                    whole=len(own) == len(core),
                    cache=caches.get(lowest, len(room.caches)),
                    kind=kinds.get(lowest, len(room.kinds)),
                )
            )
    return sorted(found, key=lambda core: core.cpus)


def sizes_of(cores: Iterable[Core]) -> dict[int, int]:
    """How many of the cores are whole, by their number of threads."""
    return dict(Counter(len(core.cpus) for core in cores if core.whole))


def _places(groups: Iterable[CpuSet], cpus: CpuSet) -> dict[int, int]:
    """The position of the first group that has each of these CPUs, for those in any."""
    places: dict[int, int] = {}
    for place, group in enumerate(groups):
        for cpu in group & cpus:
            places.setdefault(cpu, place)
    return places


def _union(sets: Iterable[CpuSet]) -> CpuSet:
    return frozenset[int]().union(*sets)
