"""How often marks are written and pods evicted, and for how long a refusal counts."""

from collections.abc import Callable
from dataclasses import dataclass

from numa_agent.core.backoff import BackOff
from numa_agent.core.telling.buckets import Bucket

_BACK_OFF = BackOff(first=10.0, most=300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and numbers.

    Marks are written `burst` at once and then one every `refill`. A pod's is written again `least`
    after the last time, `again` after it where only its words are others, `useless` after it where
    the last one had no effect. A pod is evicted when it couldn't be placed for `settle`, is tried
    again `retry` after a refusal, and one every `every`, whichever pod; of one controller
    `of_controller` within `within`, so that a scheduler that always comes back here is given up
    on; and since what was done before the agent's start isn't known, in its first hour one every
    `fresh` at most, the first of them after that time. What is forbidden in a namespace isn't
    tried there for `forbidden`.
    """

    burst: float = 20.0
    refill: float = 1.0
    least: float = 5.0
    again: float = 300.0
    useless: float = 3600.0
    settle: float = 30.0
    retry: float = 120.0
    every: float = 60.0
    of_controller: int = 3
    within: float = 3600.0
    fresh: float = 1200.0
    forbidden: float = 600.0


class Pace:
    """When the next thing may be done."""

    def __init__(self, random: Callable[[], float], limits: Limits) -> None:
        self._random = random
        self._limits = limits
        self._bucket = Bucket(limits.burst, limits.refill)
        self._evicted_at: float | None = None
        self._since: float | None = None
        self._rests_until = 0.0
        self._failures = 0
        self._forbidden: dict[tuple[bool, str], float] = {}
        self._controllers: dict[tuple[str, str], list[float]] = {}

    def wait_for_mark(self, now: float) -> float:
        """The seconds until a mark may be written."""
        return max(self._bucket.wait(now), self._rests_until - now, 0.0)

    def wait_for_eviction(self, now: float) -> float:
        """The seconds until any pod may be evicted."""
        last = 0.0 if self._evicted_at is None else self._evicted_at + self._limits.every - now
        return max(last, self._rests_until - now, 0.0)

    def wait_for_controller(self, now: float, controller: tuple[str, str]) -> float:
        """The seconds until a pod of this controller may be: namespace, and kind and name."""
        limits = self._limits
        moments = self._controllers.get(controller, [])
        since = now if self._since is None else self._since
        young = 0.0
        if now - since < limits.within:
            young = since + limits.fresh * (len(moments) + 1) - now
        if len(moments) < limits.of_controller:
            return max(young, 0.0)
        return max(moments[-limits.of_controller] + limits.within - now, young, 0.0)

    def open(self, now: float, namespace: str, *, evicting: bool) -> bool:
        """Whether it wasn't forbidden there of late."""
        return self._forbidden.get((evicting, namespace), 0.0) <= now

    def took_mark(self, now: float) -> None:
        """A mark is being written."""
        self._bucket.take(now)

    def took_eviction(self, now: float) -> None:
        """A pod is being evicted, or refused to be."""
        self._evicted_at = now

    def evicted(self, now: float, controller: tuple[str, str]) -> None:
        """A pod of this controller was."""
        self._controllers.setdefault(controller, []).append(now)

    def forbidden(self, now: float, namespace: str, *, evicting: bool) -> None:
        """The server says that it isn't allowed there."""
        self._forbidden[evicting, namespace] = now + self._limits.forbidden

    def answered(self) -> None:
        """The server is well."""
        self._failures = 0

    def failed(self, now: float, retry_after: float | None) -> None:
        """The server is ill, or busy."""
        self._failures += 1
        rest = _BACK_OFF.seconds(self._failures, self._random(), retry_after)
        self._rests_until = now + rest

    def tidy(self, now: float) -> None:
        """Forget what counts no more; the first time is the agent's start."""
        if self._since is None:
            self._since = now
        self._forbidden = {key: until for key, until in self._forbidden.items() if until > now}
        oldest = now - self._limits.within
        recent = {
            controller: [each for each in moments if each > oldest]
            for controller, moments in self._controllers.items()
        }
        self._controllers = {key: moments for key, moments in recent.items() if moments}
