"""A source that may fail: its last good value stands in for it, and grows older."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.report import SourceAge

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[T_co]):
    """What a source gave.

    `values` holds the value, and nothing where there has never been one. `error` says why it
    isn't of now, `unavailable` that this is since the API server doesn't answer, and
    `age_seconds` how old it is.
    """

    source: str
    values: tuple[T_co, ...]
    error: str | None
    age_seconds: float | None
    unavailable: bool = False

    @property
    def fresh(self) -> bool:
        """Whether the value is of now."""
        return self.error is None

    @property
    def age(self) -> SourceAge:
        """The source's line in a report."""
        return SourceAge(
            source=self.source,
            age_seconds=self.age_seconds,
            error=self.error,
            unavailable=self.unavailable,
        )


class Kept(Generic[T]):
    """A source under a name, remembering the last value that it gave."""

    def __init__(
        self, source: str, read: Callable[[], T], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the source; `read` raises SourceError when it has no answer now."""
        self.source = source
        self._read = read
        self._clock = clock
        self._values: tuple[T, ...] = ()
        self._since = 0.0

    @property
    def last(self) -> tuple[T, ...]:
        """The last good value, without asking; empty where there has never been one."""
        return self._values

    def read(self) -> Reading[T]:
        """Ask the source; while it fails, the last good value and its age stand in."""
        try:
            value = self._read()
        except SourceError as error:
            age = self._clock() - self._since if self._values else None
            return Reading(
                source=self.source,
                values=self._values,
                error=str(error),
                age_seconds=age,
                unavailable=isinstance(error, ApiError) and error.unavailable,
            )
        self._values, self._since = (value,), self._clock()
        return Reading(source=self.source, values=self._values, error=None, age_seconds=0.0)
