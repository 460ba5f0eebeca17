"""How it is said that a pod's memory isn't held to NUMA nodes."""

from numa_agent.core.assignment import Assignment

NOT_SET = "mems-not-set"
UNTOLD = "mems-untold"
"""The same of a pod that tells no amount of memory, where nobody named memory nodes for it."""

NO_NEED = "it has neither a limit nor a request for memory"


def not_set(said: Assignment, ours: Assignment | None, nodes: str, why: str) -> tuple[str, str]:
    """The condition's code and message; `ours` is what this agent decided, which nobody named."""
    message = f"memory nodes {nodes} aren't set: {why}"
    named = said is not ours and any(each.mems for each in (said.pod, *said.containers.values()))
    if named or why != NO_NEED:
        return NOT_SET, message
    return UNTOLD, f"{message}; the kernel takes it near its CPUs while it can"
