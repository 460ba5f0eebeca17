"""Families of samples, made in one line each.

Names, units and labels follow https://prometheus.io/docs/practices/naming/.
"""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.utils import floatToGoString

from numa_agent.core.histogram import Histogram

Sample = tuple[tuple[str, ...], float]
"""The values of the labels, and the number."""

_LONGEST = 253
"""Characters of a label's value: the longest name in Kubernetes."""


def gauge(
    name: str, text: str, labels: Iterable[str], samples: Iterable[Sample]
) -> GaugeMetricFamily:
    """What is so now; `text` is its help."""
    family = GaugeMetricFamily(name, text, labels=tuple(labels))
    for values, number in _written(samples).items():
        family.add_metric(values, number)
    return family


def counter(
    name: str, text: str, labels: Iterable[str], samples: Iterable[Sample]
) -> CounterMetricFamily:
    """What only grows; `name` without its _total."""
    family = CounterMetricFamily(name, text, labels=tuple(labels))
    for values, number in _written(samples).items():
        family.add_metric(values, number)
    return family


def one(name: str, text: str, number: float) -> GaugeMetricFamily:
    """A gauge of one series."""
    return gauge(name, text, (), [((), number)])


def histogram(name: str, text: str, found: Histogram) -> HistogramMetricFamily:
    """How often a duration fell into which bucket."""
    bounds = [*map(floatToGoString, found.bounds), "+Inf"]
    buckets = list(zip(bounds, map(float, found.cumulative), strict=True))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=found.total)


def _written(samples: Iterable[Sample]) -> dict[tuple[str, ...], float]:
    """What can be sent of names that others chose: no lone surrogate, cut to a length, once."""
    return {tuple(map(_sent, values)): number for values, number in samples}


def _sent(value: str) -> str:
    return value[:_LONGEST].encode(errors="replace").decode()
