"""Beside which devices a pod is to be."""

from dataclasses import dataclass

from numa_agent.core.assigner.values import NodeIds, NoRoomError, Policy
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A pod's devices: the nodes that each may be on, the ids of those that nobody can place, and
    why there may be more (None where there aren't)."""

    places: tuple[NodeIds, ...] = ()
    unplaced: tuple[str, ...] = ()
    waits_for: str | None = None

    def check(self, policy: Policy) -> None:
        """Raise NoRoomError where a strict policy can't be kept for certain."""
        if policy is Policy.BEST_EFFORT:
            return
        if self.waits_for is not None:
            raise NoRoomError(
                "devices-unplaced", f"which devices it has isn't known: {self.waits_for}"
            )
        if self.unplaced:
            many = "s" if len(self.unplaced) > 1 else ""
            raise NoRoomError(
                "devices-unplaced",
                f"no source tells the NUMA node of device{many} {', '.join(self.unplaced[:4])};"
                " `numa-agent topology` says what each source told, localityOverrides corrects it",
            )


def beside(pod: Pod, holders: Holders) -> Beside:
    """The devices that kubelet gave to a pod's containers."""
    places: dict[str, NodeIds] = {}
    why = None
    for demand in pod.demands.containers:
        if demand.role is Role.INIT:
            # It gets the devices that a container gets after it, and kubelet tells those alone.
            continue
        held = holders.of(pod, demand.container)
        if held.asked and held.unseen is not None:
            why = held.unseen
        places |= {device.id: frozenset(device.nodes) for device in held.devices}
    return Beside(
        places=tuple(places[name] for name in sorted(places) if places[name]),
        unplaced=tuple(name for name in sorted(places) if not places[name]),
        waits_for=why,
    )
