"""The answer for one container, and the reasons that it stands on."""

from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.verdict.facts import HeldDevice


class Alignment(StrEnum):
    """The answer for one container."""

    ALIGNED = "aligned"
    """Its CPUs are among those decided, and they, its memory and its devices are in one node."""
    SPLIT = "split"
    """Its CPUs, its memory or its devices lie in several NUMA nodes."""
    REMOTE = "remote"
    """It may run outside the CPUs decided, or its memory or all its devices are elsewhere."""
    UNKNOWN = "unknown"
    """Something that it takes to say so wasn't seen, or has no known node."""


class Aspect(StrEnum):
    """What a reason speaks of."""

    CPUS = "cpus"
    MEMORY = "memory"
    DEVICES = "devices"


CODES = {
    "aligned": (Aspect.CPUS, Alignment.ALIGNED),
    "cpus-unseen": (Aspect.CPUS, Alignment.UNKNOWN),
    "cpus-outside": (Aspect.CPUS, Alignment.REMOTE),
    "tasks-outside": (Aspect.CPUS, Alignment.REMOTE),
    "cpus-place-unknown": (Aspect.CPUS, Alignment.UNKNOWN),
    "cpus-split": (Aspect.CPUS, Alignment.SPLIT),
    "cpus-fewer": (Aspect.CPUS, None),
    "tasks-masked": (Aspect.CPUS, None),
    "tasks-unseen": (Aspect.CPUS, None),
    "cpu-quota": (Aspect.CPUS, None),
    "memory-unseen": (Aspect.MEMORY, Alignment.UNKNOWN),
    "memory-remote": (Aspect.MEMORY, Alignment.REMOTE),
    "memory-split": (Aspect.MEMORY, Alignment.SPLIT),
    "memory-place-unknown": (Aspect.MEMORY, Alignment.UNKNOWN),
    "memory-tiered": (Aspect.MEMORY, None),
    "cache-remote": (Aspect.MEMORY, None),
    "devices-unseen": (Aspect.DEVICES, Alignment.UNKNOWN),
    "device-place-unknown": (Aspect.DEVICES, Alignment.UNKNOWN),
    "devices-remote": (Aspect.DEVICES, Alignment.REMOTE),
    "devices-split": (Aspect.DEVICES, Alignment.SPLIT),
}
"""Each reason's code: what it speaks of, and the verdict that it leads to; None is worth knowing
and leads to none. docs/verdicts.md explains them."""


AS_DECIDED = "as-decided"
"""The code of a cause: whoever decides wanted it so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why it is likely so; `code` is stable."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One thing that was found; `code` is one of CODES."""

    code: str
    message: str
    cause: Cause | None = None

    @property
    def about(self) -> Aspect:
        """What it speaks of."""
        return CODES[self.code][0]

    @property
    def leads_to(self) -> Alignment | None:
        """The verdict that it is enough for, None where it is only worth knowing."""
        return CODES[self.code][1]

    def __str__(self) -> str:
        return self.message if self.cause is None else f"{self.message} ({self.cause.message})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer, its reasons and what it was measured from.

    `decided` is None where nobody decided CPUs, `effective` where those in force weren't seen, and
    `used` where not every task's own mask was.
    """

    alignment: Alignment
    reasons: tuple[Reason, ...]
    decided: CpuSet | None
    effective: CpuSet | None
    used: CpuSet | None
    memory: MemoryUse | None
    devices: tuple[HeldDevice, ...]

    @property
    def reason(self) -> str:
        """The reasons that led to the answer, in words."""
        return "; ".join(str(each) for each in self.reasons if each.leads_to is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is worth knowing, in words."""
        return tuple(str(each) for each in self.reasons if each.leads_to is None)

    @property
    def kept(self) -> bool:
        """Whether it has exactly the CPUs decided, in one node, and nothing was found elsewhere.

        Memory and devices whose place isn't known don't count against it, nor does memory that is
        elsewhere as it was decided.
        """
        found = {(each.about, each.leads_to) for each in self.reasons if not _wanted(each)}
        bad = {Alignment.SPLIT, Alignment.REMOTE}
        return (
            self.effective == self.decided
            and (Aspect.CPUS, Alignment.UNKNOWN) not in found
            and not any(leads_to in bad for _, leads_to in found)
        )


def _wanted(reason: Reason) -> bool:
    """Whether memory is elsewhere since whoever decides wanted it there."""
    cause = reason.cause
    return reason.about is Aspect.MEMORY and cause is not None and cause.code == AS_DECIDED
