"""Whether it is a fault that a pod's memory isn't held to NUMA nodes."""

from numa_agent.core.assignment import Assignment

NO_NEED = "it has neither a limit nor a request for memory"


def is_fault(said: Assignment, ours: Assignment | None, why: str) -> bool:
    """Not of a pod that tells no amount of memory, where nobody named memory nodes for it.

    `ours` is what this agent decided, which nobody named.
    """
    named = said is not ours and any(each.mems for each in (said.pod, *said.containers.values()))
    return named or why != NO_NEED
