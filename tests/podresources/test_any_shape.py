"""No JSON, however wrong its types, costs more than the entry that it is in."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.podresources import parse_pod_resources
from tests.core.test_pods_of_any_shape import JSON, places, put
from tests.podresources.test_client import ONE_POD

OTHER = {"name": "other", "namespace": "ns", "containers": [{"name": "c", "cpuIds": ["7"]}]}
BOTH: dict[str, Any] = {
    **ONE_POD,
    "list": {"podResources": [*ONE_POD["list"]["podResources"], OTHER]},
}
FIRST_POD = ("list", "podResources", 0)
IN_FIRST_POD = [path for path in places(BOTH) if path[:3] == FIRST_POD]


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(["list", "allocatable", "x"]), JSON))
def test_any_json_has_values_and_sentences(document: dict[str, Any]) -> None:
    parsed = parse_pod_resources(document)
    assert all(isinstance(problem, str) and problem for problem in parsed.problems)


@settings(deadline=None, max_examples=500)
@given(st.sampled_from([*places(ONE_POD)][1:]), JSON)
def test_a_wrong_value_anywhere_has_values_and_sentences(
    path: tuple[str | int, ...], value: object
) -> None:
    changed = put(ONE_POD, path, value)
    assert isinstance(changed, dict)
    parse_pod_resources(changed)


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(IN_FIRST_POD), JSON)
def test_a_wrong_value_in_one_pod_costs_no_other_pod_and_no_offer(
    path: tuple[str | int, ...], value: object
) -> None:
    good = parse_pod_resources(BOTH)
    changed = put(BOTH, path, value)
    assert isinstance(changed, dict)
    parsed = parse_pod_resources(changed)
    assert parsed.offer == good.offer
    assert [grant for grant in parsed.containers if grant.pod == "other"] == [
        grant for grant in good.containers if grant.pod == "other"
    ]
