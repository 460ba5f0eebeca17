"""The node's cards offered by a process of its own, or only shown."""

import threading
from contextlib import ExitStack
from dataclasses import dataclass

from numa_agent.config import Config, ConfigError, read_overrides
from numa_agent.core.errors import SourceError
from numa_agent.core.gpu_plugin import (
    Health,
    Offer,
    Wish,
    ailing,
    closeness,
    held_elsewhere,
    offered,
    preferred,
    rivals,
)
from numa_agent.host.recorded import is_recorded
from numa_agent.wiring.daemon import end_process
from numa_agent.wiring.gpu_offering import Say
from numa_agent.wiring.gpu_plugin import GpuPlugin
from numa_agent.wiring.map import asking_nvml, assembled, patient, read_map
from numa_agent.wiring.neighbours import Neighbours
from numa_agent.wiring.sources import PATIENCE
from numa_agent.wiring.waiting import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What would be offered; `preferred` are cards asked for, None where none were."""

    offer: Offer
    rivals: tuple[str, ...]
    preferred: tuple[str, ...] | None


def show_once(config: Config, count: int | None = None) -> Shown:
    """What would be offered of the machine, and which `count` cards a container would get.

    Raises SourceError without a map.
    """
    topology = read_map(config)
    offer = offered(topology)
    try:
        grants, allocatable = Neighbours(config).read(anew=True)
    except SourceError:
        # A map alone has nobody to ask; where cards are offered, it is asked again.
        grants, allocatable = None, {}
    ids = tuple(card.id for card in offer.cards)
    offer = ailing(
        offer, held_elsewhere(config.gpu_resource, ids, grants) | Health().ailments(offer, 0.0)
    )
    well = tuple(card.id for card in offer.cards if card.ailment is None)
    wanted = None
    if count is not None:
        wish = Wish(available=well, must=(), size=count)
        wanted = preferred(offer.cards, closeness(topology, offer.cards), wish)
    return Shown(
        offer=offer,
        rivals=rivals(config.gpu_resource, ids, grants, allocatable),
        preferred=wanted,
    )


def serve_on(config: Config, say: Say) -> None:
    """Offer the live machine's cards until SIGTERM or SIGINT.

    Raises SourceError where another process or plugin does, or without a map at the start.
    """
    if is_recorded(config.host_root):
        raise ConfigError(
            f"{config.host_root} is a recorded machine, whose cards nobody can be given: --show"
            " prints what would be offered"
        )
    threading.excepthook = end_process
    with ExitStack() as stack:
        waiting = stack.enter_context(Waiting())
        waiting.end_at_signals()
        overrides = read_overrides(config.locality_overrides)
        ask = patient(stack.enter_context(asking_nvml(config)), PATIENCE)
        plugin = GpuPlugin(config, say, wake=waiting.wake)
        stack.callback(plugin.close)
        plugin.hold()
        plugin.see(assembled(config, ask, overrides))
        _refuse_beside_another(plugin)
        plugin.start()
        while not waiting(plugin.look_in):
            try:
                plugin.see(assembled(config, ask, overrides))
            except SourceError as error:
                say(str(error))


def _refuse_beside_another(plugin: GpuPlugin) -> None:
    """Raise SourceError where another plugin is; one who can't tell yet is asked again later."""
    try:
        refusal = plugin.refusal()
    except SourceError:
        return
    if refusal is not None:
        raise SourceError(refusal)
