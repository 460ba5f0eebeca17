"""Koordinator's `resource-status` annotation: the CPU set in it, or what is wrong with it."""

import json

import pytest

from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS, assignment
from tests.machine_tree import cpus


@pytest.mark.parametrize(
    ("value", "cpu_list"),
    [
        ('{"cpuset": "2-3"}', "2-3"),
        ('{"cpuset":"0,2-4,96-98"}', "0,2-4,96-98"),
        ('{"cpuset": "3,2", "numaNodeResources": [{"node": 0}]}', "2-3"),
        ('{"cpuset": "1", "fieldOfALaterVersion": {"x": [1]}}', "1"),
    ],
)
def test_the_cpu_set_is_the_assignment(value: str, cpu_list: str) -> None:
    said = assignment({"other": "x", RESOURCE_STATUS: value})
    assert said == Assignment(cpus=cpus(cpu_list), source=RESOURCE_STATUS)


def test_the_annotation_is_the_one_that_koord_scheduler_writes() -> None:
    assert RESOURCE_STATUS == "scheduling.koordinator.sh/resource-status"


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"scheduling.koordinator.sh/resource-spec": '{"cpuset": "2-3"}'},
        {RESOURCE_STATUS: "{}"},
        # Case 02: an empty set means that there is nothing to do.
        {RESOURCE_STATUS: '{"cpuset": ""}'},
        {RESOURCE_STATUS: '{"cpuset": "  "}'},
        # Case 08: devices of a node bind no CPUs.
        {
            RESOURCE_STATUS: json.dumps(
                {"numaNodeResources": [{"node": 1, "resources": {"nvidia.com/gpu": "1"}}]}
            )
        },
    ],
)
def test_without_a_cpu_set_there_is_no_assignment(annotations: dict[str, str]) -> None:
    assert assignment(annotations) is None


@pytest.mark.parametrize(
    "value",
    [
        *("", "cpuset", "{", '{"cpuset": "2-3"', "{'cpuset': '2-3'}", '{"cpuset": "2-3"} x'),
        *("null", "[]", '"2-3"', "7", '["cpuset"]', '[{"cpuset": "2-3"}]'),
        *('{"cpuset": null}', '{"cpuset": 2}', '{"cpuset": ["2-3"]}', '{"cpuset": {"a": 1}}'),
        *('{"cpuset": "all"}', '{"cpuset": "3-2"}', '{"cpuset": "-1"}', '{"cpuset": "0-"}'),
        *('{"cpuset": "0,,1"}', '{"cpuset": "0-4294967295"}', '{"cpuset": "0x3"}'),
        '{"cpuset": "\\ud800"}',
    ],
)
def test_words_that_are_no_cpu_set_are_refused_and_shown(value: str) -> None:
    with pytest.raises(AssignmentError) as caught:
        assignment({RESOURCE_STATUS: value})
    assert str(caught.value).startswith(f"{RESOURCE_STATUS} {value!r}")


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "value",
    ["[" * 100_000, '{"a":' * 100_000, '{"cpuset": ' + "9" * 10_000 + "}", "x" * 200_000],
)
def test_words_of_any_depth_or_length_are_refused_in_a_short_message(value: str) -> None:
    with pytest.raises(AssignmentError) as caught:
        assignment({RESOURCE_STATUS: value})
    assert len(str(caught.value)) < 500
