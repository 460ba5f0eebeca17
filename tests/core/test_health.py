"""What kubelet's probes are told."""

from dataclasses import replace

import pytest

from numa_agent.core.health import LEAST_SECONDS, Health, liveness, readiness
from numa_agent.core.report import SourceAge
from tests.core.test_report import GOOD

DOWN = replace(
    GOOD,
    failures=("can't get Node n: down", "no CPU is given out: kubelet's state isn't of now"),
    sources=(
        SourceAge(source="pods", age_seconds=0.0, error=None),
        SourceAge(source="node", age_seconds=60.0, error="can't get Node n: down"),
    ),
)


def test_a_loop_that_beats_lives() -> None:
    assert liveness(1000.0, 1000.0, 45.0) == Health(good=True)


@pytest.mark.parametrize(
    ("period", "silent", "good"),
    [
        # A pass that waits for one time-out after another must not be killed for it.
        (45.0, LEAST_SECONDS, True),
        (45.0, LEAST_SECONDS + 1, False),
        (5.0, LEAST_SECONDS, True),
        (3600.0, 3 * 3600.0, True),
        (3600.0, 3 * 3600.0 + 1, False),
    ],
)
def test_a_loop_that_is_silent_for_three_periods_is_stuck(
    period: float, silent: float, good: bool
) -> None:
    found = liveness(silent, 0.0, period)
    assert found.good is good
    assert bool(found.reasons) is not good


def test_the_reason_says_how_long_it_is_silent() -> None:
    (said,) = liveness(1000.0, 400.0, 45.0).reasons
    assert said == "the loop hasn't moved for 600 s; 300 s are allowed"


def test_before_the_first_pass_nothing_is_ready() -> None:
    assert readiness(None, None, None) == Health(good=False, reasons=("no full pass is done yet",))
    found = readiness(None, "no map", None)
    assert found == Health(good=False, reasons=("no full pass is done yet", "no map"))


def test_after_a_pass_it_is_ready() -> None:
    assert readiness(GOOD, None, None) == Health(good=True)


def test_sources_that_fail_are_told_once_each_and_leave_it_ready() -> None:
    assert readiness(DOWN, None, None) == Health(
        good=True,
        reasons=(
            "node: can't get Node n: down",
            "no CPU is given out: kubelet's state isn't of now",
        ),
    )


def test_an_agent_that_never_knew_the_pods_is_not_ready() -> None:
    """Else a rollout whose rights are missing would go on through all nodes."""
    blind = replace(DOWN, looked=False)
    found = readiness(blind, None, None, looked=False)
    assert not found.good
    assert found.reasons[0] == "no pass has known the pods and their CPUs yet"
    assert set(readiness(DOWN, None, None).reasons) < set(found.reasons)
    assert not readiness(blind, None, None).good


def test_one_that_knew_them_once_stays_ready() -> None:
    assert readiness(replace(DOWN, looked=False), None, None, looked=True).good


def test_a_later_pass_without_a_map_is_told_and_leaves_it_ready() -> None:
    assert readiness(GOOD, "no map", None) == Health(good=True, reasons=("no map",))


def test_a_fatal_configuration_makes_it_unready() -> None:
    assert readiness(GOOD, None, "x.yaml:3: no such scheduler") == Health(
        good=False, reasons=("x.yaml:3: no such scheduler",)
    )
