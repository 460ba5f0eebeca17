"""What a machine's online CPUs are for, each counted once."""

from collections.abc import Mapping

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.report import Report

USES = ("own", "kubelet", "reserved", "isolated", "shared")
"""A pod's by an assignment, given out by kubelet's static policy, kept for the system, isolated by
the kernel, and all others; the first that fits counts."""


def cpu_use(report: Report) -> Mapping[int | None, Mapping[str, int]]:
    """The number of CPUs by use, for each NUMA node with CPUs; None is for those in no node."""
    topology = report.topology
    places: dict[int | None, CpuSet] = {
        node.id: node.cpus or frozenset() for node in topology.nodes
    }
    places[None] = topology.online.difference(*places.values())
    claims = (
        frozenset[int]().union(*(each.cpus for each in report.bindings)),
        report.kubelet_exclusive,
        report.reserved,
        topology.isolated or frozenset(),
    )
    return {where: _counted(cpus, claims) for where, cpus in places.items() if cpus}


def _counted(cpus: CpuSet, claims: tuple[CpuSet, ...]) -> Mapping[str, int]:
    counts = []
    for claimed in claims:
        counts.append(len(cpus & claimed))
        cpus -= claimed
    return dict(zip(USES, (*counts, len(cpus)), strict=True))
