"""Asking those who may let us wait: kubelet and the API server mustn't hold up the loop."""

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from numa_agent.core.errors import SourceError

T = TypeVar("T")

AGAIN_SECONDS = 10.0
"""Between two questions for what is known to be out of date: kubelet tells its Node so often."""


class _Question(Generic[T]):
    """One call in a thread of its own, which ends with the process at the latest."""

    def __init__(self, name: str, read: Callable[[], T]) -> None:
        self.since = time.monotonic()
        self.done = Event()
        self._read = read
        self._values: list[T] = []
        self._error: Exception | None = None
        Thread(target=self._run, name=f"ask-{name}", daemon=True).start()

    def _run(self) -> None:
        try:
            self._values.append(self._read())
        except Exception as error:
            # Whatever it is, it belongs to who asked.
            self._error = error
        finally:
            self.done.set()

    def answer(self) -> T:
        if self._error is not None:
            raise self._error
        return self._values[0]


def done_within(name: str, do: Callable[[], object], seconds: float) -> bool:
    """Whether something was done in so many seconds; else it goes on beside us.

    Raises whatever it raises in that time.
    """
    question = _Question(name, do)
    if not question.done.wait(seconds):
        return False
    question.answer()
    return True


class Patient(Generic[T]):
    """Reads a source, and waits `seconds` for it at most; then it is a source that failed.

    The call goes on, and no other is made before it ends. What comes late is taken by the next
    read where it says the same as it would then (`late`), and asked for anew else. `failed` makes
    the error of one that isn't there in time.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], T],
        *,
        seconds: float,
        late: bool = False,
        failed: Callable[[str], SourceError] = SourceError,
    ) -> None:
        self._name = name
        self._read = read
        self._seconds = seconds
        self._late = late
        self._failed = failed
        self._open: _Question[T] | None = None

    def __call__(self) -> T:
        """The answer. Raises SourceError, and whatever the read itself raises."""
        question = self._open
        if question is not None and question.done.is_set() and not self._late:
            question = None
        if question is None:
            question = self._open = _Question(self._name, self._read)
        if not question.done.wait(self._seconds):
            waited = time.monotonic() - question.since
            raise self._failed(f"{self._name}: no answer for {waited:.0f} s; it is waited for")
        self._open = None
        return question.answer()


class Seldom(Generic[T]):
    """Reads a source that changes seldom, and keeps its answer for `seconds` to half as much more.

    By chance, so that the nodes of a cluster don't ask in step. A failure is asked again at once,
    and after AGAIN_SECONDS an answer that is out of date, as `outdated` knows from elsewhere; as
    long as the next ones are so too, after twice as long each time.
    """

    def __init__(
        self,
        read: Callable[[], T],
        *,
        seconds: float,
        random: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        outdated: Callable[[T], bool] = lambda _: False,
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._random = random
        self._clock = clock
        self._outdated = outdated
        self._kept: tuple[T, float] | None = None
        self._pause = AGAIN_SECONDS
        self._again_at = 0.0

    def __call__(self) -> T:
        """The answer. Raises whatever the read raises."""
        now = self._clock()
        if self._kept is None or now >= self._kept[1] or self._is_old(self._kept[0], now):
            self._kept = None
            value = self._read()
            self._kept = value, now + self._seconds * (1 + self._random() / 2)
            self._again_at = now + self._pause
            self._pause = min(2 * self._pause, self._seconds)
        elif not self._outdated(self._kept[0]):
            self._pause = AGAIN_SECONDS
        return self._kept[0]

    def _is_old(self, value: T, now: float) -> bool:
        return now >= self._again_at and self._outdated(value)
