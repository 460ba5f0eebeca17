"""ACK's `cpuset` by container and NUMA node, its switch, and both numa-topology-specs."""

import json

import pytest

from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.schedulers.ack_assignment import (
    CPUSET,
    SCHEDULER,
    TOPOLOGY_SPECS,
    TopologySpec,
    assignment,
    topology_specs,
)
from tests.machine_tree import cpus


def said(value: str, switch: str = "true") -> Assignment | None:
    return assignment({SCHEDULER: switch, CPUSET: value})


def refusal(value: str) -> str:
    with pytest.raises(AssignmentError) as caught:
        said(value)
    shown = f"{CPUSET} {value!r}: "
    assert str(caught.value).startswith(shown)
    return str(caught.value).removeprefix(shown)


@pytest.mark.parametrize("switch", ["true", "required"])
def test_the_documented_example_gives_its_container_cpus(switch: str) -> None:
    found = said('{"nginx":{"0":{"elems":{"0":{},"1":{},"2":{},"3":{}}}}}', switch)
    place = Placement(cpus=cpus("0-3"), mems=frozenset({0}))
    assert found == Assignment(source="cpuset", containers={"nginx": place})


def test_each_container_has_its_own_cpus_and_one_that_is_not_named_none() -> None:
    found = said(
        json.dumps(
            {
                "web": {"0": {"elems": {"2": {}}}, "1": {"elems": {"40": {}, "41": {}}}},
                "log": {"1": {"elems": {"42": {}}, "laterMember": 1}},
            }
        )
    )
    assert found is not None
    assert found.of("web") == Placement(cpus=cpus("2,40-41"), mems=frozenset({0, 1}))
    assert found.of("log") == Placement(cpus=cpus("42"), mems=frozenset({1}))
    assert found.of("injected") == Placement()
    assert found.cpus == cpus("2,40-42")


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        # The bare key may be anybody's.
        {CPUSET: "0-3"},
        {CPUSET: '{"nginx":{"0":{"elems":{"0":{}}}}}'},
        # Before its scheduler has decided.
        {SCHEDULER: "required"},
        {SCHEDULER: "true", CPUSET: "{}"},
        {SCHEDULER: "true", CPUSET: '{"nginx": {}}'},
        {SCHEDULER: "true", CPUSET: '{"nginx": {"0": {"elems": {}}}}'},
    ],
)
def test_without_the_switch_or_any_cpu_there_is_no_assignment(annotations: dict[str, str]) -> None:
    assert assignment(annotations) is None


@pytest.mark.parametrize("switch", ["false", "prefer", "preferred", "True", "", "x" * 5000])
def test_a_switch_that_is_not_documented_is_refused_with_what_is(switch: str) -> None:
    with pytest.raises(AssignmentError) as caught:
        assignment({SCHEDULER: switch})
    assert str(caught.value).startswith(f"{SCHEDULER} {switch[:200]!r}")
    assert "documented are only 'true' (the older feature) and 'required'" in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0-3", "line 1, column 2: Extra data"),
        ("[]", "an array isn't an object"),
        ('{"a": "0-3"}', "a: '0-3' isn't an object"),
        ('{"a": {"0": ["0"]}}', "a.0: an array isn't an object"),
        ('{"a": {"0": {"cpus": "0"}}}', "a.0: it has no elems"),
        ('{"a": {"0": {"Elems": {}}}}', "a.0.Elems: this member is written 'elems'"),
        ('{"a": {"0": {"elems": ["0"]}}}', "a.0.elems: an array isn't an object"),
        ('{"a": {"0": {"elems": {"0": true}}}}', "a.0.elems.0: true isn't an object"),
        (
            '{"a": {"0": {"elems": {"-1": {}}}}}',
            "a.0.elems.-1: '-1' isn't an id from 0 to 65535",
        ),
        (
            '{"a": {"0": {"elems": {"0-3": {}}}}}',
            "a.0.elems.0-3: '0-3' isn't an id from 0 to 65535",
        ),
        ('{"a": {"0": {"elems": {"00": {}}}}}', "a.0.elems.00: '00' isn't an id from 0 to 65535"),
        (
            '{"a": {"0": {"elems": {"70000": {}}}}}',
            "a.0.elems.70000: '70000' isn't an id from 0 to 65535",
        ),
        ('{"a": {"x": {"elems": {"0": {}}}}}', "a.x: 'x' isn't an id from 0 to 65535"),
        (
            '{"a": {"0": {"elems": {"1": {}}}, "1": {"elems": {"1": {}}}}}',
            "a.1.elems.1: this CPU is in two NUMA nodes",
        ),
        (
            '{"a": {"0": {"elems": {"1": {}, "1": {}}}}}',
            "a.0.elems: member '1' is given more than once",
        ),
        (
            '{"a": {"0": {"elems": {"1": {},}}}}',
            "line 1, column 31: a comma before }, where JSON allows none: remove it",
        ),
    ],
)
def test_a_cpuset_of_another_shape_is_refused_at_its_place(value: str, message: str) -> None:
    assert refusal(value) == message


@pytest.mark.parametrize("key", TOPOLOGY_SPECS)
@pytest.mark.parametrize(
    ("value", "policy", "exclusive"),
    [
        (
            '{"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"}',
            "SingleNUMANode",
            "Preferred",
        ),
        ('{"numaTopologyPolicy": "Restricted"}', "Restricted", None),
        ('{"numaTopologyPolicy": "BestEffort", "laterMember": 1}\n', "BestEffort", None),
        ('{"numaTopologyPolicy": "", "singleNUMANodeExclusive": "Required"}', None, "Required"),
        ("{}", None, None),
    ],
)
def test_what_was_asked_for_is_read_from_either_key(
    key: str, value: str, policy: str | None, exclusive: str | None
) -> None:
    expected = TopologySpec(source=key, policy=policy, exclusive=exclusive)
    assert topology_specs({key: value, "other": "x"}) == (expected,)


def test_without_a_spec_nothing_was_asked_for() -> None:
    assert topology_specs({}) == ()


def test_a_pod_may_say_what_it_asks_for_in_both_keys() -> None:
    found = topology_specs(dict.fromkeys(TOPOLOGY_SPECS, '{"numaTopologyPolicy": "Restricted"}'))
    assert [spec.source for spec in found] == list(TOPOLOGY_SPECS)


@pytest.mark.parametrize("key", TOPOLOGY_SPECS)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            '{"numaTopologyPolicy": "SingleNUMANode",}',
            "line 1, column 40: a comma before }, where JSON allows none: remove it",
        ),
        (
            '{"numaTopologyPolicy": "SingleNumaNode"}',
            "numaTopologyPolicy: 'SingleNumaNode' isn't known; did you mean 'SingleNUMANode'?",
        ),
        (
            '{"singleNUMANodeExclusive": "yes"}',
            "singleNUMANodeExclusive: 'yes' isn't known; known are Required, Preferred",
        ),
        (
            '{"numaTopologyPolicy": true}',
            "numaTopologyPolicy: true isn't a string (in quotes)",
        ),
        (
            '{"NumaTopologyPolicy": "Restricted"}',
            "NumaTopologyPolicy: this member is written 'numaTopologyPolicy'",
        ),
        ("SingleNUMANode", "line 1, column 1: Expecting value"),
        ("", "it is empty"),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused_at_its_place(
    key: str, value: str, message: str
) -> None:
    with pytest.raises(AssignmentError) as caught:
        topology_specs({key: value})
    assert str(caught.value) == f"{key} {value!r}: {message}"
