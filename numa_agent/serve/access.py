"""Asking for a token: whom it stands for and what they may, remembered for a short while.

The API server answers both (TokenReview, SubjectAccessReview:
https://kubernetes.io/docs/reference/access-authn-authz/authorization/). What it said of a token is
good for a minute, so that a scrape costs it a request now and then and goes on for as long while
it is away. Tokens that nobody knows are remembered too, apart, and asked about at a bounded rate:
who floods this server with them neither reaches the API server nor makes a good one forgotten.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus

from numa_agent.core.access import Access, Bucket, Remembered, User
from numa_agent.core.errors import SourceError
from numa_agent.serve.answer import Answer, lines

GOOD_SECONDS = 60.0
BAD_SECONDS = 10.0
MOST_GOOD = 64
MOST_BAD = 256
RATE, BURST = 5.0, 20
"""Tokens asked about for the first time, in a second and at once."""

MOST_AT_ONCE = 2
"""Questions to the API server that are open at a time: others are answered meanwhile."""

WAIT_SECONDS = 0.5
_BEARER = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What becomes of a request, and why."""

    access: Access
    reason: str = ""

    @property
    def refused(self) -> Answer | None:
        """The answer in place of the page, None where the page may be seen."""
        match self.access:
            case Access.ALLOWED:
                return None
            case Access.UNKNOWN:
                bearer = ("WWW-Authenticate", "Bearer")
                return lines(HTTPStatus.UNAUTHORIZED, (self.reason,), bearer)
            case Access.FORBIDDEN:
                return lines(HTTPStatus.FORBIDDEN, (self.reason,))
        later = ("Retry-After", "5")
        return lines(HTTPStatus.SERVICE_UNAVAILABLE, (self.reason,), later)


NO_TOKEN = Ruling(
    access=Access.UNKNOWN, reason="give a bearer token of the cluster: Authorization: Bearer ..."
)
UNKNOWN = Ruling(access=Access.UNKNOWN, reason="the API server doesn't know this token")
BUSY = Ruling(access=Access.UNAVAILABLE, reason="too many tokens are asked about; try again later")
AWAY = Ruling(
    access=Access.UNAVAILABLE, reason="the API server can't be asked about this token now"
)


class Tokens:
    """Rules on requests by their token.

    `who` gives the user of a token, None for one that isn't known; `may` says whether a user may
    get a path. Both raise SourceError where the API server can't be asked.
    """

    def __init__(
        self,
        who: Callable[[str], User | None],
        may: Callable[[User, str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without an answer remembered; `clock` never goes back."""
        self.trouble: str | None = None
        """Why the API server couldn't be asked last, None where it could."""
        self._who = who
        self._may = may
        self._clock = clock
        self._lock = threading.Lock()
        self._asking = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._good: Remembered[Ruling] = Remembered(MOST_GOOD, GOOD_SECONDS)
        self._bad: Remembered[Ruling] = Remembered(MOST_BAD, BAD_SECONDS)
        self._bucket = Bucket(RATE, BURST)

    def rule(self, authorization: str, path: str) -> Ruling:
        """What becomes of a request with this header field."""
        found = _BEARER.fullmatch(authorization.strip())
        if found is None:
            return NO_TOKEN
        # The token itself isn't kept.
        key = (sha256(found[1].encode()).digest(), path)
        with self._lock:
            now = self._clock()
            known = self._good.get(key, now) or self._bad.get(key, now)
            if known is not None:
                return known
            # One that was good before passes by those that never were.
            if key not in self._good and not self._bucket.take(now):
                return BUSY
        if not self._asking.acquire(timeout=WAIT_SECONDS):
            return BUSY
        try:
            ruling = self._asked(found[1], path)
        finally:
            self._asking.release()
        self._remember(key, ruling)
        return ruling

    def _asked(self, token: str, path: str) -> Ruling:
        try:
            user = self._who(token)
            if user is None:
                ruling = UNKNOWN
            elif self._may(user, path):
                ruling = Ruling(access=Access.ALLOWED)
            else:
                reason = (
                    f"{user.name} may not get {path}: give it the verb get on that nonResourceURL"
                )
                ruling = Ruling(access=Access.FORBIDDEN, reason=reason)
        except SourceError as error:
            self.trouble = f"tokens can't be checked: {error}"
            return AWAY
        self.trouble = None
        return ruling

    def _remember(self, key: tuple[bytes, str], ruling: Ruling) -> None:
        with self._lock:
            if ruling.access is Access.ALLOWED:
                self._good.put(key, ruling, self._clock())
            elif ruling.access is not Access.UNAVAILABLE:
                self._good.drop(key)
                self._bad.put(key, ruling, self._clock())
