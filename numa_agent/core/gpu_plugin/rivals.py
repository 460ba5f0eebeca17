"""Who else hands out the same cards: two plugins would give one card to two pods."""

from collections.abc import Collection, Iterator, Mapping

from numa_agent.core.grants import DeviceGrant, PodResources

CARD_RESOURCES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "aliyun.com/gpu",
    "aliyun.com/gpu-mem",
    "aliyun.com/gpu-count",
    "aliyun.com/gpu-core.percentage",
)
"""Resources that are whole NVIDIA cards or shares of them, whatever ids their plugins use:
NVIDIA's plugin and its time slicing, and ACK's plugins for each `ack.node.gpu.schedule`."""

_REPLICA = "::"
"""What NVIDIA's plugin puts between a card's UUID and the number of a share of it."""


def rivals(
    resource: str,
    ids: Collection[str],
    granted: PodResources | None,
    allocatable: Mapping[str, int],
) -> tuple[str, ...]:
    """A sentence for each other resource that the cards with these ids are handed out as.

    `granted` is what kubelet's podresources API tells, `allocatable` the Node's.
    """
    found: dict[str, str] = {}
    devices = () if granted is None or granted.offer is None else granted.offer.devices
    for device in devices:
        if device.resource == resource or not device.ids:
            continue
        same = _cards(device) & {*ids}
        if same or device.resource in CARD_RESOURCES:
            which = f", {min(same)} among them" if same else ""
            found[device.resource] = f"kubelet has devices of it{which}"
    for name in CARD_RESOURCES:
        if name != resource and allocatable.get(name, 0) > 0:
            found.setdefault(name, f"the Node's allocatable has {allocatable[name]} of it")
    return tuple(_sentence(resource, name, why) for name, why in sorted(found.items()))


def held_elsewhere(resource: str, granted: PodResources | None) -> dict[str, str]:
    """The cards that pods hold by another resource, whose plugin may be gone, and which pod.

    A card given twice would be shared by two pods that know nothing of each other.
    """
    return {
        card: f"pod {namespace}/{pod} holds it as {device.resource}"
        for namespace, pod, device in _holding(granted)
        if device.resource != resource
        for card in sorted(_cards(device))
    }


def _holding(granted: PodResources | None) -> Iterator[tuple[str, str, DeviceGrant]]:
    for container in () if granted is None else granted.containers:
        for device in container.devices:
            yield container.namespace, container.pod, device


def _cards(device: DeviceGrant) -> set[str]:
    return {device_id.partition(_REPLICA)[0] for device_id in device.ids}


def _sentence(ours: str, other: str, why: str) -> str:
    return (
        f"{other} is handed out on this node too: {why}. Two plugins would give one card to two"
        f" pods: remove the other plugin from this node (and wait until the Node has no {other}),"
        f" or set gpuPlugin: off here and let pods ask for {other} in place of {ours}"
    )
