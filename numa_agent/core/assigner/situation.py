"""What deciding for pods starts from, and what it ends in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Inputs
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Pod

DEVICE_SECONDS = 30.0
"""How long a pod waits for kubelet to tell which devices it has."""


class Mode(StrEnum):
    """When the assigner acts."""

    OFF = "off"
    FALLBACK = "fallback"
    """For pods that ask, where no scheduler decided within the grace time."""
    ALWAYS = "always"
    """For pods that ask, and Guaranteed ones with whole CPUs, at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the admin chose; `grace` are the seconds that a scheduler has to decide."""

    mode: Mode = Mode.FALLBACK
    grace: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What one pass knows.

    `inputs` have the annotations' decisions and none of ours. `theirs` are the CPUs in force by
    those, by pod uid. `alone` are the uids of pods that are somebody else's to bind, `known` the
    seconds since each pod was first seen, `now` the seconds since 1970. `lost` says that former
    decisions may be lost, as when a process starts, so that what is in force counts where none is
    kept. Unless everything is `settled`, known and of now, nothing new is decided; and unless all
    pods are `told`, one that isn't named keeps what it has, as those do whose uid is in `ending`:
    their processes are there still. `silent` are the seconds since kubelet last told of devices,
    None while it does.
    """

    inputs: Inputs
    theirs: Mapping[str, CpuSet]
    alone: frozenset[str]
    accounts: Callable[[], Sequence[NodeAccount]]
    holders: Holders
    known: Mapping[str, float]
    now: float
    labels: Mapping[str, str] = field(default_factory=dict)
    shapes: tuple[int, ...] = ()
    lost: bool = False
    settled: bool = True
    told: bool = True
    ending: frozenset[str] = frozenset()
    silent: float | None = None


@dataclass(kw_only=True)
class Outcome:
    """`kept` is what holds from now on. `unplaced` are the code and the sentence by uid of pods
    that asked and got nothing, `waiting` the least seconds until one that waits is to be looked at
    again."""

    kept: dict[str, Kept] = field(default_factory=dict)
    unplaced: dict[str, tuple[str, str]] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    waiting: float | None = None

    def say(self, code: str, pod: Pod, message: str) -> None:
        """Add a condition of a pod."""
        self.conditions.append(
            Condition(code=code, subject=pod.full_name, message=f"pod {pod.full_name}: {message}")
        )

    def wait(self, seconds: float) -> None:
        """Ask to be asked again then, or earlier."""
        self.waiting = seconds if self.waiting is None else min(self.waiting, seconds)
