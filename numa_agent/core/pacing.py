"""When to write one object: bursts merged, once a second at most, with back-off after a failure.

Nothing here knows a clock or draws chance: `now` is the seconds of a clock that never goes back,
and `random` answers a number from 0 up to 1. The back-off is the one of
https://kubernetes.io/docs/reference/using-api/api-concepts/ (429 and Retry-After) with jitter, so
that the nodes of a cluster don't come back all at once.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from numa_agent.core.backoff import BackOff
from numa_agent.core.publishing import Outcome, Published

_SETTLED = (Outcome.CREATED, Outcome.CHANGED, Outcome.UNCHANGED)
_TURNED_DOWN = (Outcome.TOO_LARGE, Outcome.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds. A burst is merged for `merge` to twice that long after its first offer.

    `spacing` lies between two tries. What the server holds is looked at again after `recheck`
    to twice that long, and what it turned down for its content after `most` to twice that long.
    The first failure is tried again after `retry`, each further one after twice as long, never
    more than `most`; half of it is chance. A Retry-After counts up to `obeyed`.
    """

    merge: float = 0.5
    spacing: float = 1.0
    recheck: float = 60.0
    retry: float = 1.0
    most: float = 300.0
    obeyed: float = 3600.0


class Pacer:
    """When one object is to be tried next.

    Offer what the object should hold at every pass, by a key that is equal for equal content; try
    when `due` says 0, with the content as it is by then; then tell what became of it.
    """

    def __init__(self, random: Callable[[], float], pace: Pace | None = None) -> None:
        self._random = random
        self._pace = pace or Pace()
        self._due: float | None = None
        self._earliest = float("-inf")
        self._failures = 0
        self._offered: Hashable = None
        self._done: Hashable = None
        self._recheck = float("-inf")

    def offer(self, now: float, key: Hashable) -> None:
        """Say what the object should hold; what is in force, or was turned down, waits."""
        self._offered = key
        if self._due is None and (key != self._done or now >= self._recheck):
            self._due = now + self._jittered(self._pace.merge)

    def due(self, now: float) -> float | None:
        """The seconds until the next try, 0 when it is due, None while there is nothing to do."""
        if self._due is None:
            return None
        return max(self._due - now, self._earliest - now, 0.0)

    def tell(self, now: float, key: Hashable, published: Published) -> None:
        """Take in what became of the content with that key, at the moment of the answer.

        Other content that was offered meanwhile is due next.
        """
        pace, outcome = self._pace, published.outcome
        self._due = None if key == self._offered else now
        if outcome in _SETTLED:
            self._failures = 0
            self._settle(key, now + self._jittered(pace.recheck))
            self._earliest = now + pace.spacing
        elif outcome is Outcome.STOOD_BACK:
            # Other content won't move the other publisher, so that it waits as well.
            self._failures = 0
            self._settle(None, now)
            self._earliest = now + self._jittered(pace.recheck)
        else:
            self._earliest = now + max(self._back_off(published.retry_after), pace.spacing)
            if outcome in _TURNED_DOWN:
                # Other content may help, and so may an admin who changes a policy or a limit.
                self._settle(key, now + self._jittered(pace.most))
            else:
                self._settle(None, now)
                self._due = now

    def _settle(self, key: Hashable, recheck: float) -> None:
        self._done, self._recheck = key, recheck

    def _back_off(self, retry_after: float | None) -> float:
        pace = self._pace
        self._failures += 1
        patience = BackOff(first=pace.retry, most=pace.most, obeyed=pace.obeyed)
        return patience.seconds(self._failures, self._random(), retry_after)

    def _jittered(self, seconds: float) -> float:
        return seconds * (1 + self._random())
