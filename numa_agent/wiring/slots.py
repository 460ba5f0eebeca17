"""How many more pods still fit on the machine, by a pass's own reading; nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass

from numa_agent.agent.situations import Standing, standing
from numa_agent.config import Config
from numa_agent.core.errors import SourceError
from numa_agent.core.shape import Shape, parse_shape
from numa_agent.core.slots import SlotsNow
from numa_agent.wiring.looking import Look, looking


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsSeen:
    """The slots, and why sources failed."""

    now: SlotsNow
    failures: tuple[str, ...]


def slots_once(
    config: Config, named: Sequence[Shape] = (), *, exclusive: bool = True
) -> SlotsSeen:
    """The slots of these shapes, of the configured ones without any, else of those seen.

    Raises SourceError without a map or the pods.
    """
    with looking(config) as look:
        found = standing_of(look)
        return SlotsSeen(
            now=found.slots(named or configured(config), exclusive=exclusive),
            failures=tuple(look.failures),
        )


def configured(config: Config) -> tuple[Shape, ...]:
    """The shapes that the configuration names."""
    return tuple(map(parse_shape, config.shapes))


def standing_of(look: Look) -> Standing:
    """What a look at the machine found. Raises SourceError without its pods."""
    if look.planned is None:
        said = "; ".join(look.failures)
        raise SourceError(f"the pods or kubelet's CPUs aren't known: {said or 'no source says'}")
    kept = {} if look.ports.assigning is None else look.ports.assigning.kept
    return standing(look.now, look.planned, kept)
