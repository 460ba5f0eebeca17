"""How surely two series of times differ, by tables, by counting, and by laws."""

import statistics
from itertools import combinations
from math import comb, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.measuring import Gain, Ratio, gain, ratio, spread
from numa_agent.core.measuring.spread import _outside, _rank_sums, median
from tests.core.measuring.machines import FAR, NEAR

SERIES = st.lists(st.floats(0.001, 1000), min_size=1, max_size=8)


def test_a_spread_is_the_median_and_the_ends() -> None:
    found = spread(NEAR)
    assert (found.median, found.low, found.high, found.count) == (100.9, 99.8, 103.0, 5)


def test_nothing_has_no_spread_and_no_ratio() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        spread([])
    for first, second in (([], [1.0]), ([1.0], []), ([1.0], [0.0]), ([-1.0], [1.0])):
        with pytest.raises(ValueError, match="times above 0"):
            ratio(first, second)


def test_far_memory_takes_longer_beyond_chance() -> None:
    found = ratio(NEAR, FAR)
    assert 1.65 < found.value < 1.72
    assert found.low is not None
    assert found.high is not None
    assert 1.6 < found.low < found.value < found.high < 1.8
    assert gain(found) is Gain.FASTER
    assert gain(ratio(FAR, NEAR)) is Gain.SLOWER


def test_two_series_of_the_same_are_no_gain() -> None:
    assert gain(ratio(NEAR, NEAR)) is Gain.NONE
    assert gain(ratio((1.0, 1.4, 0.9, 1.2, 1.1), (1.1, 0.9, 1.3, 1.0, 1.2))) is Gain.NONE


def test_a_difference_below_one_percent_is_none_however_sure() -> None:
    sure = ratio((1.000, 1.001, 1.002, 1.003, 1.004), (1.008, 1.0085, 1.009, 1.0095, 1.01))
    assert sure.above
    assert gain(sure) is Gain.NONE
    assert gain(Ratio(value=0.995, low=0.99, high=0.999)) is Gain.NONE


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_than_four_of_each_say_nothing(count: int) -> None:
    found = ratio(NEAR[:count], FAR[:count])
    assert not found.known
    assert (found.above, found.below) == (False, False)
    assert gain(found) is Gain.TOO_FEW
    assert gain(None) is Gain.TOO_FEW


# The critical values of U for 5 % of both ends, of any table of the Mann-Whitney test.
@pytest.mark.parametrize(
    ("first", "second", "critical"),
    [(4, 4, 0), (5, 5, 2), (5, 8, 6), (6, 6, 5), (8, 8, 13), (10, 10, 23), (20, 20, 127)],
)
def test_the_interval_leaves_out_what_the_tables_say(
    first: int, second: int, critical: int
) -> None:
    assert _outside(first, second) == critical + 1


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (3, 3), (4, 5), (1, 6)])
def test_orders_are_counted_as_they_are(first: int, second: int) -> None:
    counts = [0] * (first * second + 1)
    for places in combinations(range(first + second), first):
        counts[sum(place - rank for rank, place in enumerate(places))] += 1
    assert _rank_sums(first, second) == counts
    assert sum(counts) == comb(first + second, first)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_the_median_is_that_of_the_standard_library(values: list[float]) -> None:
    assert isclose(median(values), statistics.median(values), abs_tol=1e-6)


@given(SERIES, SERIES, st.floats(0.01, 100))
def test_the_unit_doesn_t_matter(first: list[float], second: list[float], unit: float) -> None:
    plain = ratio(first, second)
    scaled = ratio([each * unit for each in first], [each * unit for each in second])
    assert isclose(plain.value, scaled.value, rel_tol=1e-9)
    assert plain.known == scaled.known


@given(SERIES, SERIES)
def test_the_interval_holds_the_estimate_and_turns_with_the_series(
    first: list[float], second: list[float]
) -> None:
    one, other = ratio(first, second), ratio(second, first)
    assert one.known == other.known == (_outside(len(first), len(second)) > 0)
    if one.low is not None and one.high is not None and other.low and other.high:
        assert one.low <= one.value <= one.high
        assert isclose(one.low, 1 / other.high, rel_tol=1e-9)
        assert isclose(one.high, 1 / other.low, rel_tol=1e-9)


@given(st.floats(0.001, 1000), st.integers(4, 8), st.integers(4, 8))
def test_equal_times_are_never_a_gain(time: float, first: int, second: int) -> None:
    assert gain(ratio([time] * first, [time] * second)) is Gain.NONE
