"""The admin's annotations on the Node: copied, made concrete, or refused with a word."""

import json
from typing import Any

import pytest

from numa_agent.core.cpulist import render
from numa_agent.core.schedulers.koordinator import publish
from numa_agent.core.schedulers.koordinator.cpus import numbered
from numa_agent.core.schedulers.koordinator.taking import take
from numa_agent.core.topology import Topology
from numa_agent.core.view import View
from tests.consumers.koordinator_machines import TWO_SOCKETS, topology, view
from tests.machine_tree import numa_node

RESERVATION = "node.koordinator.sh/reservation"
SYSTEM_QOS = "node.koordinator.sh/system-qos-resource"


def annotation(seen: View, key: str) -> Any:
    """An annotation's text."""
    (nrt,) = publish(seen).manifests
    metadata: Any = nrt["metadata"]
    return metadata["annotations"][key]


@pytest.mark.parametrize(
    ("key", "said", "told"),
    [
        (RESERVATION, '{"reservedCPUs": "5,0-1"}', '{"reservedCPUs":"0-1,5"}'),
        (
            RESERVATION,
            '{"applyPolicy": "ReservedCPUsOnly", "reservedCPUs": "0"}',
            '{"reservedCPUs":"0","applyPolicy":"ReservedCPUsOnly"}',
        ),
        (
            RESERVATION,
            '{"resources": {"memory": "2Gi", "cpu": 1.5}}',
            '{"resources":{"cpu":"1.5","memory":"2Gi"},"reservedCPUs":"0,4"}',
        ),
        (
            RESERVATION,
            '{"resources": {"cpu": "4"}, "reservedCPUs": "7"}',
            '{"resources":{"cpu":"4"},"reservedCPUs":"7"}',
        ),
        (RESERVATION, '{"resources": {"cpu": "0"}}', '{"resources":{"cpu":"0"}}'),
        (SYSTEM_QOS, '{"cpuset": "3,2"}', '{"cpuset":"2-3"}'),
        (
            SYSTEM_QOS,
            '{"cpusetExclusive": false, "cpuset": "2"}',
            '{"cpuset":"2","cpusetExclusive":false}',
        ),
        *((key, said, "{}") for key in (RESERVATION, SYSTEM_QOS) for said in ("{}", "", "null")),
    ],
)
def test_an_annotation_is_told_in_its_agent_s_form(key: str, said: str, told: str) -> None:
    seen = view(annotations={key: said})
    assert annotation(seen, key) == told
    assert publish(seen).conditions == ()


@pytest.mark.parametrize("key", [RESERVATION, SYSTEM_QOS])
@pytest.mark.parametrize(
    "said",
    [
        *("{", "[]", "7", '"0-1"', "[" * 100_000),
        *('{"reservedCPUs": 3, "cpuset": 3}', '{"reservedCPUs": "3-1", "cpuset": "3-1"}'),
        '{"reservedCPUs": "all", "cpuset": "all"}',
    ],
)
def test_one_that_can_t_be_understood_costs_itself_and_a_word(key: str, said: str) -> None:
    seen = view(annotations={key: said})
    assert annotation(seen, key) == "{}"
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-annotation-refused"
    assert condition.subject == "n1"
    assert key in condition.message
    assert len(condition.message) < 600


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (RESERVATION, '{"resources": {"cpu": "many"}}'),
        (RESERVATION, '{"resources": {"cpu": true}}'),
        (RESERVATION, '{"resources": {"cpu": NaN}}'),
        (RESERVATION, '{"resources": ["cpu"]}'),
        (RESERVATION, '{"resources": {"cpu": "9"}}'),
        (RESERVATION, '{"applyPolicy": "Sometimes"}'),
        (SYSTEM_QOS, '{"cpuset": "1", "cpusetExclusive": "no"}'),
    ],
)
def test_a_bad_member_costs_the_annotation(key: str, said: str) -> None:
    seen = view(annotations={key: said})
    assert annotation(seen, key) == "{}"
    assert [c.code for c in publish(seen).conditions] == ["koordinator-annotation-refused"]


def test_both_can_be_refused_and_the_rest_is_told() -> None:
    rendering = publish(view(annotations={RESERVATION: "{", SYSTEM_QOS: "{"}))
    assert len(rendering.conditions) == 2
    assert len(rendering.manifests) == 1


def test_a_lone_surrogate_in_a_text_of_the_admin_s_is_escaped() -> None:
    said = '{"resources": {"\\ud800": "1"}}'
    text = annotation(view(annotations={RESERVATION: said}), RESERVATION)
    assert json.loads(text.encode("utf-8")) == {"resources": {"\ud800": "1"}}


UNEVEN = topology(
    numa_node(0, "0-3,8-11"),
    numa_node(1, "4-5,12-13"),
    numa_node(2, "6-7,14-15"),
    cores="0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15",
    packages="0-3,8-11 4-7,12-15",
)
"""Two sockets of eight CPUs; the second is two nodes."""

ODD = topology(numa_node(0, "0-2"), cores="0,2 1", packages="0-2")
"""Three CPUs, of which two share a core: one each by the whole-number average."""


SPLIT = topology(
    numa_node(0, "0-1"),
    numa_node(1, "2-3"),
    numa_node(2, "4-5"),
    cores="0 1 2 3 4 5",
    packages="0-2 3-5",
)
"""Two sockets of three CPUs, and a node that is of both."""


@pytest.mark.parametrize(
    ("machine", "count", "taken"),
    [
        (TWO_SOCKETS, 0, ""),
        (TWO_SOCKETS, 1, "0"),
        (TWO_SOCKETS, 2, "0,4"),
        (TWO_SOCKETS, 3, "0-1,4"),
        (TWO_SOCKETS, 4, "0-1,4-5"),
        (TWO_SOCKETS, 5, "0-2,4-5"),
        (TWO_SOCKETS, 8, "0-7"),
        # A whole node of the second socket rather than half of the first.
        (UNEVEN, 4, "4-5,12-13"),
        (UNEVEN, 6, "4-6,12-14"),
        (UNEVEN, 8, "0-3,8-11"),
        (UNEVEN, 12, "0-5,8-13"),
        # After the first socket, the node that is still whole rather than the one that isn't.
        (SPLIT, 5, "0-2,4-5"),
        (SPLIT, 4, "0-3"),
        (ODD, 1, "1"),
        (ODD, 2, "0-1"),
    ],
)
def test_a_count_of_cpus_is_whole_sockets_then_nodes_then_cores_then_cpus(
    machine: Topology, count: int, taken: str
) -> None:
    assert render(take(numbered(machine), count)) == taken


def test_more_cpus_than_there_are_can_t_be_taken() -> None:
    with pytest.raises(ValueError, match=r"9 CPUs can't be reserved of 8 \(0-7\)"):
        take(numbered(TWO_SOCKETS), 9)
