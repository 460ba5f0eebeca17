"""What is reckoned of a watch's lines: who wrote, and for how long a pod was outside its CPUs."""

from typing import Any, cast

import pytest

from tests.e2e.churn import Churn
from tests.e2e.pods import Json

pytestmark = pytest.mark.e2e

POD = "burstable/podaa"


def seen(*lines: tuple[float, str, Json]) -> Churn:
    """A churn of which these lines were told, from second 0 to 10."""
    churn = Churn(cast("Any", None), "bound")
    told = [{"at": at, "group": group, **more} for at, group, more in lines]
    churn.lines = [{"at": 0.0, "group": POD}, *told, {"at": 10.0, "group": POD}]
    return churn


def line(at: float, group: str, **more: str) -> tuple[float, str, Json]:
    return at, group, more


def test_a_container_is_outside_until_it_is_inside_again() -> None:
    churn = seen(
        line(1, f"{POD}/c1", in_force="6-7"),
        line(4, f"{POD}/c1", in_force="0-7"),
        line(4.25, f"{POD}/c1", in_force="6-7"),
        line(9, f"{POD}/c2", in_force="0-1"),
    )
    assert churn.seconds_outside("6-7") == 0.25 + 1
    assert churn.in_force == {"6-7", "0-7", "0-1"}


def test_one_that_has_gone_is_outside_no_more() -> None:
    churn = seen(
        line(2, f"{POD}/c1", in_force="0-7"),
        line(3, f"{POD}/c1", in_force="gone"),
    )
    assert churn.seconds_outside("6-7") == 1
    assert churn.in_force == {"0-7"}


def test_writes_to_pods_are_told_from_those_to_containers() -> None:
    own, other = line(1, POD, wrote="cpuset.cpus"), line(2, "podbb", wrote="cpuset.cpus")
    inside = line(3, f"{POD}/c1", wrote="cpuset.cpus")
    churn = seen(own, other, inside, line(4, f"{POD}/c1", in_force="6-7"))
    assert [each["at"] for each in churn.written(pods=True)] == [1, 2]
    assert [each["at"] for each in churn.written(pods=True, below=POD)] == [1]
    assert [each["at"] for each in churn.written(pods=False, below=POD)] == [3]
