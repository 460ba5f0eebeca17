"""Who asks, by the API server's word, and what is remembered of its answers.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Whom a token stands for, as a TokenReview says it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Access(StrEnum):
    """What becomes of a request, in the order of HTTP's 200, 401, 403, 503."""

    ALLOWED = "allowed"
    UNKNOWN = "unknown"
    """No token, or none that the API server knows."""
    FORBIDDEN = "forbidden"
    """The user may not."""
    UNAVAILABLE = "unavailable"
    """It can't be found out now."""


class Remembered(Generic[V]):
    """Values by key for a bounded time, the newest `most` of them; `now` never goes back."""

    def __init__(self, most: int, seconds: float) -> None:
        """Take how many are remembered, and how long each is good."""
        self._most = most
        self._seconds = seconds
        self._entries: OrderedDict[Hashable, tuple[float, V]] = OrderedDict()

    def put(self, key: Hashable, value: V, now: float) -> None:
        """Remember a value, and forget the oldest one where there are too many."""
        self._entries.pop(key, None)
        self._entries[key] = (now + self._seconds, value)
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def get(self, key: Hashable, now: float) -> V | None:
        """The value, None where there is none or its time is over."""
        found = self._entries.get(key)
        return None if found is None or now >= found[0] else found[1]

    def drop(self, key: Hashable) -> None:
        """Forget a value."""
        self._entries.pop(key, None)

    def __contains__(self, key: Hashable) -> bool:
        """Whether it is known, be its time over or not."""
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)


class Bucket:
    """Lets `burst` through at once and `rate` a second in the long run; `now` never goes back."""

    def __init__(self, rate: float, burst: int) -> None:
        """Start with a full bucket."""
        self._rate = rate
        self._burst = burst
        self._left = float(burst)
        self._at = float("-inf")

    def take(self, now: float) -> bool:
        """Whether one more may pass."""
        if self._at != float("-inf"):
            self._left = min(self._left + (now - self._at) * self._rate, float(self._burst))
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
