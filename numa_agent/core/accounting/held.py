"""What pods hold now: CPUs, bytes of a node's memory, devices.

A finished pod holds nothing. A pod that only kubelet names may be newer than the API's list, and
so holds what it has.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from numa_agent.core.accounting.amounts import Sources
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.grants import ContainerGrant, MemoryGrant
from numa_agent.core.pods import Pod


def live_grants(sources: Sources) -> Iterator[ContainerGrant]:
    """What kubelet gave to containers of pods that haven't ended (before Kubernetes 1.34 it lists
    those too)."""
    if sources.granted is not None:
        finished = sources.finished
        yield from (
            grant
            for grant in sources.granted.containers
            if (grant.namespace, grant.pod) not in finished
        )


def held_cpus(sources: Sources, conditions: list[Condition]) -> CpuSet:
    """Every CPU that is somebody's own by podresources, kubelet's state file or an assignment."""
    state = sources.cpu_state
    held: set[int] = set()
    for uid, cpus in () if state is None else state.by_pod.items():
        if uid not in sources.ended_uids:
            held |= cpus
    for grant in live_grants(sources):
        if grant.cpus and _exclusive(sources, grant, conditions):
            held |= grant.cpus
    for pod in sources.pods:
        if not pod.finished:
            held |= sources.assigned.get(pod.uid, frozenset())
    return frozenset(held)


def _exclusive(sources: Sources, grant: ContainerGrant, conditions: list[Condition]) -> bool:
    """Whether a container's CPUs by podresources are its own; says where the state differs."""
    state = sources.cpu_state
    if state is None:
        return True
    who = f"{grant.namespace}/{grant.pod} {grant.container}"
    said = f"{who}: podresources gives it CPUs {render(grant.cpus)}, but cpu_manager_state"
    if state.policy != "static":
        # Old kubelets named the shared pool here, which nobody holds alone.
        conditions.append(
            Condition(
                code="cpu-sources-differ",
                subject=who,
                message=f"{said} has the policy {state.policy}, which gives none out; not counted",
            )
        )
        return False
    pod = _pod(sources, grant)
    by_state = None if pod is None else state.entries.get(pod.cgroup_uid, {}).get(grant.container)
    # Containers of a pod that has CPUs as a whole (KEP-5526) share those, by kubelet's own choice.
    whole = pod is not None and pod.cgroup_uid in state.pod_entries
    if pod is not None and by_state != grant.cpus and not whole:
        has = "none" if by_state is None else render(by_state)
        conditions.append(
            Condition(
                code="cpu-sources-differ",
                subject=who,
                message=f"{said} {has}; both count as held",
            )
        )
    return True


def _pod(sources: Sources, grant: ContainerGrant) -> Pod | None:
    wanted = (grant.namespace, grant.pod)
    return next((pod for pod in sources.pods if (pod.namespace, pod.name) == wanted), None)


def held_memory(
    sources: Sources,
    allocatable: Mapping[int, Mapping[str, int]],
    conditions: list[Condition],
) -> Mapping[tuple[int, str], int]:
    """Bytes held of each node and kind: kubelet's blocks, and what assigned pods ask for.

    kubelet's state file has the exact share of each node in a block of several; without it such a
    block is laid on its nodes in turn, as kubelet's memory manager lays it.
    """
    blocks, pinned = _blocks(sources)
    laid = _laid(blocks, allocatable)
    state = sources.memory_state
    held: defaultdict[tuple[int, str], int] = defaultdict(int, laid)
    if state is not None and state.policy == "Static":
        for node_id, pools in state.pools.items():
            for kind, pool in pools.items():
                if node_id not in allocatable:
                    continue
                place = (node_id, kind)
                if sources.granted is not None and laid.get(place, 0) != pool.reserved:
                    _memory_differs(place, laid.get(place, 0), pool.reserved, conditions)
                held[place] = max(held[place], pool.reserved)
    for pod in sources.pods:
        cpus = sources.assigned.get(pod.uid)
        if cpus and not pod.finished and (pod.namespace, pod.name) not in pinned:
            for place, size in _asked(sources, pod, cpus, allocatable, held):
                held[place] += size
    return held


def _blocks(sources: Sources) -> tuple[list[MemoryGrant], set[tuple[str, str]]]:
    """The memory blocks of live pods, and the pods that have one."""
    found = [grant for grant in live_grants(sources) if grant.memory]
    return (
        [block for grant in found for block in grant.memory],
        {(grant.namespace, grant.pod) for grant in found},
    )


def _laid(
    blocks: list[MemoryGrant], allocatable: Mapping[int, Mapping[str, int]]
) -> dict[tuple[int, str], int]:
    laid: defaultdict[tuple[int, str], int] = defaultdict(int)
    # Those of one node leave no choice, so they come first.
    for block in sorted(blocks, key=lambda block: len(block.nodes)):
        left = block.size
        for node_id in block.nodes:
            room = allocatable.get(node_id, {}).get(block.kind, 0) - laid[node_id, block.kind]
            part = left if node_id == block.nodes[-1] else max(0, min(left, room))
            laid[node_id, block.kind] += part
            left -= part
    return {place: size for place, size in laid.items() if size}


def _asked(
    sources: Sources,
    pod: Pod,
    cpus: CpuSet,
    allocatable: Mapping[int, Mapping[str, int]],
    held: Mapping[tuple[int, str], int],
) -> Iterator[tuple[tuple[int, str], int]]:
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


def _memory_differs(
    place: tuple[int, str], by_list: int, by_state: int, conditions: list[Condition]
) -> None:
    subject = f"node {place[0]} {place[1]}"
    conditions.append(
        Condition(
            code="memory-sources-differ",
            subject=subject,
            message=f"{subject}: pods hold {by_list} bytes by podresources, {by_state} by"
            " memory_manager_state; the larger counts",
        )
    )


def held_devices(sources: Sources) -> frozenset[tuple[str, str]]:
    """The (resource, id) of every device that a live pod holds, by a plugin or by a claim."""
    held = {
        (device.resource, unit)
        for grant in live_grants(sources)
        for device in grant.devices
        for unit in device.ids
    }
    claimed = {
        name.partition("=")[2]
        for grant in live_grants(sources)
        for dynamic in grant.dynamic
        for name in dynamic.cdi_devices
    }
    offer = None if sources.granted is None else sources.granted.offer
    for device in () if offer is None else offer.devices:
        held |= {(device.resource, unit) for unit in device.ids if unit in claimed}
    return frozenset(held)
