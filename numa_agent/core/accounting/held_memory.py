"""What pods hold now of each NUMA node's memory.

kubelet's state file has the exact share of each node in a block of several, but keeps the blocks
of pods that have gone until it admits the next one: those are taken off. podresources knows the
pods that came since.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from numa_agent.core.accounting.amounts import Sources
from numa_agent.core.accounting.held import live_grants
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.grants import ContainerGrant, MemoryGrant
from numa_agent.core.kubelet import MemoryManagerState
from numa_agent.core.pods import Pod

_Place = tuple[int, str]
"""A node's id and a kind of memory."""

_Room = Mapping[int, Mapping[str, int]]


def held_memory(
    sources: Sources, allocatable: _Room, conditions: list[Condition]
) -> Mapping[_Place, int]:
    """Bytes held of each node and kind: kubelet's blocks, and what assigned pods ask for."""
    grants = [grant for grant in live_grants(sources) if grant.memory]
    state = sources.memory_state
    held: Counter[_Place] = Counter()
    if state is not None and state.policy == "Static":
        held.update(_by_state(state, sources, allocatable))
        known = _names(sources, state)
        new = [grant for grant in grants if (grant.namespace, grant.pod) not in known]
        old = [grant for grant in grants if (grant.namespace, grant.pod) in known]
        if sources.granted is not None:
            _compare(held, old, conditions)
        held.update(_laid(_blocks(new), allocatable))
    else:
        held.update(_laid(_blocks(grants), allocatable))
    pinned = {(grant.namespace, grant.pod) for grant in grants}
    for pod in sources.pods:
        cpus = sources.assigned.get(pod.uid)
        if cpus and not pod.finished and (pod.namespace, pod.name) not in pinned:
            held.update(dict(_asked(sources, pod, cpus, allocatable, held)))
    return held


def _by_state(state: MemoryManagerState, sources: Sources, allocatable: _Room) -> Counter[_Place]:
    held = Counter(
        {
            (node_id, kind): pool.reserved
            for node_id, pools in state.pools.items()
            for kind, pool in pools.items()
            if node_id in allocatable
        }
    )
    gone = [
        block for uid in _uids(state) - sources.living_uids for block in _blocks_of(state, uid)
    ]
    for block in sorted(gone, key=lambda block: len(block.nodes)):
        left = block.size
        for node_id in block.nodes:
            part = min(left, held[node_id, block.kind])
            held[node_id, block.kind] -= part
            left -= part
    return held


def _uids(state: MemoryManagerState) -> frozenset[str]:
    return frozenset((*state.entries, *state.pod_entries))


def _blocks_of(state: MemoryManagerState, uid: str) -> Iterator[MemoryGrant]:
    """A pod's blocks; those of a pod as a whole (KEP-5526) hold its containers'."""
    if uid in state.pod_entries:
        yield from state.pod_entries[uid]
        return
    for blocks in state.entries.get(uid, {}).values():
        yield from blocks


def _names(sources: Sources, state: MemoryManagerState) -> frozenset[tuple[str, str]]:
    """Namespace and name of the pods that the state knows."""
    uids = _uids(state)
    return frozenset((pod.namespace, pod.name) for pod in sources.pods if pod.cgroup_uid in uids)


def _blocks(grants: Iterable[ContainerGrant]) -> list[MemoryGrant]:
    return [block for grant in grants for block in grant.memory]


def _laid(blocks: Iterable[MemoryGrant], allocatable: _Room) -> Counter[_Place]:
    """Blocks on their nodes in turn, as kubelet's memory manager lays them."""
    laid: Counter[_Place] = Counter()
    # Those of one node leave no choice, so they come first.
    for block in sorted(blocks, key=lambda block: len(block.nodes)):
        left = block.size
        for node_id in block.nodes:
            room = allocatable.get(node_id, {}).get(block.kind, 0) - laid[node_id, block.kind]
            part = left if node_id == block.nodes[-1] else max(0, min(left, room))
            laid[node_id, block.kind] += part
            left -= part
    return laid


def _compare(
    held: Mapping[_Place, int], grants: Iterable[ContainerGrant], conditions: list[Condition]
) -> None:
    """Say where the two sources give pods that both know other amounts."""
    listed: Counter[str] = Counter()
    for block in _blocks(grants):
        listed[block.kind] += block.size
    by_state: Counter[str] = Counter()
    for (_, kind), size in held.items():
        by_state[kind] += size
    conditions.extend(
        Condition(
            code="memory-sources-differ",
            subject=kind,
            message=f"{kind}: pods hold {listed[kind]} bytes by podresources, {by_state[kind]} by"
            " memory_manager_state, which counts",
        )
        for kind in sorted(listed.keys() | by_state.keys())
        if listed[kind] != by_state[kind]
    )


def _asked(
    sources: Sources,
    pod: Pod,
    cpus: CpuSet,
    allocatable: _Room,
    held: Mapping[_Place, int],
) -> Iterator[tuple[_Place, int]]:
    """What an assigned pod asks for, on its CPUs' nodes: there its pages are first touched."""
    nodes = sorted(sources.topology.nodes_of(cpus))
    for kind, size in pod.demands.effective().items():
        left = size
        for node_id in nodes:
            offered = allocatable.get(node_id, {})
            if kind not in offered:
                continue
            room = max(0, offered[kind] - held.get((node_id, kind), 0))
            part = min(left, room)
            left -= part
            yield (node_id, kind), part
