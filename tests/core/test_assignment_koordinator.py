"""Koordinator's `resource-status`: what it decides, what is wrong with it, who runs where."""

import json
from dataclasses import replace

import pytest

from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.pods import QosClass
from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS, assignment
from numa_agent.core.schedulers.koordinator.assignment import Pool, Qos, decided, pool, qos
from tests.machine_tree import cpus, pod


def nodes(*given: tuple[int, dict[str, object]], cpuset: str | None = None) -> str:
    """A resource-status in which nodes give resources."""
    listed = [{"node": node, "resources": resources} for node, resources in given]
    first = {} if cpuset is None else {"cpuset": cpuset}
    return json.dumps({**first, "numaNodeResources": listed})


def placement(value: str) -> Placement | None:
    said = decided({RESOURCE_STATUS: value})
    return None if said is None else said.of("any")


def refusal(value: str) -> str:
    with pytest.raises(AssignmentError) as caught:
        decided({RESOURCE_STATUS: value})
    assert caught.value.code == "malformed"
    assert str(caught.value).startswith(f"{RESOURCE_STATUS} {value!r}: ")
    return str(caught.value).removeprefix(f"{RESOURCE_STATUS} {value!r}: ")


@pytest.mark.parametrize(
    ("value", "cpu_list"),
    [
        ('{"cpuset": "2-3"}', "2-3"),
        ('{"cpuset":"0,2-4,96-98"}', "0,2-4,96-98"),
        ('{"cpuset": "3,2", "numaNodeResources": [{"node": 0}]}', "2-3"),
        ('{"cpuset": "1", "fieldOfALaterVersion": {"x": [1]}}', "1"),
    ],
)
def test_the_cpu_set_is_every_container_s(value: str, cpu_list: str) -> None:
    said = assignment({"other": "x", RESOURCE_STATUS: value})
    assert said == Assignment(source=RESOURCE_STATUS, pod=Placement(cpus=cpus(cpu_list)))
    assert said.cpus == said.of("sidecar").cpus == cpus(cpu_list)


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
        {RESOURCE_STATUS: '{"numaNodeResources": []}'},
        {RESOURCE_STATUS: '{"numaNodeResources": null}'},
        {RESOURCE_STATUS: '{"numaNodeResources": [{"node": 1, "resources": null}]}'},
        # Case 08 A: devices of a node bind no CPUs.
        {RESOURCE_STATUS: nodes((1, {"nvidia.com/gpu": "1"}))},
        {RESOURCE_STATUS: nodes((1, {"cpu": "0", "memory": "0"}))},
    ],
)
def test_what_gives_neither_cpus_nor_memory_is_no_assignment(annotations: dict[str, str]) -> None:
    assert decided(annotations) is None
    assert assignment(annotations) is None


@pytest.mark.parametrize(
    "resources",
    [
        {"cpu": "4"},
        {"cpu": 4},
        {"cpu": "100m"},
        {"cpu": 0.5},
        {"kubernetes.io/batch-cpu": "4000"},
        {"cpu": "0", "kubernetes.io/batch-cpu": "1"},
    ],
)
def test_cpu_time_of_a_node_binds_to_it_and_to_its_memory(resources: dict[str, object]) -> None:
    # Cases 08 B and D, and 53.
    found = placement(nodes((1, resources)))
    assert found == Placement(nodes=frozenset({1}), mems=frozenset({1}))


def test_a_node_that_is_not_on_the_machine_is_still_what_was_decided() -> None:
    # Case 08 E: whether node 7 is there can't be told from the annotation.
    assert placement(nodes((7, {"cpu": "4"}))) == Placement(
        nodes=frozenset({7}), mems=frozenset({7})
    )


def test_shared_cpus_are_those_of_all_nodes_named_once_any_gives_cpu_time() -> None:
    found = placement(nodes((0, {"cpu": "2"}), (1, {"nvidia.com/gpu": "1"})))
    assert found == Placement(nodes=frozenset({0, 1}), mems=frozenset({0}))


def test_a_node_that_gives_only_memory_is_a_memory_node() -> None:
    for resource in ("memory", "hugepages-2Mi", "hugepages-1Gi", "kubernetes.io/batch-memory"):
        assert placement(nodes((1, {resource: "4Gi"}))) == Placement(mems=frozenset({1}))
    assert assignment({RESOURCE_STATUS: nodes((1, {"memory": "4Gi"}))}) is None


