"""Scrapes of a real run as input series of `promtool test rules`.

https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series

A second of the run is a second of the test. After the last scrape the run goes on as it was:
counters grow by as much a second as they did, gauges stay. What the caller names goes on growing
by a second each second, such as the age of what stays broken.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from prometheus_client.parser import text_string_to_metric_families

Key = tuple[str, tuple[tuple[str, str], ...]]
Scrapes = Sequence[tuple[float, str | None]]

COUNTED = ("_total", "_bucket", "_count", "_sum")
MOMENTS = ("numa_agent_last_pass_timestamp_seconds", "process_start_time_seconds")
"""Unix times; the test begins at the time 0."""

PASSES_SECONDS = 15
"""In so many seconds there were two passes."""


@dataclass(frozen=True)
class Series:
    """One series: a value a second, None where there was none."""

    name: str
    labels: Mapping[str, str]
    values: tuple[float | None, ...]

    def notation(self, pace: float, seconds: int) -> str:
        """The values as promtool reads them, going on for so many seconds at that pace."""
        return " ".join([*self._shown(), *self._more(pace, seconds)])

    def _shown(self) -> Iterator[str]:
        before = None
        for value in self.values:
            if value is None:
                # Prometheus marks a series that was there and is no more.
                yield "_" if before is None else "stale"
            else:
                yield repr(value)
            before = value

    def _more(self, pace: float, seconds: int) -> Iterator[str]:
        last = self.values[-1]
        if last is not None:
            yield f"{last + pace!r}+{pace!r}x{seconds}"

    def pace(self, growing: Collection[str]) -> float:
        """By how much it grows in each second after the run."""
        known = [value for value in self.values if value is not None]
        if self.name in growing or (self.name == "numa_agent_source_age_seconds" and _grew(known)):
            return 1.0
        if self.name == "numa_agent_last_pass_timestamp_seconds":
            return 1.0 if known[-1] > known[-PASSES_SECONDS:][0] else 0.0
        if self.name.endswith(COUNTED) and len(known) > 1:
            # As Prometheus counts: what is less than before began again at 0.
            grown = sum(b - a if b >= a else b for a, b in pairwise(known))
            return grown / (len(known) - 1)
        return 0.0


def _grew(ages: Sequence[float]) -> bool:
    """Whether no pass of the last seconds found anything new."""
    last = ages[-PASSES_SECONDS:]
    return len(last) == PASSES_SECONDS and all(a < b for a, b in pairwise(last))


def series_of(scrapes: Scrapes, target: Mapping[str, str]) -> list[Series]:
    """Every series of a run that was scraped once a second, with the target's labels."""
    began = scrapes[0][0]
    at_each = [{} if text is None else dict(_samples(text, began)) for _, text in scrapes]
    keys = sorted({key for samples in at_each for key in samples})
    found = [
        Series(
            name, {**dict(labels), **target}, tuple(each.get((name, labels)) for each in at_each)
        )
        for name, labels in keys
    ]
    up = tuple(float(text is not None) for _, text in scrapes)
    return [Series("up", dict(target), up), *found]


def input_series(
    found: Sequence[Series], seconds: int, growing: Collection[str] = ()
) -> list[dict[str, str]]:
    """The series for promtool, going on for so many seconds."""
    return [
        {"series": _written(each), "values": each.notation(each.pace(growing), seconds)}
        for each in found
    ]


def _samples(text: str, began: float) -> Iterator[tuple[Key, float]]:
    for family in text_string_to_metric_families(text):
        for each in family.samples:
            value = each.value - (began if each.name in MOMENTS else 0.0)
            yield (each.name, tuple(sorted(each.labels.items()))), value


def _written(series: Series) -> str:
    labels = ",".join(f"{key}={json.dumps(value)}" for key, value in series.labels.items())
    return f"{series.name}{{{labels}}}"
