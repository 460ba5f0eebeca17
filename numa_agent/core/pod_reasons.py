"""Why kubelet refused or ended a pod, by the word in its status.

https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/ and
https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/ name some; all are
in pkg/kubelet of https://github.com/kubernetes/kubernetes.
"""

OUT_OF = "OutOf"
"""The name of a resource follows."""

MEANINGS = {
    "TopologyAffinityError": "kubelet's Topology Manager found no NUMA nodes for it by its policy",
    "SMTAlignmentError": "kubelet's CPU manager gives whole cores, and it asks for half a one or"
    " for more than are free",
    "EmptyPodSharedPoolError": "kubelet's managers would leave its other containers nothing",
    "UnexpectedAdmissionError": "a manager of kubelet's or a device plugin couldn't serve it",
    "Evicted": "kubelet ended it for want of memory, disk or process ids on the node, or since it"
    " had filled its own share of the disk",
    "Preempting": "kubelet ended it in favour of a critical pod",
    "NodeAffinity": "the node's labels aren't those that it asks for",
    "NodeShutdown": "the node was shutting down when it came",
    "Terminated": "the node was shut down",
    "DeadlineExceeded": "its activeDeadlineSeconds were over",
}


def meaning(reason: str) -> str:
    """What a reason means, "" for one that isn't known."""
    lacked = reason.removeprefix(OUT_OF)
    if lacked != reason:
        return f"the node had too little {lacked} left when it came"
    return MEANINGS.get(reason, "")
