"""The CPUs that a scheduler decided for a pod, or what is wrong with its words."""

from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet


class AssignmentError(ValueError):
    """An assignment that can't be followed; the message shows the text refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The CPUs decided for all containers of a pod, and the annotation that says so."""

    cpus: CpuSet
    source: str
