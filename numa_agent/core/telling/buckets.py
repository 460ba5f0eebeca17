"""How many Events may be told: a burst, and then so many in a time."""

from collections.abc import Hashable


class Bucket:
    """A token bucket of `burst` tokens, of which one comes back every `refill` seconds."""

    __slots__ = ("_at", "_burst", "_refill", "_tokens")

    def __init__(self, burst: float, refill: float) -> None:
        self._burst = burst
        self._refill = refill
        self._tokens = burst
        self._at: float | None = None

    def wait(self, now: float) -> float:
        """The seconds until there is a token, 0 where there is one."""
        self._fill(now)
        return max((1 - self._tokens) * self._refill, 0.0)

    def take(self, now: float) -> None:
        """Take a token."""
        self._fill(now)
        self._tokens -= 1

    def full(self, now: float) -> bool:
        """Whether it is as it was at first."""
        self._fill(now)
        return self._tokens >= self._burst

    def _fill(self, now: float) -> None:
        if self._at is not None:
            self._tokens = min(self._tokens + (now - self._at) / self._refill, self._burst)
        self._at = now


class Buckets:
    """A bucket for all together, and one for each object that something is told of."""

    def __init__(self, burst: float, refill: float, own_burst: float, own_refill: float) -> None:
        self._all = Bucket(burst, refill)
        self._own: dict[Hashable, Bucket] = {}
        self._own_size = own_burst, own_refill

    def wait(self, now: float) -> float:
        """The seconds until anything may be told at all."""
        return self._all.wait(now)

    def open(self, now: float, subject: Hashable) -> bool:
        """Whether something may be told of an object, as far as its own bucket goes."""
        own = self._own.get(subject)
        return own is None or own.wait(now) == 0

    def take(self, now: float, subject: Hashable) -> None:
        """Take a token from both."""
        self._all.take(now)
        self._own.setdefault(subject, Bucket(*self._own_size)).take(now)

    def tidy(self, now: float) -> None:
        """Forget the buckets that are full."""
        self._own = {key: own for key, own in self._own.items() if not own.full(now)}