def test_memory_is_where_it_is_given_and_not_where_the_cpus_are() -> None:
    found = placement(nodes((0, {"cpu": "2", "memory": "0"}), (2, {"memory": "1Gi"})))
    assert found == Placement(nodes=frozenset({0, 2}), mems=frozenset({2}))


def test_a_cpu_set_comes_before_the_shared_cpus_of_nodes() -> None:
    found = placement(nodes((1, {"cpu": "2", "memory": "4Gi"}), cpuset="2,6"))
    assert found == Placement(cpus=cpus("2,6"), mems=frozenset({1}))


@pytest.mark.parametrize(
    "value",
    [
        *("", "cpuset", "{", '{"cpuset": "2-3"', "{'cpuset': '2-3'}", '{"cpuset": "2-3"} x'),
        *("null", "[]", '"2-3"', "7", '["cpuset"]', '[{"cpuset": "2-3"}]'),
        *('{"cpuset": null}', '{"cpuset": 2}', '{"cpuset": ["2-3"]}', '{"cpuset": {"a": 1}}'),
        *('{"cpuset": "all"}', '{"cpuset": "3-2"}', '{"cpuset": "-1"}', '{"cpuset": "0-"}'),
        *('{"cpuset": "0,,1"}', '{"cpuset": "0-4294967295"}', '{"cpuset": "0x3"}'),
        *('{"cpuset": "\\ud800"}', '{"cpuset": "٣"}', '{"cpuset": "2-3 "}', '{"cpuset": "2-3,"}'),
        *(
            '{"cpuset": "0-6:2"}',
            '{"cpuset": "0-7:1/4"}',
            '{"cpuset": "65536"}',
            '{"Cpuset": "2"}',
        ),
        '{"cpuset": "2-3", "cpuset": "2-3"}',
        '{"cpuset": "2-3",}',
        '{"cpuset": "2-3", "other": NaN}',
    ],
)
def test_words_that_are_no_cpu_set_are_refused_and_shown(value: str) -> None:
    assert refusal(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            '{"cpuset": "2-3",}',
            "line 1, column 17: a comma before }, where JSON allows none: remove it",
        ),
        ('{"cpuset": "0,3-2"}', "cpuset: character 3 of '0,3-2': '3-2' ends before it starts"),
        (
            '{"cpuset": "all"}',
            "cpuset: character 1 of 'all': 'all' isn't a number or a range such as 0-3",
        ),
        (
            '{"cpuset": "0,-1"}',
            "cpuset: character 3 of '0,-1': '-1' is negative or lacks its start",
        ),
        (
            '{"cpuset": "0-6:2"}',
            "cpuset: character 1 of '0-6:2': '0-6:2' has a stride, which assignments can't have",
        ),
        (
            '{"cpuset": "1,"}',
            "cpuset: character 3 of '1,': nothing between two commas, or a comma at an end",
        ),
        ('{"cpuset": "0-70000"}', "cpuset: character 1 of '0-70000': '0-70000' is beyond 65535"),
        (
            '{"cpuset": "' + ",".join(["0-65535"] * 5) + '"}',
            "cpuset: character 33 of '0-65535,0-65535,0-65535,0-65535,0-65535':"
            " more than 262144 ids are named",
        ),
    ],
)
def test_a_refusal_tells_what_to_mend_and_where(value: str, message: str) -> None:
    assert refusal(value) == message


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("1", "numaNodeResources[1]: 1 isn't an object"),
        ("{}", "numaNodeResources[1]: it has no node"),
        ('{"node": "1"}', "numaNodeResources[1].node: '1' isn't a whole number"),
        ('{"node": true}', "numaNodeResources[1].node: true isn't a whole number"),
        ('{"node": 1.5}', "numaNodeResources[1].node: 1.5 isn't a whole number"),
        ('{"node": -1}', "numaNodeResources[1].node: -1 isn't from 0 to 65535"),
        ('{"node": 65536}', "numaNodeResources[1].node: 65536 isn't from 0 to 65535"),
        (
            '{"node": 1, "resources": []}',
            "numaNodeResources[1].resources: an array isn't an object",
        ),
        (
            '{"node": 1, "resources": {"x.y/z": "many"}}',
            "numaNodeResources[1].resources['x.y/z']: not a quantity: 'many' (expected something"
            " like 100m or 2Gi)",
        ),
        (
            '{"node": 1, "resources": {"cpu": true}}',
            "numaNodeResources[1].resources.cpu: true isn't a quantity",
        ),
        (
            '{"node": 1, "resources": {"cpu": "-1"}}',
            "numaNodeResources[1].resources.cpu: '-1' is negative",
        ),
    ],
)
def test_a_node_that_cannot_be_read_costs_the_whole_assignment(entry: str, message: str) -> None:
    assert (
        refusal(f'{{"cpuset": "2-3", "numaNodeResources": [{{"node": 0}}, {entry}]}}') == message
    )


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "value",
    ["[" * 100_000, '{"a":' * 100_000, '{"cpuset": ' + "9" * 10_000 + "}", "x" * 200_000],
)
def test_words_of_any_depth_or_length_are_refused_in_a_short_message(value: str) -> None:
    with pytest.raises(AssignmentError) as caught:
        assignment({RESOURCE_STATUS: value})
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("label", "found"),
    [
        *((name, Qos(name)) for name in ("LSE", "LSR", "LS", "BE", "SYSTEM", "")),
        *((name, Qos.NONE) for name in ("lsr", "LSX", "Guaranteed")),
    ],
)
def test_the_class_is_the_label_s_where_it_is_a_known_word(label: str, found: Qos) -> None:
    assert qos({"koordinator.sh/qosClass": label}) is found
    assert qos({}) is Qos.NONE


