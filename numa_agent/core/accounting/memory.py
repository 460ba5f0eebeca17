"""Memory and hugepages of each NUMA node: what there is, and what pods may have of it.

https://kubernetes.io/docs/tasks/administer-cluster/memory-manager/
"""

from collections.abc import Iterator, Mapping

from numa_agent.core import quantity
from numa_agent.core.accounting.amounts import Sources
from numa_agent.core.accounting.kept_back import MEBIBYTE, memory_by_node, memory_by_settings
from numa_agent.core.conditions import Condition
from numa_agent.core.topology import NumaNode

ByKind = dict[str, int]
"""Bytes by `memory` or hugepage size."""


def hugepages(size_kib: int) -> str:
    """Kubernetes' name for a hugepage size: `hugepages-2Mi`."""
    return f"hugepages-{quantity.binary(size_kib * 1024)}"


def capacities(sources: Sources) -> dict[int, ByKind]:
    """What each node with CPUs has. Hugepages are set aside at boot and so are no plain memory.

    Every node has every size that one of them, or the Node's allocatable, has: a scheduler takes a
    size that no zone names for one that the machine lacks.
    """
    nodes = sources.topology.cpu_nodes
    asked = {
        name
        for name, amount in sources.node.allocatable.items()
        if name.startswith("hugepages-") and amount > 0
    }
    sizes = sorted(
        asked.union(hugepages(pool.size_kib) for node in nodes for pool in node.hugepages)
    )
    return {node.id: _capacity(node, sizes) for node in nodes}


def _capacity(node: NumaNode, sizes: list[str]) -> ByKind:
    pools = dict.fromkeys(sizes, 0)
    for pool in node.hugepages:
        pools[hugepages(pool.size_kib)] = (pool.total or 0) * pool.size_kib * 1024
    return {"memory": max(0, (node.memory_bytes or 0) - sum(pools.values())), **pools}


def allocatable_memory(
    sources: Sources, capacity: Mapping[int, ByKind], conditions: list[Condition]
) -> dict[int, ByKind]:
    """What pods may have of each node's memory, by the most exact source; never above capacity.

    These are kubelet's memory manager by podresources and by its state file (the smaller, if they
    differ), reservedMemory, and a reservation that names no node, spread by the nodes' size.
    """
    kept = _kept_everywhere(sources, capacity, conditions)
    found: dict[int, ByKind] = {}
    for node_id, kinds in capacity.items():
        found[node_id] = {}
        for kind, total in kinds.items():
            told = dict(_told(sources, node_id, kind))
            if len(set(told.values())) > 1:
                both = ", ".join(f"{name} says {value}" for name, value in sorted(told.items()))
                subject = f"node {node_id} {kind}"
                conditions.append(
                    Condition(
                        code="allocatable-differs",
                        subject=subject,
                        message=f"{subject}: {both} bytes; the smaller is kept",
                    )
                )
            spread = kept[node_id] if kind == "memory" else 0
            least = min(
                told.values(), default=total - _own_reserve(sources, node_id, kind, spread)
            )
            found[node_id][kind] = max(0, min(total, least))
    return found


def _told(sources: Sources, node_id: int, kind: str) -> Iterator[tuple[str, int]]:
    """What kubelet's memory manager may give of a node, by each source that knows it."""
    offer = None if sources.granted is None else sources.granted.offer
    if offer is not None and offer.memory:
        # kubelet leaves out kinds that it has nothing of to give.
        own = (each for each in offer.memory if (each.kind, each.nodes) == (kind, (node_id,)))
        yield "podresources", sum(each.size for each in own)
    state = sources.memory_state
    if state is not None and state.policy == "Static":
        pool = state.pools.get(node_id, {}).get(kind)
        if pool is not None:
            yield "memory_manager_state", pool.allocatable


def _own_reserve(sources: Sources, node_id: int, kind: str, spread: int) -> int:
    settings = sources.settings
    # kubelet takes no notice of reservedMemory under another policy.
    if (
        settings is not None
        and settings.memory_manager_policy == "Static"
        and settings.reserved_memory
    ):
        return settings.reserved_memory.get(node_id, {}).get(kind, 0)
    return spread


def _kept_everywhere(
    sources: Sources, capacity: Mapping[int, ByKind], conditions: list[Condition]
) -> dict[int, int]:
    """A reservation that names no node, shared by size; each share is rounded up."""
    total = sum(kinds["memory"] for kinds in capacity.values())
    reserve = _reserve(sources, total, conditions)
    return {
        node_id: -(-reserve * kinds["memory"] // total) if total else 0
        for node_id, kinds in capacity.items()
    }


def _reserve(sources: Sources, total: int, conditions: list[Condition]) -> int:
    settings, node = sources.settings, sources.node
    by_file = None
    if settings is not None:
        by_file = memory_by_settings(settings, node.capacity.get("memory", total))
    by_node = memory_by_node(node)
    if by_node is None:
        return by_file or 0
    if by_file is not None and abs(by_file - by_node) >= MEBIBYTE:
        conditions.append(
            Condition(
                code="reservation-differs",
                subject="memory",
                message=f"memory: kubelet's configuration keeps {by_file} bytes back"
                f" (systemReserved, kubeReserved, evictionHard), the Node {by_node}; the larger is"
                " kept",
            )
        )
    return max(by_file or 0, by_node)
