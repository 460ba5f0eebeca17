"""Writes on pods what passes say of them, within few requests and little time."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from numa_agent.core.errors import ApiError, GoneError, SourceError
from numa_agent.core.marking import Ledger, Limits, Step, Told, Unplaced, Young
from numa_agent.core.pods import Pod

SECONDS = 2.0
"""Nothing is begun when what came before it took that long together: others send, too."""

MOST = 30
"""So many pods at once; what is left waits for the next moment."""

_EVERYWHERE = "*"
_SHOWN = 5
_REMEMBERED = 200
_HOPELESS = frozenset({400, 404, 405, 413, 422})
"""The server refuses this pod's and no other's: it is invalid, too large, or not served."""

Marking = Callable[[Pod, Mapping[str, str]], None]
"""Makes these our annotations on a pod: GoneError where it isn't there, else ApiError."""

Evicting = Callable[[Pod], str | None]
"""Evicts a pod; why that can't be now, None where it is done. Raises as Marking does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What was done to a pod: `code` is why it couldn't be placed, None where it was."""

    pod: Pod
    code: str | None
    evicted: bool


class Marker:
    """Hears every pass, and writes the marks and asks for the evictions that are due.

    One thread may send while another one speaks.
    """

    def __init__(
        self,
        mark: Marking,
        evict: Evicting,
        random: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        limits: Limits | None = None,
    ) -> None:
        """Take numbers from 0 up to 1, seconds that never go back, and the time of day."""
        self._mark = mark
        self._evict = evict
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._ledger = Ledger(random, limits)
        self._troubles: dict[str, str] = {}
        self._budgets: dict[str, str] = {}
        self._sent: list[Sent] = []

    def hear(
        self,
        pods: Sequence[Pod],
        assigned: Told | None,
        unplaced: Unplaced | None,
        evict_seconds: float | None = None,
    ) -> None:
        """Take in a pass; nothing is sent.

        By the pods' uids: the assignments, and code and message of those that couldn't be placed;
        None for what isn't to be on pods. `evict_seconds` is for how long after its start a pod
        may be evicted, None where none may.
        """
        young = None if evict_seconds is None else _young(self._now(), evict_seconds)
        with self._lock:
            now = self._clock()
            self._ledger.hear(now, pods, assigned, unplaced, young)
            here = {pod.uid for pod in pods} if young is not None else set()
            self._budgets = {uid: why for uid, why in self._budgets.items() if uid in here}
            if self._ledger.due(now) is None:
                self._troubles.clear()

    def due(self) -> float | None:
        """The seconds until something is due, None while nothing is."""
        with self._lock:
            return self._ledger.due(self._clock())

    def send_due(self) -> int:
        """Do what is due, within SECONDS or a little more; answers for how many pods."""
        begun, count = self._clock(), 0
        while (now := self._clock()) - begun < SECONDS and count < MOST:
            with self._lock:
                step = self._ledger.take(now)
            if step is None:
                break
            count += 1
            if not self._send(step):
                break
        return count

    def troubles(self) -> tuple[str, ...]:
        """Why marks can't be written or pods evicted: the same words for as long as that lasts."""
        with self._lock:
            return tuple(self._troubles.values())

    def kept(self) -> Mapping[str, str]:
        """Why pods that couldn't be placed aren't evicted though others may be, by uid."""
        with self._lock:
            return {**self._budgets, **self._ledger.kept}

    def sent(self) -> tuple[Sent, ...]:
        """What was done since this was asked last."""
        with self._lock:
            sent, self._sent = tuple(self._sent), []
        return sent

    def _send(self, step: Step) -> bool:
        """Do one thing; whether the server takes others."""
        try:
            # Before an eviction, too: it tells at once whether the name is another pod's now.
            self._mark(step.pod, step.marks.annotations)
            budget = self._evict(step.pod) if step.evicts else None
        except GoneError:
            with self._lock:
                self._ledger.gone(step)
            return True
        except SourceError as error:
            with self._lock:
                return self._failed(step, error)
        with self._lock:
            self._done(step, budget)
        return True

    def _done(self, step: Step, budget: str | None) -> None:
        self._troubles.pop(_EVERYWHERE, None)
        self._troubles.pop(_place(step), None)
        if budget is not None:
            self._budgets[step.pod.uid] = budget
            self._ledger.refused(step)
            return
        self._budgets.pop(step.pod.uid, None)
        self._ledger.done(self._clock(), step)
        if len(self._sent) < _REMEMBERED:
            told = Sent(pod=step.pod, code=step.marks.code, evicted=step.evicts)
            self._sent.append(told)

    def _failed(self, step: Step, error: SourceError) -> bool:
        now = self._clock()
        status = error.status if isinstance(error, ApiError) else None
        place = _EVERYWHERE
        if status in _HOPELESS:
            place = _place(step)
            self._ledger.refused(step)
        elif status == 403:
            place = _place(step)
            self._ledger.forbidden(now, step)
        else:
            retry_after = error.retry_after if isinstance(error, ApiError) else None
            self._ledger.failed(now, step, retry_after)
        if len(self._troubles) < _SHOWN:
            self._troubles.setdefault(place, str(error))
        return place != _EVERYWHERE


def _place(step: Step) -> str:
    """What a refusal is about: to mark or to evict, in one namespace."""
    return f"{'evict' if step.evicts else 'mark'} in {step.pod.namespace}"


def _young(now: datetime, seconds: float) -> Young:
    since = now - timedelta(seconds=seconds)
    return Young(seconds=seconds, since=_stamp(since), until=_stamp(now))


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
