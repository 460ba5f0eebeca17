"""What a pod asked for, in words."""

from collections.abc import Iterator, Mapping

from numa_agent.core.assignment import AssignmentError
from numa_agent.core.explaining.story import Case
from numa_agent.core.pods import Pod
from numa_agent.core.quoting import excerpt
from numa_agent.core.schedulers.ack_assignment import (
    SCHEDULER,
    TOPOLOGY_SPECS,
    topology_specs,
)
from numa_agent.core.verdict.wording import amount

_CPU, _MEMORY = "cpu", "memory"


def demanded(requests: Mapping[str, int]) -> str:
    """`12 CPUs, 128 GiB, 4 nvidia.com/gpu`, of requests in thousandths of CPUs and in units."""
    said = []
    for name, size in requests.items():
        if name == _CPU:
            said.append(f"{size / 1000:g} CPU{'' if size == 1000 else 's'}")
        elif name == _MEMORY or name.startswith("hugepages-"):
            said.append(f"{amount(size)}{'' if name == _MEMORY else f' of {name}'}")
        else:
            said.append(f"{size} {name}")
    return ", ".join(said) or "nothing"


def asked(case: Case) -> Iterator[str]:
    """The pod's class, requests and wishes, and kubelet's policies, in lines."""
    pod = case.pod
    why = f" ({pod.reason})" if pod.reason else ""
    since = f", started {pod.started}" if pod.started else ""
    yield f"{pod.qos.value} pod, {pod.phase}{why}{since}"
    for demand in pod.demands.containers:
        claims = f", claims {', '.join(demand.claims)}" if demand.claims else ""
        yield f"container {demand.container}: {demanded(demand.requests)}{claims}"
    whole = {**pod.demands.pod_limits, **(pod.demands.pod or {})}
    if whole:
        yield f"the pod as a whole: {demanded(whole)}"
    for key in (SCHEDULER, *TOPOLOGY_SPECS):
        if key in pod.annotations:
            yield f"annotation {key}: {excerpt(pod.annotations[key], None)}"
    yield from _unreadable(pod)
    settings = case.settings
    if settings is None:
        yield "kubelet's policies aren't known"
    else:
        yield (
            f"kubelet: CPU manager {settings.cpu_manager_policy}, memory manager"
            f" {settings.memory_manager_policy}, Topology Manager"
            f" {settings.topology_manager_policy} by {settings.topology_manager_scope}"
        )


def _unreadable(pod: Pod) -> Iterator[str]:
    """Which wish asks for nothing since it can't be read."""
    try:
        topology_specs(pod.annotations)
    except AssignmentError as error:
        yield f"which can't be read, and so asks for nothing: {error}"
