"""Capacity, allocatable and available of each NUMA node that CPUs are handed out from.

`available <= allocatable <= capacity` always holds (fields of NodeResourceTopology:
https://github.com/k8stopologyawareschedwg/noderesourcetopology-api).
"""

from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.topology import NumaNode, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of one resource a node has: CPUs as a count, memory in bytes."""

    capacity: int
    allocatable: int
    available: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAccount:
    """What one NUMA node offers; a resource whose capacity isn't known is left out."""

    node: NumaNode
    resources: dict[str, Amount]


def unaccountable(topology: Topology) -> str | None:
    """Why no true account of the machine can be given, None when it can.

    An object with a part missing would take that capacity away from the scheduler, or give it some
    that isn't there.
    """
    if not topology.cpu_nodes:
        return "no NUMA node with CPUs is known"
    for node in topology.nodes:
        if node.cpus is None:
            return f"the CPUs of node {node.id} are unknown"
        if node.cpus and node.memory_bytes is None:
            return f"the memory of node {node.id} is unknown"
        if any(pool.total is None for pool in node.hugepages):
            return f"the hugepages of node {node.id} are unknown"
    homeless = topology.online.difference(*(node.cpus or () for node in topology.nodes))
    return f"CPUs {render(homeless)} are in no node" if homeless else None


def accounts(topology: Topology, taken: CpuSet) -> tuple[NodeAccount, ...]:
    """An account for each node with CPUs, ascending; CPUs that are taken aren't available."""
    return tuple(_account(node, taken) for node in topology.cpu_nodes)


def _account(node: NumaNode, taken: CpuSet) -> NodeAccount:
    cpus = node.cpus or frozenset()
    resources = {
        "cpu": Amount(capacity=len(cpus), allocatable=len(cpus), available=len(cpus - taken))
    }
    if node.memory_bytes is not None:
        # Hugepages are set aside at boot: they are memory that no ordinary request gets.
        huge = sum((pool.total or 0) * pool.size_kib * 1024 for pool in node.hugepages)
        plain = max(0, node.memory_bytes - huge)
        resources["memory"] = Amount(
            capacity=node.memory_bytes, allocatable=plain, available=plain
        )
    return NodeAccount(node=node, resources=resources)
