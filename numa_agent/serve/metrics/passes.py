"""The passes: what they cost, what they published, and what failed."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import Metric

from numa_agent.core.publishing import Outcome
from numa_agent.core.report import Report
from numa_agent.serve.metrics.families import counter, gauge, histogram, one
from numa_agent.serve.tally import Tally

PASS_OUTCOMES = ("good", "faulty", "failed")
TRIED = tuple(outcome.value for outcome in Outcome if outcome is not Outcome.PENDING)


def passes(tally: Tally, now: float) -> Iterator[Metric]:
    """What is counted over the passes; `now` is by the clock of the tally's moments."""
    yield counter(
        "numa_agent_passes",
        "Passes by outcome.",
        ["outcome"],
        (((outcome,), tally.passes.get(outcome, 0)) for outcome in PASS_OUTCOMES),
    )
    yield histogram(
        "numa_agent_pass_duration_seconds", "How long a pass took.", tally.pass_seconds
    )
    yield counter(
        "numa_agent_publications",
        "Tries to publish an object by what became of it.",
        ["kind", "outcome"],
        (
            ((kind, outcome), tally.publications.get((kind, outcome), 0))
            for kind in sorted(tally.held)
            for outcome in TRIED
        ),
    )
    yield gauge(
        "numa_agent_publish_age_seconds",
        "Seconds since the server was last seen to hold what was wanted.",
        ["kind"],
        (((kind,), max(now - since, 0)) for kind, since in sorted(tally.held.items())),
    )
    yield counter(
        "numa_agent_source_errors",
        "Passes in which a source failed.",
        ["source"],
        (((source,), count) for source, count in sorted(tally.source_errors.items())),
    )


def last_pass(report: Report, at_unix: float, elapsed: float) -> Iterator[Metric]:
    """What the last pass failed at; `elapsed` are the seconds since it."""
    yield one("numa_agent_last_pass_timestamp_seconds", "When the last report was made.", at_unix)
    yield gauge(
        "numa_agent_source_age_seconds",
        "The age of a source's last good value; none where it has never had one.",
        ["source"],
        (
            ((each.source,), each.age_seconds + max(elapsed, 0))
            for each in report.sources
            if each.age_seconds is not None
        ),
    )
    yield gauge(
        "numa_agent_source_failing",
        "1 for a source that failed in the last pass.",
        ["source"],
        (((each.source,), int(each.error is not None)) for each in report.sources),
    )
    yield gauge(
        "numa_agent_conditions",
        "What sources disagree about or what couldn't be told or done, by code.",
        ["code"],
        sorted(Counter((each.code,) for each in report.conditions).items()),
    )
    yield one(
        "numa_agent_failures", "What failed in the last pass, in sentences.", len(report.failures)
    )
