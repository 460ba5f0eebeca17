"""When to write a set again that somebody else changed, and when to stop.

Two writers of one file are a fault to report, not a fight to win: each re-application comes later
than the one before, and after a few in a short time there is none until an operator has looked or
the assignment has changed. Nothing here knows a clock or draws chance: `now` is the seconds of a
clock that never goes back, and `random` answers a number from 0 up to 1.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.backoff import doubled
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.drift.writers import Suspect, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Fight:
    """How much is put up with, in seconds.

    `cap` re-applications within `window`, and the next drift in it is a conflict. The first
    re-application comes at once, the second `first` after it, each further one after twice as
    long, never more than `most`; half of it is chance. After `quiet` without a re-application it
    starts anew.
    """

    cap: int = 5
    window: float = 600.0
    first: float = 1.0
    most: float = 120.0
    quiet: float = 600.0


class Do(StrEnum):
    """What is to be done about one file now.

    NOTHING: it holds what is wanted, or can't be read. APPLY: write what is wanted for the first
    time. REAPPLY: write it again. WAIT: leave it till `until`. CONFLICT: leave it until the
    assignment changes or `Drift.reset`.
    """

    NOTHING = "nothing"
    APPLY = "apply"
    REAPPLY = "reapply"
    WAIT = "wait"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What to do; `until` is when a WAIT is over, `suspect` who changed the file last."""

    do: Do
    until: float | None = None
    suspect: Suspect | None = None


_NOTHING = Action(do=Do.NOTHING)
_APPLY = Action(do=Do.APPLY)
_NOBODY = Suspect(writer=Writer.UNKNOWN, because="nobody looked for who it may have been")


@dataclass(slots=True, kw_only=True)
class _File:
    """What is remembered of one file."""

    wanted: CpuSet
    applied: bool = False
    """Whether it was seen to hold what is wanted, or was written so."""
    drifted_to: CpuSet | None = None
    suspect: Suspect = _NOBODY
    in_conflict: bool = False
    streak: int = 0
    """Re-applications since the last quiet time or change of what is wanted."""
    last: float = float("-inf")
    earliest: float = float("-inf")
    reapplied: list[float] = field(default_factory=list)
    """When it was re-applied within the window, at most `cap` moments."""
    counted: bool = False
    """Whether the last of those is the last write, so that it goes if the kernel refuses it."""


class Drift:
    """The files that are ours, by path, and what became of them."""

    def __init__(self, random: Callable[[], float], fight: Fight | None = None) -> None:
        """Take the source of chance and how much is put up with."""
        self._random = random
        self._fight = fight or Fight()
        self._files: dict[str, _File] = {}
        self._counts: Counter[Writer] = Counter()

    @property
    def counts(self) -> Mapping[Writer, int]:
        """How often a set was found changed since the start, by the likely writer."""
        return dict(self._counts)

    @property
    def conflicts(self) -> Mapping[str, Suspect]:
        """The files in conflict by path, and who changed each last."""
        return {
            path: file.suspect for path, file in sorted(self._files.items()) if file.in_conflict
        }

    def observe(
        self,
        now: float,
        path: str,
        wanted: CpuSet,
        seen: CpuSet | None,
        suspect: Callable[[CpuSet], Suspect] | None = None,
    ) -> Action:
        """Take in what a file holds and say what to do; what is to be written counts as written.

        `seen` is None where the file can't be read. `suspect` says who may have written a set; it
        is asked once for each change. On cgroup v1 leave offline CPUs out of `wanted`, as the
        kernel does. Raises ValueError when nothing is wanted: an empty set is never written.
        """
        if not wanted:
            raise ValueError(f"{path}: an empty set is never wanted")
        file = self._files.setdefault(path, _File(wanted=wanted))
        if file.wanted != wanted:
            _change(file, wanted)
        if seen is None:
            return _NOTHING
        if seen == wanted:
            file.applied, file.drifted_to = True, None
            return _NOTHING
        if not (file.applied or file.in_conflict):
            file.applied, file.counted = True, False
            return _APPLY
        if seen != file.drifted_to:
            file.drifted_to = seen
            file.suspect = _NOBODY if suspect is None else suspect(seen)
            self._counts[file.suspect.writer] += 1
        return self._answer(now, file)

    def refused(self, path: str) -> None:
        """Take in that the kernel refused the write, so that what is there isn't drift."""
        if (file := self._files.get(path)) is None:
            return
        file.applied = False
        if file.counted and file.reapplied:
            # It wasn't one: neither the cap nor the back-off counts it.
            file.counted = False
            file.reapplied.pop()
            file.streak -= 1
            file.earliest = float("-inf")

    def reset(self, path: str) -> None:
        """Let an operator end a conflict: the next look writes again, as if there was no fight."""
        self._files.pop(path, None)

    def keep(self, paths: Collection[str]) -> None:
        """Forget every file but these, say those of the containers that are there."""
        for path in self._files.keys() - set(paths):
            del self._files[path]

    def _answer(self, now: float, file: _File) -> Action:
        fight = self._fight
        file.reapplied = [moment for moment in file.reapplied if now - moment < fight.window]
        file.in_conflict = file.in_conflict or len(file.reapplied) >= fight.cap
        if file.in_conflict:
            return Action(do=Do.CONFLICT, suspect=file.suspect)
        if now < file.earliest:
            return Action(do=Do.WAIT, until=file.earliest, suspect=file.suspect)
        if now - file.last >= fight.quiet:
            file.streak = 0
        file.reapplied.append(now)
        file.counted = True
        file.streak += 1
        pause = doubled(self._fight.first, self._fight.most, file.streak, self._random())
        file.last, file.earliest = now, now + pause
        # To find the same set after our write is another change of it.
        file.drifted_to = None
        return Action(do=Do.REAPPLY, suspect=file.suspect)


def _change(file: _File, wanted: CpuSet) -> None:
    """Want another set: a conflict and its back-off end, what was done in the window counts on."""
    file.wanted = wanted
    file.applied = False
    file.drifted_to = None
    file.in_conflict = False
    file.streak = 0
    file.earliest = float("-inf")
