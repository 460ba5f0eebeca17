"""What the pod will wish that kubelet asks cards for, without saying which pod it is."""

from collections.abc import Iterable

from numa_agent.core.assigner.asking import asking
from numa_agent.core.assigner.values import Wish
from numa_agent.core.assignment import AssignmentError
from numa_agent.core.pods import Pod


def awaited(pods: Iterable[Pod], resource: str, size: int) -> Wish | None:
    """The wish of the first pod that asks, has no container yet and one that wants so many cards.

    None where there is none: kubelet may know a pod before the API server tells of it.
    """
    for pod in pods:
        if pod.finished or any(each.id is not None for each in pod.containers):
            continue
        if not any(each.requests.get(resource) == size for each in pod.demands.containers):
            continue
        try:
            asked = asking(pod)
        except AssignmentError:
            continue
        if asked is not None:
            return asked.wish
    return None
