"""Where a command is run to see what locality is worth to it: near, far and unbound."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.measuring.planning import Allowed
from numa_agent.core.topology import NumaNode, Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """CPUs and the node that memory comes from, None where the kernel chooses."""

    name: str
    cpus: CpuSet
    mem: int | None


def placements(
    topology: Topology, allowed: Allowed, near: int | None = None, far: int | None = None
) -> tuple[Placement, ...]:
    """Near, far and unbound. Near is a node's CPUs with its memory.

    Far is the same memory with the CPUs of the node `far`, else of the one farthest from it; where
    no other node has CPUs, or `far` is a memory-only node, it is the near CPUs with the far node's
    memory. Near and far have equally many CPUs. Raises ValueError where there is no such pair.
    """
    nodes = {node.id: node for node in topology.nodes}
    cpus = {
        node.id: own
        for node in topology.cpu_nodes
        if (own := (node.cpus or frozenset()) & allowed.cpus)
    }
    mems = {node.id for node in topology.nodes if node.memory_bytes and node.id in allowed.mems}
    for asked in (near, far):
        if asked is not None and asked not in nodes:
            raise ValueError(
                f"there is no NUMA node {asked} (here: {cpulist.render(frozenset(nodes))})"
            )
    both = sorted(cpus.keys() & mems)
    if near is None and both:
        near = both[0]
    if near not in both:
        which = "no NUMA node" if near is None else f"node {near}"
        raise ValueError(f"{which} has both CPUs and memory for this process: {_limits(allowed)}")
    other = far if far is not None else _farthest(nodes[near], (cpus.keys() | mems) - {near}, cpus)
    if other is None or other == near or other not in cpus.keys() | mems:
        which = "no other node" if other is None or other == near else f"node {other}"
        raise ValueError(f"{which} can be far of node {near}: {_limits(allowed)}")
    count = min(len(cpus[near]), len(cpus.get(other, cpus[near])))
    home = _first(cpus[near], count)
    if other in cpus:
        away = Placement(name="far", cpus=_first(cpus[other], count), mem=near)
    else:
        away = Placement(name="far", cpus=home, mem=other)
    return (
        Placement(name="near", cpus=home, mem=near),
        away,
        Placement(name="unbound", cpus=allowed.cpus, mem=None),
    )


def _farthest(near: NumaNode, others: set[int], cpus: Mapping[int, CpuSet]) -> int | None:
    """The node that the firmware has farthest, of those with CPUs if there are any."""
    candidates = {node for node in others if node in cpus} or others
    distances = near.distances or {}
    return min(candidates, key=lambda node: (-distances.get(node, 0), node), default=None)


def _first(cpus: CpuSet, count: int) -> CpuSet:
    return frozenset(sorted(cpus)[:count])


def _limits(allowed: Allowed) -> str:
    return (
        f"it may use CPUs {cpulist.render(allowed.cpus)} and memory of nodes"
        f" {cpulist.render(allowed.mems)} (cpuset or affinity)"
    )
