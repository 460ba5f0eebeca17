"""Which CPUs of some NUMA nodes a pod gets.

In this order:

0. Each of the nodes gives at least one, as far as the count goes; then on the fewest nodes what
   follows breaks a core that is whole; then the nodes are filled, that with the fewest free CPUs
   first (shares.py). What follows is decided on each node by itself, with what caches and cores
   have on that node.
1. The fastest kind of CPUs first, unless one is asked for by name.
2. The threads of cores as the pod asks: whole cores, or one thread of each core (needs.py).
3. The fewest last-level caches; 4. of these the fewest that are whole, which means that all
   of their usable CPUs are free, then the fewest free CPUs left over in them; then the caches
   with the lowest free CPUs (caches.py).
5. The lowest CPUs in these caches.

Free CPUs that the pod can't have by its wish (of another kind, of a broken core where it wants
whole cores only) aren't counted. CPUs whose cache isn't known are behind one of their own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from numa_agent.core.assigner.cpus.caches import CacheRoom, fewest_caches
from numa_agent.core.assigner.cpus.cores import Core, cores_of, eligible
from numa_agent.core.assigner.cpus.needs import Need, needs, possible, unbroken
from numa_agent.core.assigner.cpus.no_cpus import no_cpus
from numa_agent.core.assigner.cpus.shares import Share, shares
from numa_agent.core.assigner.values import NodeIds, NodeRoom, Room, Wish
from numa_agent.core.cpulist import CpuSet

__all__ = ["choose_cpus", "eligible"]


def choose_cpus(wish: Wish, room: Room, nodes: NodeIds) -> CpuSet:
    """The wish's number of CPUs of these nodes' free ones; see above which ones.

    Raises NoRoomError: `no-room` where fewer are free, `never-fits` where whole cores are asked
    for and no number of them makes up this number of CPUs.
    """
    if not wish.cpus:
        return frozenset()
    chosen = [node for node in room.nodes if node.id in nodes]
    cores = {node.id: cores_of(room, eligible(wish, room, node, node.free)) for node in chosen}
    counts = shares({node: _share(wish, cores[node]) for node in cores if cores[node]}, wish.cpus)
    if counts is None:
        raise no_cpus(wish, room, chosen)
    return frozenset[int]().union(
        *(
            _of_node(wish, room, node, cores[node.id], counts[node.id])
            for node in chosen
            if counts.get(node.id)
        )
    )


def _share(wish: Wish, cores: Sequence[Core]) -> Share:
    return Share(
        free=sum(len(core.cpus) for core in cores),
        possible=possible(wish, cores),
        unbroken=unbroken(wish, cores),
    )


def _of_node(
    wish: Wish, room: Room, node: NodeRoom, cores: Sequence[Core], count: int
) -> Iterable[int]:
    wanted = needs(wish, cores, count)
    # Cores are in ascending order, so the caches are, by the lowest CPU that can be had.
    caches = list(dict.fromkeys(core.cache for core in cores))
    free = Counter[int]()
    for core in cores:
        free[core.cache] += len(core.cpus)
    units = [Counter(unit.cache for unit in need.units) for need in wanted]
    rooms = [
        CacheRoom(
            amounts=tuple([has[cache] for has in units]),
            free=free[cache],
            whole=_is_whole(room, node, cache),
        )
        for cache in caches
    ]
    places = fewest_caches(rooms, tuple(need.count for need in wanted))
    used = {caches[place] for place in places}
    return [cpu for need in wanted for cpu in _lowest(need, used)]


def _is_whole(room: Room, node: NodeRoom, cache: int) -> bool:
    known = frozenset[int]().union(*room.caches) if cache == len(room.caches) else frozenset()
    cpus = node.usable - known if cache == len(room.caches) else node.usable & room.caches[cache]
    return cpus <= node.free


def _lowest(need: Need, caches: set[int]) -> Iterable[int]:
    """The lowest CPUs of these units in these caches; a core is broken where it costs least."""
    units = [unit.cpus for unit in need.units if unit.cache in caches][: need.count]
    if need.odd:
        broken = max(units, key=lambda cpus: cpus[need.odd])
        units = [cpus if cpus is not broken else cpus[: need.odd] for cpus in units]
    return [cpu for cpus in units for cpu in cpus]
