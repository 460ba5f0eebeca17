"""What is counted over the passes: one whole value that is replaced at each of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from numa_agent.core.binding_latency import BOUNDS
from numa_agent.core.histogram import Histogram
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Report, Write

PASS_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)

_HELD = frozenset({Outcome.CREATED, Outcome.CHANGED, Outcome.UNCHANGED})
"""The outcomes after which the server holds what was wanted."""

K = TypeVar("K")
Counts = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The counts since the start, and the last report with its moment.

    `at` is by the clock that never goes back, `at_unix` Unix time; both are of the last report.
    `failure` is why the last pass gave no report. `held` says, by kind, when the server was last
    seen to hold what was wanted, or the moment of the first try where it never was. `looked` says
    whether any pass knew the pods and kubelet's CPUs.
    """

    report: Report | None = None
    at: float = 0.0
    at_unix: float = 0.0
    failure: str | None = None
    looked: bool = False
    passes: Mapping[str, int] = field(default_factory=dict)
    pass_seconds: Histogram = field(default_factory=lambda: Histogram.of(*PASS_BOUNDS))
    latency: Histogram = field(default_factory=lambda: Histogram.of(*BOUNDS))
    writes: Counts = field(default_factory=dict)
    publications: Counts = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)
    source_errors: Mapping[str, int] = field(default_factory=dict)

    def with_report(self, report: Report, at: float, at_unix: float) -> "Tally":
        """After a pass."""
        times = report.times
        seconds = None if times is None else times.ended - times.began
        errors = dict(self.source_errors)
        for each in report.sources:
            errors[each.source] = errors.get(each.source, 0) + (each.error is not None)
        return replace(
            self.with_writes(report.writes),
            report=report,
            at=at,
            at_unix=at_unix,
            failure=None,
            looked=self.looked or report.looked,
            passes=_plus(self.passes, "good" if report.good else "faulty"),
            pass_seconds=self.pass_seconds if seconds is None else self.pass_seconds.plus(seconds),
            source_errors=errors,
        )

    def with_failure(self, failure: str) -> "Tally":
        """After a pass without a report."""
        return replace(self, failure=failure, passes=_plus(self.passes, "failed"))

    def with_writes(self, writes: Iterable[Write]) -> "Tally":
        """After these writes of cpusets."""
        counts = dict(self.writes)
        for write in writes:
            key = (write.step.file, "taken" if write.error is None else "refused")
            counts[key] = counts.get(key, 0) + 1
        return replace(self, writes=counts)

    def with_latency(self, latency: Histogram) -> "Tally":
        """With how long pods waited for their CPUs."""
        return replace(self, latency=latency)

    def with_publication(self, kind: str, published: Published, now: float) -> "Tally":
        """After a try to publish an object."""
        outcome = published.outcome
        held = self.held if kind in self.held else {**self.held, kind: now}
        return replace(
            self,
            publications=_plus(self.publications, (kind, outcome.value)),
            held={**held, kind: now} if outcome in _HELD else held,
        )


def _plus(counts: Mapping[K, int], key: K) -> Mapping[K, int]:
    return {**counts, key: counts.get(key, 0) + 1}
