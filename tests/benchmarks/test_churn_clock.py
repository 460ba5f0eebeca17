"""The node's clock as it is known from here."""

import time
from collections.abc import Iterator

import pytest

from benchmarks.churn.driver import TRIES, Clock


def told(*answers: float) -> Iterator[float]:
    """Each answer as often as one look asks."""
    return iter([each for each in answers for _ in range(TRIES)])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What this computer's clock says, the first of the list until it is changed."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_between_two_looks_it_ran_evenly_and_over_all_it_may_not(here: list[float]) -> None:
    answers = told(100.0, 110.0, 111.0)
    clock = Clock(lambda: next(answers))
    for moment in (0.0, 10.0, 20.0):
        here[0] = moment
        clock.look()
    assert [clock.there(moment) for moment in (5.0, 10.0, 15.0)] == [105.0, 110.0, 110.5]


def test_the_fastest_answer_counts_and_its_way_is_the_error(
    here: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([0.0, 4.0, 4.0, 5.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    answers = iter([100.0, 107.0])
    clock = Clock(lambda: next(answers))
    assert clock.look() == 107.0
    assert clock.error == 0.5
