"""What a container's spec asks for that kubelet's answer doesn't tell.

podresources lists the units of device plugins and the devices of claims. It doesn't list what no
plugin gives, as a scheduler's own words for a GPU's parts (`koordinator.sh/gpu-core`), nor, while
kubelet's KubeletPodResourcesDynamicResources is off, claims; and of init containers sidecars only.
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
"""

from collections.abc import Iterable
from dataclasses import dataclass

from numa_agent.core.grants import ContainerGrant
from numa_agent.core.node import native
from numa_agent.core.placeless import placeless
from numa_agent.core.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of a container's spec may have a place: extended resources, and resource claims."""

    resources: tuple[str, ...]
    claims: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.resources or self.claims)

    def untold(self, grants: Iterable[ContainerGrant]) -> tuple[str, ...]:
        """What of it kubelet's entries for the container don't tell, in words."""
        listed = tuple(grants)
        given = {each.resource for grant in listed for each in grant.devices}
        claimed = {
            (each.claim_namespace, each.claim_name) for grant in listed for each in grant.dynamic
        }
        missing = tuple(name for name in self.resources if name not in given)
        if len(claimed) > len(self.claims):
            # A driver of claims may give extended resources (KEP-5004): by one claim, which the
            # scheduler makes and the spec doesn't name.
            return ()
        if len(claimed) < len(self.claims):
            missing += (f"claims ({', '.join(self.claims)})",)
        return missing


def wanted(pod: Pod, container: str) -> Wanted:
    """What a container's spec asks for that may have a place."""
    resources = pod.demands.of(container).items()
    return Wanted(
        resources=tuple(
            sorted(
                name
                for name, count in resources
                if count and not native(name) and not placeless(name)
            )
        ),
        claims=pod.demands.claims_of(container),
    )
