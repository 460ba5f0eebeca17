"""How many CPUs and bytes a pod asks for, and which of its containers get CPUs of their own."""

from collections.abc import Collection, Mapping

from numa_agent.core.pods import Pod
from numa_agent.core.requests import Role


def shared_out(pod: Pod, *, shared: bool) -> tuple[dict[str, int], tuple[str, ...]]:
    """Whole CPUs by container, and the containers without."""
    own: dict[str, int] = {}
    sharing: list[str] = []
    for demand in pod.demands.containers:
        if demand.role is Role.INIT:
            continue
        request = demand.requests.get("cpu", 0)
        whole = request and request % 1000 == 0 and demand.limits.get("cpu") == request
        if whole and not shared:
            own[demand.container] = request // 1000
        else:
            sharing.append(demand.container)
    return own, tuple(sharing)


def shared_of(pod: Pod, sharing: Collection[str]) -> int:
    """The CPU time (thousandths) that a pod asks for of what is shared, by these containers.

    Where its pod asks as a whole, that is what other containers leave of it.
    """
    if not sharing:
        return 0
    staying = [each for each in pod.demands.containers if each.role is not Role.INIT]
    by_name = {each.container: each.requests.get("cpu", 0) for each in staying}
    millis = sum(by_name.get(name, 0) for name in sharing)
    whole = (pod.demands.pod or {}).get("cpu", 0)
    return max(millis, whole - (sum(by_name.values()) - millis))


def own_cpus(pod: Pod, own: Mapping[str, int], *, shared: bool) -> int:
    """The CPUs of its own of the whole pod.

    An init container that asks for more whole CPUs than those that stay has them before those
    start, so that they are the pod's for its whole life.
    """
    if shared:
        return 0
    staying = sum(own.values())
    whole = as_a_whole(pod)
    if whole:
        return max(staying, whole)
    if not own:
        return 0
    return max([staying, *_before(pod)])


def as_a_whole(pod: Pod) -> int:
    """The whole CPUs that a pod asks for as one, 0 where it doesn't."""
    asked = (pod.demands.pod or {}).get("cpu", 0)
    return asked // 1000 if asked % 1000 == 0 and pod.demands.pod_limits.get("cpu") == asked else 0


def _before(pod: Pod) -> list[int]:
    """The whole CPUs that are wanted while each init container runs, beside earlier sidecars."""
    beside, found = 0, []
    for demand in pod.demands.containers:
        request = demand.requests.get("cpu", 0)
        whole = (
            request // 1000 if request % 1000 == 0 and demand.limits.get("cpu") == request else 0
        )
        if demand.role is Role.SIDECAR:
            beside += whole
        elif demand.role is Role.INIT:
            found.append(beside + whole)
    return found


def memory_of(pod: Pod) -> dict[str, int]:
    """The bytes that a pod asks for, by kind: `memory`, `hugepages-2Mi`."""
    return {
        name: size
        for name, size in pod.demands.effective().items()
        if size and (name == "memory" or name.startswith("hugepages-"))
    }
