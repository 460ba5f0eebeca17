"""Capacity, allocatable and available of each NUMA node that CPUs are handed out from.

`available <= allocatable <= capacity` always holds (fields of NodeResourceTopology:
https://github.com/k8stopologyawareschedwg/noderesourcetopology-api).
"""

from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet
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
