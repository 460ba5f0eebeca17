"""The last pass in Prometheus' words, for whoever scrapes this node.

Names and units follow https://prometheus.io/docs/practices/naming/.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from numa_agent.core.errors import SourceError
from numa_agent.core.report import Report

UNPLACED = "extended-resource-unplaced"


class ReportCollector(Collector):
    """Gives the metrics of the last report that it was told; whole values only are replaced."""

    def __init__(self) -> None:
        """Start without a report, and so without a metric."""
        self._report: Report | None = None
        self._outcomes: Counter[tuple[str, str]] = Counter()

    def tell(self, report: Report) -> None:
        """Take in a pass."""
        outcomes = Counter(
            (str(each.manifest["kind"]), each.published.outcome.value)
            for each in report.publications
            if each.published is not None
        )
        self._outcomes = self._outcomes + outcomes
        self._report = report

    def collect(self) -> Iterable[Metric]:
        """The metrics of the last report, none before the first."""
        report = self._report
        if report is None:
            return
        yield _conditions(report)
        yield _unplaced(report)
        yield from _sources(report)
        yield _drift(report)
        yield self._published()

    def _published(self) -> Metric:
        family = CounterMetricFamily(
            "numa_agent_publications",
            "Passes by what had become of an object when they ended.",
            labels=["kind", "outcome"],
        )
        for labels, count in sorted(self._outcomes.items()):
            family.add_metric(labels, count)
        return family


def serve(collector: Collector, address: str, port: int) -> None:
    """Answer GET /metrics, in threads that end with the process. Raises SourceError."""
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        raise SourceError(
            f"can't serve metrics at {address}:{port}: {error.strerror or error}; set metrics to"
            " another address, or off"
        ) from error


def _conditions(report: Report) -> Metric:
    family = GaugeMetricFamily(
        "numa_agent_conditions",
        "What sources disagree about or what couldn't be told or done, by code.",
        labels=["code"],
    )
    counts = Counter(each.code for each in report.conditions)
    for code, count in sorted(counts.items()):
        family.add_metric([code], count)
    return family


def _unplaced(report: Report) -> Metric:
    family = GaugeMetricFamily(
        "numa_agent_extended_resource_unplaced",
        "1 for an extended resource that is left out of every zone.",
        labels=["resource"],
    )
    for each in report.conditions:
        if each.code == UNPLACED:
            family.add_metric([each.subject], 1)
    return family


def _drift(report: Report) -> Metric:
    family = CounterMetricFamily(
        "numa_agent_drift",
        "How often a cpuset was found changed by somebody else, by the likely writer.",
        labels=["writer"],
    )
    for writer, count in sorted(report.drift.items()):
        family.add_metric([writer], count)
    return family


def _sources(report: Report) -> Iterator[Metric]:
    ages = GaugeMetricFamily(
        "numa_agent_source_age_seconds",
        "The age of a source's last good value; none where it has never had one.",
        labels=["source"],
    )
    failing = GaugeMetricFamily(
        "numa_agent_source_failing",
        "1 for a source that failed in the last pass.",
        labels=["source"],
    )
    for each in report.sources:
        if each.age_seconds is not None:
            ages.add_metric([each.source], each.age_seconds)
        failing.add_metric([each.source], int(each.error is not None))
    yield ages
    yield failing
