"""Which pods may be evicted since they couldn't be placed: those whose loss costs least.

https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
"""

import re
from dataclasses import dataclass

from numa_agent.core.pod_keys import MIRROR
from numa_agent.core.pods import Pod

_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
"""How the API server writes a moment, so that two of them compare as texts do."""

TOO_LONG = "it has run for too long to end its work"

_REPLACING = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "CloneSet"})
"""Controllers that make another pod for one that is gone, as if nothing had been: Kubernetes' own
and OpenKruise's. To others a pod that goes may be a failure, and the end of a training over many
nodes: what a PyTorchJob, a Workflow or a RayCluster makes of it nobody knows here."""

_KINDS = {
    "Node": "it is a static pod, which kubelet makes here and nowhere else",
    "DaemonSet": "it is a DaemonSet's, which would make it here again",
    "Job": "it is a Job's, to which an eviction counts as a failure",
}
"""Why no pod of these is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Young:
    """Which pods have run for so short a time that little is lost with one.

    Those that started from `since` to `until`, as RFC 3339 texts in whole seconds of UTC, and that
    haven't waited for longer than `seconds`, which holds as well where the machine's clock is set.
    """

    seconds: float
    since: str
    until: str


def kept_because(pod: Pod, young: Young) -> str | None:
    """Why a pod isn't to be evicted, None where it may be."""
    if pod.finished:
        return "it has ended"
    if MIRROR in pod.annotations:
        return _KINDS["Node"]
    if pod.controller is None:
        return "it has no controller that would make another one"
    kind = pod.controller.partition("/")[0]
    if kind in _KINDS:
        return _KINDS[kind]
    if kind not in _REPLACING:
        return f"it is a {kind[:63]}'s, of which it isn't known whether it bears the loss of a pod"
    moments = (young.since, pod.started, young.until)
    if not all(map(_STAMP.fullmatch, moments)) or pod.started > young.until:
        return "when it started isn't known"
    if pod.started < young.since:
        return TOO_LONG
    return None
