"""Durations in buckets."""

from hypothesis import given
from hypothesis import strategies as some

from numa_agent.core.histogram import Histogram

SECONDS = Histogram.of(0.1, 1.0, 10.0)


def test_one_without_a_value_counts_nothing() -> None:
    assert SECONDS.cumulative == (0, 0, 0, 0)
    assert SECONDS.total == 0


def test_a_value_is_in_every_bucket_whose_bound_it_reaches() -> None:
    found = SECONDS.plus(0.1).plus(0.11).plus(10.0).plus(10.1)
    assert found.counts == (1, 1, 1, 1)
    assert found.cumulative == (1, 2, 3, 4)
    assert found.total == 0.1 + 0.11 + 10.0 + 10.1


def test_the_one_before_stays_as_it_is() -> None:
    SECONDS.plus(1.0)
    assert Histogram.of(0.1, 1.0, 10.0) == SECONDS


def test_a_clock_that_went_back_counts_as_no_time() -> None:
    assert SECONDS.plus(-5.0) == SECONDS.plus(0.0)


@given(some.lists(some.floats(0, 1e6)))
def test_every_value_is_counted_once(values: list[float]) -> None:
    found = SECONDS
    for value in values:
        found = found.plus(value)
    assert found.cumulative[-1] == len(values)
    assert found.cumulative[:-1] == tuple(
        sum(value <= bound for value in values) for bound in found.bounds
    )
