"""What came of running a command near, far and unbound, and what may be said of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.measuring.placing import Placement
from numa_agent.core.measuring.spread import Ratio, ratio

LEAST_GAIN = 1.01
"""A difference below this is none, however surely it is there."""


class Gain(StrEnum):
    """What being near is worth."""

    FASTER = "near-faster"
    SLOWER = "near-slower"
    NONE = "no-gain"
    TOO_FEW = "too-few-runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that ended otherwise than with exit code 0.

    `run` counts from 1, 0 is the one before that warms up. `exit_code` is None for one that a
    signal ended, `signal` for one that ended by itself; `timed_out` says that the signal was ours.
    """

    placement: str
    run: int
    exit_code: int | None
    signal: int | None
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A command's placements, its wall times (seconds, by placement), and the run that failed.

    `spilled` is by placement how often, in the run with the most, memory of its node was asked for
    and given on another, by the command or anybody else; None where the kernel doesn't tell.
    """

    command: tuple[str, ...]
    placements: tuple[Placement, ...]
    seconds: Mapping[str, tuple[float, ...]]
    failure: Failure | None
    spilled: Mapping[str, int | None] = field(default_factory=dict)

    def ratio(self, name: str) -> Ratio | None:
        """How many times as long a placement takes as near does, None without times of both."""
        near, other = self.seconds.get("near", ()), self.seconds.get(name, ())
        return ratio(near, other) if near and other else None


def gain(found: Ratio | None) -> Gain:
    """What may be said of how long another placement takes, as a multiple of near."""
    if found is None or found.low is None or found.high is None:
        return Gain.TOO_FEW
    if found.above and found.value >= LEAST_GAIN:
        return Gain.FASTER
    if found.below and found.value <= 1 / LEAST_GAIN:
        return Gain.SLOWER
    return Gain.NONE
