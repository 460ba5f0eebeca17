"""Whether a container got the CPUs decided for it, measured from what the kernel has in force."""

from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import Topology


class Alignment(StrEnum):
    """The answer for one container."""

    ALIGNED = "aligned"
    """Its CPUs are among those decided, all in one NUMA node."""
    SPLIT = "split"
    """Its CPUs lie in several NUMA nodes."""
    REMOTE = "remote"
    """It may run outside the CPUs decided."""
    UNKNOWN = "unknown"
    """The kernel's answer, or a CPU's node, wasn't seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer, the reason and what it was measured from."""

    alignment: Alignment
    reason: str
    decided: CpuSet
    effective: CpuSet | None

    @property
    def kept(self) -> bool:
        """Whether the container has exactly the CPUs decided, in one node."""
        return self.alignment is Alignment.ALIGNED and self.effective == self.decided


def judge(
    decided: CpuSet,
    effective: CpuSet | None,
    topology: Topology,
    *,
    strayed: CpuSet = frozenset(),
    unseen: str = "its cgroup wasn't found",
) -> Verdict:
    """The verdict on a container whose kernel-side CPUs are `effective`.

    They are None where they weren't seen, for the reason `unseen`. `strayed` are those besides
    them on which a task of it may run all the same.
    """
    if effective is None:
        alignment, reason = Alignment.UNKNOWN, f"{unseen}, so the CPUs in force were not seen"
    else:
        alignment, reason = _judged(decided, effective, strayed, topology)
    return Verdict(alignment=alignment, reason=reason, decided=decided, effective=effective)


def _judged(
    decided: CpuSet, effective: CpuSet, strayed: CpuSet, topology: Topology
) -> tuple[Alignment, str]:
    said = f"CPUs {cpulist.render(effective)} are in force"
    if effective < decided:
        said += f" of {cpulist.render(decided)} decided"
    outside = effective - decided
    if outside:
        wanted = cpulist.render(decided)
        return Alignment.REMOTE, f"{said}, not {wanted}: it may run on {cpulist.render(outside)}"
    if strayed:
        return Alignment.REMOTE, f"{said}, but a task may run on {cpulist.render(strayed)}"
    nodes = topology.nodes_of(effective)
    homeless = effective.difference(*(node.cpus or () for node in topology.nodes))
    if homeless or not effective:
        return Alignment.UNKNOWN, f"{said}, whose NUMA node isn't known"
    listed = cpulist.render(nodes)
    if len(nodes) > 1:
        return Alignment.SPLIT, f"{said}, in nodes {listed}"
    return Alignment.ALIGNED, f"{said}, all in node {listed}"
