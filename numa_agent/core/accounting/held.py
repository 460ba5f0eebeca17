"""What pods hold now of CPUs and devices.

A finished pod holds nothing. A pod that only kubelet names may be newer than the API's list, and
so holds what it has.
"""

from collections.abc import Iterator

from numa_agent.core.accounting.amounts import Sources
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.grants import ContainerGrant
from numa_agent.core.pods import Pod


def live_grants(sources: Sources) -> Iterator[ContainerGrant]:
    """What kubelet gave to containers of pods that haven't ended (before Kubernetes 1.34 it lists
    those too)."""
    if sources.granted is not None:
        finished = sources.finished
        yield from (
            grant
            for grant in sources.granted.containers
            if (grant.namespace, grant.pod) not in finished
        )


def held_cpus(sources: Sources, conditions: list[Condition]) -> CpuSet:
    """Every CPU that is somebody's own by podresources, kubelet's state file or an assignment."""
    state = sources.cpu_state
    held: set[int] = set()
    for uid, cpus in () if state is None else state.by_pod.items():
        if uid not in sources.ended_uids:
            held |= cpus
    for grant in live_grants(sources):
        if grant.cpus and _exclusive(sources, grant, conditions):
            held |= grant.cpus
    for pod in sources.pods:
        if not pod.finished:
            held |= sources.assigned.get(pod.uid, frozenset())
    return frozenset(held)


def _exclusive(sources: Sources, grant: ContainerGrant, conditions: list[Condition]) -> bool:
    """Whether a container's CPUs by podresources are its own; says where the state differs."""
    state = sources.cpu_state
    if state is None:
        return True
    who = f"{grant.namespace}/{grant.pod} {grant.container}"
    said = f"{who}: podresources gives it CPUs {render(grant.cpus)}, but cpu_manager_state"
    if state.policy != "static":
        # Old kubelets named the shared pool here, which nobody holds alone.
        conditions.append(
            Condition(
                code="cpu-sources-differ",
                subject=who,
                message=f"{said} has the policy {state.policy}, which gives none out; not counted",
            )
        )
        return False
    pod = _pod(sources, grant)
    by_state = None if pod is None else state.entries.get(pod.cgroup_uid, {}).get(grant.container)
    # Containers of a pod that has CPUs as a whole (KEP-5526) share those, by kubelet's own choice.
    whole = pod is not None and pod.cgroup_uid in state.pod_entries
    if pod is not None and by_state != grant.cpus and not whole:
        has = "none" if by_state is None else render(by_state)
        conditions.append(
            Condition(
                code="cpu-sources-differ",
                subject=who,
                message=f"{said} {has}; both count as held",
            )
        )
    return True


def _pod(sources: Sources, grant: ContainerGrant) -> Pod | None:
    wanted = (grant.namespace, grant.pod)
    return next((pod for pod in sources.pods if (pod.namespace, pod.name) == wanted), None)


def held_devices(sources: Sources, conditions: list[Condition]) -> frozenset[tuple[str, str]]:
    """The (resource, id) of every device that a live pod holds, by a plugin or by a claim."""
    offer = None if sources.granted is None else sources.granted.offer
    offered = {
        (device.resource, unit)
        for device in (() if offer is None else offer.devices)
        for unit in device.ids
    }
    held: set[tuple[str, str]] = set()
    for grant in live_grants(sources):
        held |= {(device.resource, unit) for device in grant.devices for unit in device.ids}
        for claimed in grant.dynamic:
            # A CDI device is `vendor/class=name`: https://github.com/cncf-tags/container-device-interface
            named = {tuple(name.split("=", 1)) for name in claimed.cdi_devices if "=" in name}
            known = offered.intersection(named)
            held |= known
            vendors = {resource.partition("/")[0] for resource, _ in offered}
            rival = next((each for each in sorted(vendors) if claimed.driver.endswith(each)), None)
            if not known and rival:
                who = f"{grant.namespace}/{grant.pod} {grant.container}"
                conditions.append(
                    Condition(
                        code="claimed-device-unmatched",
                        subject=who,
                        message=f"{who}: claim {claimed.claim_name} holds {claimed.device} of"
                        f" {claimed.driver}, which matches no unit of {rival}'s plugin; if the two"
                        " share devices, more are told as available than are",
                    )
                )
    return frozenset(held)
