"""Where the loop says what it saw and did, for those who ask the served pages.

The loop writes, and who sends objects in a thread of its own; those that serve read whole values
which are replaced.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from numa_agent.core.binding_latency import BindingLatency
from numa_agent.core.documents import Document
from numa_agent.core.health import Health, liveness, readiness
from numa_agent.core.publishing import Published
from numa_agent.core.report import Report, Write
from numa_agent.serve.tally import Tally


class Board:
    """The last report, the counts since the start, and the beat of the loop.

    `scheduler` is whose language is spoken, `period` the most seconds from one pass to the next,
    `per_container` whether containers have series. `fatal` is what keeps it from being ready,
    `unsaid` why the log can't be written, which doesn't.
    `clock` never goes back and is that of the reports' times; `wall` is Unix time.
    """

    def __init__(
        self,
        *,
        period: float,
        scheduler: str = "",
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Start without a report; the start is a beat."""
        self.period = period
        self.scheduler = scheduler
        self.clock = clock
        self.tally = Tally()
        self.fatal: str | None = None
        self.unsaid: str | None = None
        self.per_container = False
        self._wall = wall
        self._latency = BindingLatency()
        self._beat = clock()
        self._lock = threading.Lock()

    def beat(self) -> None:
        """Say that the loop moves: at each wake-up, before anything is done."""
        self._beat = self.clock()

    def passed(self, report: Report) -> None:
        """Take in a pass, when it is over."""
        now, times = self.clock(), report.times
        with self._lock:
            self._latency.saw(report, times.began if times else now, times.bound if times else now)
            self._take(self.tally.with_report(report, now, self._wall()))
        self.beat()

    def wrote(self, writes: Iterable[Write]) -> None:
        """Take in what was written between passes since the last beat."""
        found = tuple(writes)
        with self._lock:
            self._latency.wrote(found, self._beat, self.clock())
            self._take(self.tally.with_writes(found))
        self.beat()

    def failed(self, failure: str) -> None:
        """Take in that a pass gave no report, and why."""
        with self._lock:
            self._take(self.tally.with_failure(failure))
        self.beat()

    def tried(self, manifest: Document, published: Published | None) -> None:
        """Take in what became of an object that was tried to be published; None is nobody's."""
        if published is not None:
            kind = str(manifest.get("kind"))
            with self._lock:
                self._take(self.tally.with_publication(kind, published, self.clock()))

    def alive(self) -> Health:
        """Whether the loop beats."""
        return liveness(self.clock(), self._beat, self.period)

    def ready(self) -> Health:
        """Whether a full pass has looked at pods and nothing of the configuration is fatal."""
        tally = self.tally
        found = readiness(tally.report, tally.failure, self.fatal, looked=tally.looked)
        return (
            found if self.unsaid is None else replace(found, reasons=(*found.reasons, self.unsaid))
        )

    def _take(self, tally: Tally) -> None:
        self.tally = tally.with_latency(self._latency.histogram)
