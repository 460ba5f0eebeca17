"""Deciding in a pass for pods that ask for CPUs beside their devices and have no scheduler."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from numa_agent.agent.situations import situation
from numa_agent.agent.sources import Readings
from numa_agent.core.assigner import (
    Kept,
    Mode,
    Outcome,
    Setting,
    decide,
    may_ask,
    room_left,
)
from numa_agent.core.assigner.choosing import free_for
from numa_agent.core.assigner.values import Wish
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Inputs, Options
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Pod

_NODE = "assigner"
"""The subject of what is wrong with the file of decisions."""


class Decisions(Protocol):
    """Where decisions outlive a restart."""

    def load(self) -> Mapping[str, Kept] | None:
        """What was kept last, None where there is nothing. Raises SourceError where it can't be
        read."""

    def set_aside(self) -> str:
        """Get what can't be read out of the way; where it is now, in words."""

    def save(self, kept: Mapping[str, Kept]) -> None:
        """Keep it. Raises SourceError where that can't be done; what was kept stays."""


class Assigning:
    """The assigner with what it remembers from pass to pass.

    Without `decisions` nothing outlives the process.
    """

    def __init__(
        self,
        decisions: Decisions | None,
        setting: Setting,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take where decisions are kept, seconds that never go back, and those since 1970."""
        self.setting = setting
        self._decisions = decisions
        self._clock = clock
        self._time = now
        self._saves = True
        self._kept: Mapping[str, Kept] | None = None
        self._saved: Mapping[str, Kept] | None = None
        self._seen: dict[str, float] | None = None
        self._waiting: float | None = None
        self._last: tuple[Readings, Inputs, Options] | None = None
        self._pods: Mapping[str, Pod] = {}
        self.unplaced: Mapping[str, tuple[str, str]] = {}

    def not_saving(self) -> "Assigning":
        """The same for a look that changes nothing."""
        self._saves = False
        return self

    @property
    def kept(self) -> Mapping[str, Kept]:
        """What holds, by pod uid."""
        return self._kept or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """What holds, by pod uid, in the words of numa-agent.io/assignment."""
        return {uid: kept.annotation for uid, kept in self.kept.items()}

    def due(self) -> float | None:
        """The seconds until a pod that waits is to be looked at again, None while none waits."""
        return self._waiting

    def free_cpus(self, wish: Wish) -> Mapping[int, int]:
        """How many CPUs of each NUMA node could be given out for a wish, by the last pass; any
        thread may ask."""
        if self._last is None:
            return {}
        kept = self.kept
        return free_for(wish, room_left(situation(*self._last, kept), kept))

    def gone(self, pods: Sequence[Pod]) -> tuple[Pod, ...]:
        """The pods that have something from here and aren't among those of now, as they were."""
        named = {pod.uid for pod in pods}
        return tuple(pod for uid, pod in self._pods.items() if uid not in named)

    def decide(
        self,
        now: Readings,
        inputs: Inputs,
        options: Options,
        ending: frozenset[str] = frozenset(),
    ) -> tuple[Inputs, tuple[Condition, ...]]:
        """The inputs with what is decided here, and what there is to say of it.

        `ending` are the uids of pods that have gone all but for their processes: one that is
        deleted by force runs on for as long as it takes, and nobody else gets its CPUs meanwhile.
        """
        troubles: list[Condition] = []
        lost = self._kept is None
        if lost:
            self._load(troubles)
        known = self._known(inputs)
        self._waiting, self.unplaced = None, {}
        self._last = now, inputs, options
        everyone = self.setting.mode is Mode.ALWAYS
        asks = any(may_ask(pod, everyone=everyone) for pod in inputs.pods)
        if not self.kept and not (asks and self.setting.mode is not Mode.OFF):
            self._kept = {}
            return inputs, tuple(troubles)
        kept = self._inherited(inputs.pods)
        found = replace(
            situation(now, inputs, options, kept),
            known=known,
            now=self._time(),
            lost=lost,
            ending=ending,
        )
        outcome = decide(found, self.setting, kept)
        self._waiting, self.unplaced = outcome.waiting, outcome.unplaced
        there = {pod.uid: pod for pod in (*self.gone(inputs.pods), *inputs.pods)}
        self._pods = {uid: there[uid] for uid in outcome.kept if uid in there}
        self._keep(outcome, troubles)
        topology = inputs.topology
        own = {uid: kept.assignment(topology) for uid, kept in outcome.kept.items()}
        with_ours = replace(inputs, own=own, decisions={**own, **inputs.decisions})
        return with_ours, (*outcome.conditions, *troubles)

    def _inherited(self, pods: Sequence[Pod]) -> Mapping[str, Kept]:
        """What holds, where a pod that has another's cgroup has what that one had.

        A static pod's mirror that was deleted comes again under another uid, and nothing of its
        containers has changed.
        """
        gone = {pod.uid: pod.cgroup_uid for pod in self.gone(pods)}
        heirs = {pod.cgroup_uid: pod.uid for pod in pods if not pod.finished} if gone else {}
        return {heirs.get(gone.get(uid, uid), uid): kept for uid, kept in self.kept.items()}

    def _known(self, inputs: Inputs) -> Mapping[str, float]:
        """The seconds since each pod was first seen; those of the first pass were there before."""
        now = self._clock()
        start = now - self.setting.grace if self._seen is None else now
        live = {pod.uid for pod in inputs.pods if not pod.finished}
        self._seen = {uid: (self._seen or {}).get(uid, start) for uid in live}
        return {uid: now - since for uid, since in self._seen.items()}

    def _load(self, troubles: list[Condition]) -> None:
        """Take up what was kept last; it may be older than what was decided last."""
        try:
            found = None if self._decisions is None else self._decisions.load()
        except SourceError as error:
            found = None
            where = f"; {self._decisions.set_aside()}" if self._decisions and self._saves else ""
            self._say("assigner-forgot", f"{error}{where}", troubles)
        self._kept = self._saved = found or {}

    def _keep(self, outcome: Outcome, troubles: list[Condition]) -> None:
        """Write down what holds before anything is bound by it."""
        self._kept = outcome.kept
        if self._decisions is None or not self._saves or outcome.kept == self._saved:
            return
        try:
            self._decisions.save(outcome.kept)
            self._saved = dict(outcome.kept)
        except SourceError as error:
            self._say("assigner-unsaved", str(error), troubles)

    def _say(self, code: str, message: str, troubles: list[Condition]) -> None:
        troubles.append(Condition(code=code, subject=_NODE, message=message))
