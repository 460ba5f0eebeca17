"""Which mark is written and which pod evicted next: seldom, and never twice for nothing."""

from collections.abc import Callable, Mapping, Sequence

from numa_agent.core.marking.evictions import TOO_LONG, Young, kept_because
from numa_agent.core.marking.marks import NONE, Marks, marks_on, wanted
from numa_agent.core.marking.pace import Limits, Pace
from numa_agent.core.marking.steps import Known, Step, Told, Unplaced, alike
from numa_agent.core.pods import Pod


class Ledger:
    """What every pod should have, what it has, and what was done about the difference.

    Moments are seconds of a clock that never goes back. It keeps as much as there are pods.
    """

    def __init__(self, random: Callable[[], float], limits: Limits | None = None) -> None:
        """Take numbers from 0 up to 1."""
        self._limits = limits or Limits()
        self._pace = Pace(random, self._limits)
        self._known: dict[str, Known] = {}
        self._marks: dict[str, Step] = {}
        self._evictions: dict[str, Step] = {}
        self._kept: dict[str, str] = {}

    @property
    def kept(self) -> Mapping[str, str]:
        """Why pods that couldn't be placed aren't evicted though others are, by uid."""
        return self._kept

    def hear(
        self,
        now: float,
        pods: Sequence[Pod],
        assigned: Told | None,
        unplaced: Unplaced | None,
        young: Young | None = None,
    ) -> None:
        """Take in a pass; None for what isn't told on pods.

        Where neither is, no mark is taken away but those that this ledger wrote. `young` says
        which pods may be evicted, None that none may.
        """
        here = {pod.uid: pod for pod in pods if not pod.finished}
        self._known = {uid: known for uid, known in self._known.items() if uid in here}
        self._marks, self._evictions, self._kept = {}, {}, {}
        off = assigned is None and unplaced is None
        for uid, pod in here.items():
            marks = wanted((assigned or {}).get(uid), (unplaced or {}).get(uid))
            known = self._known.get(uid)
            if known is None:
                if off or marks == marks_on(pod) == NONE:
                    continue
                known = self._known[uid] = Known()
            self._hear_one(now, pod, known, marks, off=off)
            self._hear_eviction(now, pod, known, marks, young)
        self._pace.tidy(now)

    def _hear_one(self, now: float, pod: Pod, known: Known, marks: Marks, *, off: bool) -> None:
        found = marks_on(pod)
        if marks == found or known.refused == marks or (off and known.written is None):
            return
        if known.written is not None and alike(known.written, marks):
            # The watch may not have told of it yet, or only words have changed. And where the pod
            # is as it was before, someone takes the mark away: no fight to win.
            useless = found == known.before and known.written == marks
            wait = self._limits.useless if useless else self._limits.again
            if now - known.at < wait:
                return
        self._marks[pod.uid] = Step(pod=pod, marks=marks, before=found)

    def _hear_eviction(
        self, now: float, pod: Pod, known: Known, marks: Marks, young: Young | None
    ) -> None:
        if marks.not_placed is None:
            known.unplaced_since = None
            return
        if known.unplaced_since is None:
            known.unplaced_since = now
        if young is None or known.evicted:
            return
        reason = kept_because(pod, young)
        if reason is None and now - known.unplaced_since > young.seconds:
            reason = TOO_LONG
        found = marks_on(pod)
        if reason is not None:
            self._kept[pod.uid] = reason
        elif found.code == marks.code:  # nobody goes who doesn't say why
            self._evictions[pod.uid] = Step(pod=pod, marks=marks, before=found, evicts=True)

    def due(self, now: float) -> float | None:
        """The seconds until there is something to do, None while there is nothing."""
        first = self._pace.wait_for_mark(now)
        marks = self._open(now, self._marks)
        waits = [max(first, self._wait_to_mark(now, step)) for step in marks]
        first = self._pace.wait_for_eviction(now)
        ready = self._open(now, self._evictions)
        waits += [max(first, self._wait_of(now, step)) for step in ready]
        return min(waits, default=None)

    def take(self, now: float) -> Step | None:
        """What is to be done now; done, gone, refused, forbidden or failed is told afterwards."""
        open_marks = self._open(now, self._marks)
        marks = [step for step in open_marks if self._wait_to_mark(now, step) <= 0]
        if marks and self._pace.wait_for_mark(now) <= 0:
            self._pace.took_mark(now)
            return self._marks.pop(marks[0].pod.uid)
        open_ones = self._open(now, self._evictions)
        ready = [step for step in open_ones if self._wait_of(now, step) <= 0]
        if not ready or self._pace.wait_for_eviction(now) > 0:
            return None
        # Who was refused longest ago: a budget that is spent keeps nobody else.
        step = min(ready, key=lambda each: self._known[each.pod.uid].tried or 0.0)
        self._known[step.pod.uid].tried = now
        self._pace.took_eviction(now)
        return self._evictions.pop(step.pod.uid)

    def done(self, now: float, step: Step) -> None:
        """The server did it."""
        self._pace.answered()
        self._forget(step)
        known = self._known.get(step.pod.uid)
        if step.evicts:
            self._pace.evicted(now, _controller(step.pod))
            if known is not None:
                known.evicted = True
        elif known is not None:
            known.written, known.at, known.before = step.marks, now, step.before
            known.refused = None

    def gone(self, step: Step) -> None:
        """The pod isn't there any more, or another one has its name."""
        self._pace.answered()
        self._forget(step)

    def refused(self, step: Step) -> None:
        """The server refuses it now, and marks for as long as they are the same."""
        self._pace.answered()
        self._forget(step)
        known = self._known.get(step.pod.uid)
        if known is not None and not step.evicts:
            known.refused = step.marks

    def forbidden(self, now: float, step: Step) -> None:
        """A right is missing or a policy is against it, in this namespace if not everywhere."""
        self._pace.answered()
        self._pace.forbidden(now, step.pod.namespace, evicting=step.evicts)
        self._put_back(step)

    def failed(self, now: float, step: Step, retry_after: float | None) -> None:
        """The server is ill or busy: nothing is asked of it for a while."""
        self._pace.failed(now, retry_after)
        self._put_back(step)

    def _open(self, now: float, steps: Mapping[str, Step]) -> list[Step]:
        """Those that aren't forbidden where they are."""
        return [
            step
            for step in steps.values()
            if self._pace.open(now, step.pod.namespace, evicting=step.evicts)
        ]

    def _wait_to_mark(self, now: float, step: Step) -> float:
        """The seconds until a pod may be marked again.

        Each mark comes back by the watch and makes a pass: two that took turns would never end.
        """
        known = self._known[step.pod.uid]
        return 0.0 if known.written is None else max(known.at + self._limits.least - now, 0.0)

    def _wait_of(self, now: float, step: Step) -> float:
        """The seconds until a pod may be evicted, as far as itself and its controller go."""
        known = self._known[step.pod.uid]
        since = now if known.unplaced_since is None else known.unplaced_since
        again = 0.0 if known.tried is None else known.tried + self._limits.retry - now
        of_controller = self._pace.wait_for_controller(now, _controller(step.pod))
        return max(since + self._limits.settle - now, again, of_controller, 0.0)

    def _forget(self, step: Step) -> None:
        """A pass may have asked for the same again while it was under way."""
        waiting = self._evictions if step.evicts else self._marks
        found = waiting.get(step.pod.uid)
        if found is not None and found.marks == step.marks:
            del waiting[step.pod.uid]

    def _put_back(self, step: Step) -> None:
        """What wasn't done waits for its next moment, unless a pass has said something newer."""
        if step.pod.uid in self._known:
            waiting = self._evictions if step.evicts else self._marks
            waiting.setdefault(step.pod.uid, step)


def _controller(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.controller or ""
