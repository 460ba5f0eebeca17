"""The whole cards that a machine has to offer, and their NUMA nodes where all are known.

kubelet aligns a resource as soon as one of its devices says a node, and then refuses pods for
those that say none (TopologyAffinityError): so either every card says its node or none does.
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#device-plugin-integration-with-the-topology-manager
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from numa_agent.core.conditions import Condition
from numa_agent.core.devices import NVIDIA, DeviceKind, Gpu
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import Topology

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,94}[A-Za-z0-9]")
"""A UUID as it may stand in a list with commas and in the name of a CDI device."""

MUTE = "the driver tells nothing of it"
"""The ailment of a card of which there is no news: it may be the driver's alone."""

_AILMENTS = {
    "lost": "it fell off the bus: drain the node and reset it",
    "reset-required": "the driver wants it reset: drain the node and reset it",
    None: MUTE,
}
"""What the map's health means for who would get the card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A whole GPU: its `id` is its UUID, which kubelet's checkpoint keeps over restarts.

    `index` is NVML's and `minor` the number of its device file, None where nobody tells. `node` is
    a NUMA node with CPUs. `ailment` says why no new pod may get it, None while it is well.
    """

    id: str
    index: int
    address: PciAddress
    minor: int | None
    node: int | None
    name: str | None
    ailment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A GPU of the machine that isn't offered, and why."""

    address: PciAddress
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The cards in index order; `placed` says whether they carry their NUMA nodes."""

    cards: tuple[Card, ...]
    placed: bool
    left_out: tuple[LeftOut, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def card(self, card_id: str) -> Card | None:
        """The card with this id."""
        return next((card for card in self.cards if card.id == card_id), None)


def offered(topology: Topology, before: Iterable[Card] = ()) -> Offer:
    """What the map has to offer; a card offered `before` that is missing now stays, and ails.

    A card whose driver is mute has no UUID to tell: it keeps the one that it had at its address.
    """
    known = {card.address: card for card in before}
    nodes = {node.id for node in topology.cpu_nodes}
    cards: dict[str, Card] = {}
    left_out: list[LeftOut] = []
    for gpu in topology.gpus:
        if gpu.device.vendor != NVIDIA or gpu.device.kind is not DeviceKind.GPU:
            continue
        found = _card(gpu, known.pop(gpu.device.address, None), nodes)
        if isinstance(found, Card) and found.id in cards:
            found = LeftOut(address=found.address, why=f"another card has its UUID {found.id}")
        if isinstance(found, Card):
            cards[found.id] = found
        else:
            left_out.append(found)
    for card in known.values():
        cards.setdefault(card.id, replace(card, ailment="it isn't on the PCI bus any more"))
    return _offer(cards, left_out)


def ailing(offer: Offer, ailments: Mapping[str, str]) -> Offer:
    """The offer with these ailments in place of the map's, by id."""
    cards = tuple(replace(card, ailment=ailments.get(card.id)) for card in offer.cards)
    return replace(offer, cards=cards)


def _card(gpu: Gpu, known: Card | None, nodes: set[int]) -> Card | LeftOut:
    device, nvml = gpu.device, gpu.nvml
    if device.given_away:
        return LeftOut(address=device.address, why=f"{device.driver} keeps it for a guest machine")
    if nvml is None:
        if known is not None:
            return replace(known, ailment=MUTE)
        return LeftOut(address=device.address, why="NVML doesn't know it")
    if nvml.mig_mode or nvml.mig:
        return LeftOut(address=device.address, why="it is in MIG mode, so that it isn't whole")
    if nvml.uuid is None and known is not None:
        return replace(known, ailment=_AILMENTS.get(gpu.health))
    found = nvml.uuid
    if found is None or not _ID.fullmatch(found):
        why = "NVML doesn't tell its UUID" if found is None else f"{found!r:.100} is no UUID"
        return LeftOut(address=device.address, why=why)
    return Card(
        id=found,
        index=nvml.index,
        address=device.address,
        minor=nvml.minor,
        node=device.node if device.node in nodes else None,
        name=nvml.name,
        ailment=_AILMENTS.get(gpu.health),
    )


def _offer(cards: Mapping[str, Card], left_out: Iterable[LeftOut]) -> Offer:
    listed = tuple(sorted(cards.values(), key=lambda card: (card.index, card.address)))
    left = tuple(left_out)
    return Offer(
        cards=listed,
        placed=bool(listed) and all(card.node is not None for card in listed),
        left_out=left,
        conditions=tuple(_conditions(listed, left)),
    )


def _conditions(cards: tuple[Card, ...], left_out: tuple[LeftOut, ...]) -> Iterator[Condition]:
    for left in left_out:
        yield Condition(
            code="gpu-card-left-out",
            subject=str(left.address),
            message=f"GPU {left.address} isn't offered to kubelet: {left.why}",
        )
    unknown = [str(card.address) for card in cards if card.node is None]
    if unknown:
        yield Condition(
            code="gpu-topology-withheld",
            subject="gpu-plugin",
            message=f"no card tells kubelet its NUMA node, since that of {', '.join(unknown)} is"
            " unknown and kubelet would refuse pods for it: name the nodes in localityOverrides",
        )
