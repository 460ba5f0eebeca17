"""How long a server that failed is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.backoff import BackOff

CHANCES = st.floats(min_value=0, max_value=1, exclude_max=True)


@pytest.mark.parametrize(
    ("failures", "least"), [(0, 0.5), (1, 0.5), (2, 1), (3, 2), (6, 15), (7, 15), (10**6, 15)]
)
def test_it_doubles_up_to_its_most(failures: int, least: float) -> None:
    assert BackOff().seconds(failures, 0.0) == least
    assert BackOff().seconds(failures, 0.5) == 1.5 * least


@given(failures=st.integers(0, 10**9), chance=CHANCES)
def test_it_is_never_at_once_and_never_more_than_its_most(failures: int, chance: float) -> None:
    assert 0.5 <= BackOff().seconds(failures, chance) <= 30


@given(failures=st.integers(0, 100), chance=CHANCES, asked=st.floats(0, 1e300))
def test_nobody_comes_back_earlier_than_asked_or_waits_for_ever(
    failures: int, chance: float, asked: float
) -> None:
    waited = BackOff().seconds(failures, chance, asked)
    assert min(asked, 120) <= waited <= 121
