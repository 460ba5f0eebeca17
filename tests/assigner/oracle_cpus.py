"""The right CPUs by trying every subset: the rules of core/assigner/cpus, said once more.

It shares nothing with the product but its values. For some twelve CPUs.
"""

from collections.abc import Iterator
from itertools import combinations, product

from numa_agent.core.assigner.values import Apart, NodeIds, NodeRoom, Room, Threads, Wish
from numa_agent.core.cpulist import CpuSet

Key = tuple[object, ...]


def best_cpus(wish: Wish, room: Room, nodes: NodeIds) -> CpuSet | None:
    """The best CPUs there are, None where there aren't as many."""
    chosen = [node for node in room.nodes if node.id in nodes]
    best = {node.id: best_by_count(wish, room, node) for node in chosen}
    sizes = {node.id: len(may_have(wish, room, node)) for node in chosen}
    order = [n for n in sorted(sizes, key=lambda each: (sizes[each], each)) if sizes[n]]
    found: list[tuple[Key, CpuSet]] = []
    for counts in product(*(best[node] for node in order)):
        if sum(counts) == wish.cpus:
            parts = [best[node][count] for node, count in zip(order, counts, strict=True)]
            key = (
                sum(1 for count in counts if not count),
                sum(breaks for breaks, _ in parts),
                [-count for count in counts],
            )
            found.append((key, frozenset[int]().union(*(cpus for _, cpus in parts))))
    return min(found, default=(None, None), key=lambda each: each[0])[1]


def best_by_count(wish: Wish, room: Room, node: NodeRoom) -> dict[int, tuple[bool, CpuSet]]:
    """By each count of CPUs that a node can give: if a core is newly broken, and the best CPUs."""
    rules = Rules(wish, room, node)
    found: dict[int, tuple[Key, CpuSet]] = {}
    for cpus in subsets(rules.there):
        if wish.threads is Threads.ONLY_WHOLE_CORES and not rules.only_whole(cpus):
            continue
        key = (*rules.key(cpus), sorted(cpus))
        if len(cpus) not in found or key < found[len(cpus)][0]:
            found[len(cpus)] = (key, cpus)
    whole = wish.threads is Threads.WHOLE_CORES
    return {
        count: (whole and bool(rules.newly_broken(cpus)), cpus)
        for count, (_, cpus) in found.items()
    }


class Rules:
    """How good some CPUs of a node are for a wish."""

    def __init__(self, wish: Wish, room: Room, node: NodeRoom) -> None:
        self.wish = wish
        self.kinds = [kind.cpus for kind in room.kinds]
        self.free = node.free
        self.there = may_have(wish, room, node)
        self.core = {cpu: core_of(room, cpu) for cpu in self.there}
        known = frozenset[int]().union(*room.caches)
        self.caches = [cache & node.usable for cache in room.caches] + [node.usable - known]

    def key(self, cpus: CpuSet) -> Key:
        """What is least for the best CPUs: rules 1 to 4, the lowest caches last."""
        kinds = [-len(cpus & kind) for kind in self.kinds]
        return (kinds, self._threads_key(cpus), *self._caches_key(cpus))

    def only_whole(self, cpus: CpuSet) -> bool:
        return all(self.core[cpu] <= cpus for cpu in cpus)

    def newly_broken(self, cpus: CpuSet) -> list[CpuSet]:
        touched = {self.core[cpu] for cpu in cpus}
        return [core for core in touched if core <= self.there and not core <= cpus]

    def _threads_key(self, cpus: CpuSet) -> Key:
        touched = {self.core[cpu] for cpu in cpus}
        if self.wish.threads is Threads.SPREAD:
            return (-len(touched), -sum(1 for core in touched if core <= self.there))
        whole = [core for core in touched if core <= cpus]
        in_whole = sum(len(core) for core in whole)
        larger_first = sorted(-len(core) for core in whole)
        broken = self.newly_broken(cpus)
        on_broken = sum(len(core & cpus) for core in touched if not core <= self.there)
        apart = self.wish.apart is Apart.CORES
        two = (on_broken, len(broken)) if apart else (len(broken), on_broken)
        return (-in_whole, larger_first, two, sum(len(core) for core in broken))

    def _caches_key(self, cpus: CpuSet) -> Key:
        used = [cache for cache in self.caches if cache & cpus]
        return (
            len(used),
            sum(1 for cache in used if cache <= self.free),
            sum(len(cache & self.there - cpus) for cache in used),
            sorted(min(cache & self.there) for cache in used),
        )


def may_have(wish: Wish, room: Room, node: NodeRoom) -> CpuSet:
    """The free CPUs that the wish may have at all."""
    named = {
        cpu
        for cpu in node.free
        if wish.kind is None or any(k.name == wish.kind and cpu in k.cpus for k in room.kinds)
    }
    if wish.apart is Apart.CORES:
        named = {cpu for cpu in named if not core_of(room, cpu) & room.apart}
    if wish.threads is Threads.ONLY_WHOLE_CORES:
        named = {cpu for cpu in named if core_of(room, cpu) <= named}
    return frozenset(named)


def core_of(room: Room, cpu: int) -> CpuSet:
    return next((core for core in room.cores if cpu in core), frozenset({cpu}))


def subsets(cpus: CpuSet) -> Iterator[CpuSet]:
    for count in range(len(cpus) + 1):
        yield from map(frozenset, combinations(sorted(cpus), count))
