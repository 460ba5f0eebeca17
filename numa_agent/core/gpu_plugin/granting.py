"""What Allocate answers: how a container gets the cards that kubelet chose for it.

The ways are those that NVIDIA's own plugin knows as its device list strategies:
https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details. A container toolkit reads
the environment (https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/), a container
runtime the CDI names (https://github.com/cncf-tags/container-device-interface).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.gpu_plugin.cards import Card

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_NO_CARD = "void"
"""What NVIDIA's container runtime takes for "be like runc", whatever the image says."""

CONTROL = "nvidiactl"
OPTIONAL = ("nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
"""The driver's device files beside those of cards; without the first no card can be used."""

_CDI_KIND = "nvidia.com/gpu"
_CDI_KEY = "cdi.k8s.io/"
_LONGEST_KEY = 63
"""A label's or annotation's name behind its prefix has no more characters."""


class Handing(StrEnum):
    """How a container gets its cards: the values of the setting `gpuPass`."""

    ENV = "env"
    """By the environment alone, for NVIDIA's container runtime."""
    DEVICES = "devices"
    """By the environment and the device files, which then are in the container's device cgroup."""
    CDI = "cdi"
    """By kubelet's CDI names, from Kubernetes 1.29 on."""
    CDI_ANNOTATIONS = "cdi-annotations"
    """By CDI names in an annotation, for an older kubelet."""


class NotGrantedError(Exception):
    """Cards that can't be handed out; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One container's answer; `devices` are names below the machine's /dev."""

    envs: Mapping[str, str]
    devices: tuple[str, ...] = ()
    cdi: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)


def granted(
    cards: Sequence[Card], ids: Sequence[str], handing: Handing, present: Collection[str]
) -> Grant:
    """How a container gets the cards with these ids; `present` are the names below /dev.

    Raises NotGrantedError for a card that isn't offered or ails: kubelet then fails the pod, where
    a container with a dead card would start and fail by itself.
    """
    by_id = {card.id: card for card in cards}
    wanted = sorted(
        (_well(by_id.get(card_id), card_id) for card_id in dict.fromkeys(ids)),
        key=lambda card: (card.index, card.address),
    )
    names = tuple(card.id for card in wanted)
    if handing in {Handing.ENV, Handing.DEVICES}:
        files = tuple(_files(wanted, present)) if handing is Handing.DEVICES else ()
        return Grant(envs={VISIBLE: ",".join(names) or _NO_CARD}, devices=files)
    # Else an image that says `all`, as CUDA's do, sees every card under NVIDIA's runtime.
    envs = {VISIBLE: _NO_CARD}
    qualified = tuple(f"{_CDI_KIND}={name}" for name in names)
    if handing is Handing.CDI or not qualified:
        return Grant(envs=envs, cdi=qualified)
    key = f"numa-agent_{names[0]}"[:_LONGEST_KEY].rstrip("._-")
    return Grant(envs=envs, annotations={f"{_CDI_KEY}{key}": ",".join(qualified)})


def without_files(cards: Sequence[Card], present: Collection[str]) -> dict[str, str]:
    """Why cards can't be handed out by their device files, by id; `present` as for `granted`.

    kubelet gives a healthy card again and again, however often a pod fails for it.
    """
    found = {}
    for card in cards:
        try:
            tuple(_files((card,), present))
        except NotGrantedError as error:
            found[card.id] = str(error)
    return found


def _well(card: Card | None, card_id: str) -> Card:
    if card is None:
        raise NotGrantedError(
            f"no card {card_id!r:.100} is offered: kubelet has an old list of the cards"
        )
    if card.ailment is not None:
        raise NotGrantedError(f"card {card.id} can't be handed out: {card.ailment}")
    return card


def _files(cards: Sequence[Card], present: Collection[str]) -> Iterator[str]:
    for card in cards:
        if card.minor is None:
            raise NotGrantedError(
                f"card {card.id} has no device file: NVML doesn't tell its minor"
            )
        yield _present(f"nvidia{card.minor}", present)
    if cards:
        yield _present(CONTROL, present)
        yield from (name for name in OPTIONAL if name in present)


def _present(name: str, present: Collection[str]) -> str:
    if name not in present:
        raise NotGrantedError(
            f"/dev/{name} isn't there: load NVIDIA's driver (nvidia-modprobe makes the file) and"
            " give the agent its files, or set gpuPass to env or cdi"
        )
    return name