OWN = Placement(cpus=cpus("2-3"))
NODE = Placement(nodes=frozenset({1}))
NOTHING = Placement(mems=frozenset({1}))


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("label", list(Qos))
@pytest.mark.parametrize("kube", list(QosClass))
def test_a_cpu_set_is_followed_whatever_the_pod_s_class(
    label: Qos, kube: QosClass, static: bool
) -> None:
    assert where(label, OWN, kube=kube, static=static) is Pool.OWN


@pytest.mark.parametrize(
    ("label", "decision", "kube", "found"),
    [
        # Case 08 C: a pod of class SYSTEM is bound to the node.
        (Qos.SYSTEM, NODE, QosClass.BURSTABLE, Pool.SHARED),
        (Qos.LS, NODE, QosClass.BURSTABLE, Pool.SHARED),
        (Qos.NONE, NODE, QosClass.BEST_EFFORT, Pool.SHARED),
        (Qos.BE, NODE, QosClass.BEST_EFFORT, Pool.BEST_EFFORT),
        (Qos.SYSTEM, NOTHING, QosClass.BEST_EFFORT, Pool.SYSTEM),
        (Qos.LS, NOTHING, QosClass.BEST_EFFORT, Pool.SHARED),
        (Qos.BE, NOTHING, QosClass.BEST_EFFORT, Pool.BEST_EFFORT),
        (Qos.NONE, NOTHING, QosClass.BEST_EFFORT, Pool.BEST_EFFORT),
        (Qos.NONE, NOTHING, QosClass.GUARANTEED, Pool.SHARED),
        (Qos.LSR, NOTHING, QosClass.BURSTABLE, Pool.SHARED),
    ],
)
def test_the_first_rule_that_fits_says_where_a_container_runs(
    label: Qos, decision: Placement, kube: QosClass, found: Pool
) -> None:
    assert where(label, decision, kube=kube) is found


def test_without_cpus_set_aside_a_pod_of_class_system_is_like_one_without_a_class() -> None:
    assert where(Qos.SYSTEM, NOTHING, system="") is Pool.SHARED


def test_pods_that_koordinator_says_nothing_of_are_kubelet_s_under_its_static_policy() -> None:
    assert where(Qos.NONE, NOTHING, static=True) is Pool.KUBELET
    assert where(Qos.LSR, NOTHING, static=True) is Pool.KUBELET
    assert where(Qos.LS, NOTHING, static=True) is Pool.SHARED
    assert where(Qos.NONE, NODE, static=True) is Pool.SHARED


def where(
    label: Qos,
    decision: Placement,
    *,
    kube: QosClass = QosClass.GUARANTEED,
    static: bool = False,
    system: str = "0-1",
) -> Pool:
    labelled = replace(pod(1, qos=kube), labels={"koordinator.sh/qosClass": label.value})
    return pool(labelled, decision, kubelet_static=static, system_cpus=cpus(system))
