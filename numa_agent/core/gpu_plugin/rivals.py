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

_CARD = "GPU-"
"""What NVIDIA's UUID of a whole card begins with: by this plugin no device has another id."""

_BEHIND = frozenset(":-_/.@")
"""What stands between a card's UUID and the number of a share of it: NVIDIA's plugin has `::`,
those that slice a card by memory `-`."""


def rivals(
    resource: str,
    ids: Collection[str],
    granted: PodResources | None,
    allocatable: Mapping[str, int],
    *,
    ours_served: bool = True,
) -> tuple[str, ...]:
    """A sentence for each other plugin that hands out the cards with these ids.

    `granted` is what kubelet's podresources API tells, `allocatable` the Node's. Where `resource`
    isn't `ours_served` at the moment, healthy devices of it are another plugin's: kubelet takes a
    plugin's for unhealthy as soon as it has ended, and tells of the healthy ones alone.
    """
    found: dict[str, str] = {}
    for device in _offered(granted):
        if not device.ids or (device.resource == resource and ours_served):
            continue
        same = _cards(device, ids)
        if same or device.resource in {resource, *CARD_RESOURCES}:
            which = f", {min(same)} among them" if same else ""
            found[device.resource] = f"kubelet has devices of it{which}"
    for name in CARD_RESOURCES:
        if name != resource and allocatable.get(name, 0) > 0:
            found.setdefault(name, f"the Node's allocatable has {allocatable[name]} of it")
    told = [_sentence(resource, name, why) for name, why in sorted(found.items())]
    return (*told, *_strangers(resource, ids, granted))


def healthy(resource: str, granted: PodResources | None) -> bool:
    """Whether kubelet has devices of the resource that it would give out, whoever serves them."""
    return any(each.ids and each.resource == resource for each in _offered(granted))


def held_elsewhere(
    resource: str, ids: Collection[str], granted: PodResources | None
) -> dict[str, str]:
    """Those of the cards with these ids that pods hold by another plugin, which may be gone.

    By another resource, or by the same one as a share. A card given twice would be shared by two
    pods that know nothing of each other.
    """
    return {
        card: f"pod {namespace}/{pod} holds it as {device.resource}"
        for namespace, pod, device in _holding(granted)
        for card in sorted(_cards(device, ids))
        if device.resource != resource or card not in device.ids
    }


def _strangers(resource: str, ids: Collection[str], granted: PodResources | None) -> Iterator[str]:
    """Pods that hold ours by an id that no card has: nobody knows which card that is."""
    for namespace, pod, device in _holding(granted):
        strange = [each for each in device.ids if not each.startswith(_CARD)]
        if device.resource == resource and {*strange} - {*ids}:
            yield (
                f"pod {namespace}/{pod} holds {min({*strange} - {*ids})!r:.100} of {resource},"
                " which another plugin gave it, and nobody knows which card that is: delete the"
                " pod"
            )
            return


def _offered(granted: PodResources | None) -> Collection[DeviceGrant]:
    return () if granted is None or granted.offer is None else granted.offer.devices


def _holding(granted: PodResources | None) -> Iterator[tuple[str, str, DeviceGrant]]:
    for container in () if granted is None else granted.containers:
        for device in container.devices:
            yield container.namespace, container.pod, device


def _cards(device: DeviceGrant, ids: Collection[str]) -> set[str]:
    """The cards that these devices are, or are shares of."""
    return {card for card in ids for each in device.ids if _is_of(each, card)}


def _is_of(device_id: str, card: str) -> bool:
    return device_id.startswith(card) and device_id[len(card) : len(card) + 1] in {"", *_BEHIND}


def _sentence(ours: str, other: str, why: str) -> str:
    if ours == other:
        return (
            f"another plugin hands out {other} on this node: {why}, and they aren't this one's."
            " Remove it from this node, or set gpuPlugin: off here"
        )
    return (
        f"{other} is handed out on this node too: {why}. Two plugins would give one card to two"
        f" pods: remove the other plugin from this node (and wait until the Node has no {other}),"
        f" or set gpuPlugin: off here and let pods ask for {other} in place of {ours}"
    )
