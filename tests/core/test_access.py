"""What is remembered of the API server's answers, and how often it is asked."""

from hypothesis import given
from hypothesis import strategies as some

from numa_agent.core.access import Bucket, Remembered


def test_a_value_is_good_for_its_time() -> None:
    values: Remembered[str] = Remembered(2, 60.0)
    values.put("a", "yes", 0.0)
    assert values.get("a", 59.9) == "yes"
    assert values.get("a", 60.0) is None
    assert values.get("b", 0.0) is None


def test_its_key_is_known_for_longer() -> None:
    values: Remembered[str] = Remembered(2, 60.0)
    values.put("a", "yes", 0.0)
    assert "a" in values
    assert values.get("a", 1e9) is None
    assert "a" in values
    values.drop("a")
    values.drop("a")
    assert "a" not in values


def test_the_oldest_makes_room() -> None:
    values: Remembered[str] = Remembered(2, 60.0)
    values.put("a", "1", 0.0)
    values.put("b", "2", 1.0)
    values.put("a", "3", 2.0)
    values.put("c", "4", 3.0)
    assert [values.get(key, 4.0) for key in "abc"] == ["3", None, "4"]


@given(some.lists(some.integers(0, 50)), some.integers(1, 10))
def test_never_more_than_so_many(keys: list[int], most: int) -> None:
    values: Remembered[int] = Remembered(most, 60.0)
    for moment, key in enumerate(keys):
        values.put(key, key, moment)
        assert values.get(key, moment) == key
    assert len(values) == min(len(set(keys)), len(values)) <= most


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    bucket = Bucket(2.0, 3)
    assert [bucket.take(10.0) for _ in range(5)] == [True, True, True, False, False]
    assert [bucket.take(10.5), bucket.take(10.5)] == [True, False]


@given(some.lists(some.floats(0, 5), max_size=100))
def test_a_bucket_never_lets_more_through(pauses: list[float]) -> None:
    bucket, now, passed = Bucket(5.0, 20), 100.0, 0
    for pause in pauses:
        now += pause
        passed += bucket.take(now)
    assert passed <= 20 + (now - 100.0) * 5.0 + 1e-6


def test_a_bucket_that_rests_fills_to_its_burst_only() -> None:
    bucket = Bucket(2.0, 3)
    bucket.take(0.0)
    assert sum(bucket.take(1e9) for _ in range(10)) == 3
