"""What is read of a pod's metadata is kept, and nothing else that anybody may write there."""

import json
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core import pod_keys
from numa_agent.core.assignment import AssignmentError
from numa_agent.core.cpusets import ALLOW_ISOLATED, BIND
from numa_agent.core.decision import LANGUAGES, decide, untrusted
from numa_agent.core.list_items import ListItems
from numa_agent.core.pod_entries import listed_entry
from numa_agent.core.podstore import PodStore, listed
from numa_agent.core.recording.annotations import POD_ANNOTATIONS
from numa_agent.core.requests import MOST_CONTAINERS
from numa_agent.core.schedulers import ack_assignment
from numa_agent.core.schedulers.koordinator.assignment import Qos, qos
from numa_agent.core.strict_json import MAX_LENGTH
from tests.cluster.pod_server import pod, pod_list
from tests.machine_tree import pod as machine_pod

KIB = 1024
MOST_KIB = 400
"""That one pod may keep, whatever is in it; it is 3 for an ordinary one."""

API_ANNOTATIONS = 256 * KIB
"""The bytes that the API server takes of all annotations of an object."""


def test_every_key_that_decides_is_one_of_a_language_and_the_other_way_round() -> None:
    assert set(pod_keys.DECIDING) == set(LANGUAGES)


def test_a_reader_finds_no_key_that_is_not_in_the_list() -> None:
    """So that a new reader's first test fails until its key is there."""
    known = {BIND, ALLOW_ISOLATED, ack_assignment.SCHEDULER, *ack_assignment.TOPOLOGY_SPECS}
    assert known < pod_keys.ANNOTATIONS
    odd = {"a": "b", "numa-agent.io/new": "1", "kubernetes.io/config.source": "file"}
    found = replace(
        machine_pod(1),
        annotations=odd | dict.fromkeys(pod_keys.ANNOTATIONS, "1"),
        labels=odd | dict.fromkeys(pod_keys.LABELS, "LS"),
    )
    assert found.annotations.keys() == pod_keys.ANNOTATIONS
    assert found.labels.keys() == pod_keys.LABELS
    assert qos(found.labels) is Qos.LS
    assert replace(found, name="other").annotations is found.annotations


def test_what_a_recording_keeps_is_what_is_read() -> None:
    assert all(POD_ANNOTATIONS.value(key) for key in pod_keys.ANNOTATIONS)
    assert POD_ANNOTATIONS.value("a") is None
    crio = "cpu-quota.crio.io/app"
    assert POD_ANNOTATIONS.value(crio) is not None
    assert pod_keys.crio_binds(crio, "disable")


def test_of_crio_s_annotations_the_first_that_binds_is_kept() -> None:
    found = {f"cpu-quota.crio.io/{name}": "disable" for name in ("b", "a", "c")}
    found |= {"cpu-load-balancing.crio.io": "enable"}
    assert pod_keys.kept_annotations(found) == {"cpu-quota.crio.io/a": "disable"}


def test_a_text_that_is_too_long_is_refused_as_before_and_kept_in_part() -> None:
    text = '{"version": 1, "cpus": "' + "1," * MAX_LENGTH + '1"}'
    found = replace(machine_pod(1), annotations={pod_keys.ASSIGNMENT: text})
    assert len(found.annotations[pod_keys.ASSIGNMENT]) == MAX_LENGTH + 1
    with pytest.raises(AssignmentError, match=f"it is longer than {MAX_LENGTH} characters"):
        decide(found)


def test_a_mark_is_kept_up_to_what_the_agent_writes_itself() -> None:
    for key in pod_keys.MARKS:
        for length in (pod_keys.MARK_LENGTH, pod_keys.MARK_LENGTH + 1, MAX_LENGTH):
            found = replace(machine_pod(1), annotations={key: "x" * length})
            assert len(found.annotations[key]) == min(length, pod_keys.MARK_LENGTH + 1)


def owners(*keys: str, manager: str = "m") -> dict[str, Any]:
    owned: dict[str, Any] = {f"f:{key}": {} for key in keys}
    fields = {"f:metadata": {"f:annotations": owned}}
    return {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}


def test_who_is_trusted_is_told_the_same_by_what_is_kept() -> None:
    fields = [owners("a", "cpuset", manager="x"), owners("a", pod_keys.ASSIGNMENT, manager="y")]
    (found,) = store_of(pod(1, managedFields=fields)).read(None).pods
    for trusted in (("x",), ("y",), ("z",), ("x", "y")):
        assert untrusted(found.managed_fields, trusted) == untrusted(fields, trusted)


def store_of(*pods: dict[str, Any]) -> PodStore:
    return _listed(json.dumps(pod_list(10, *pods)).encode())


def _listed(text: bytes) -> PodStore:
    """A list as it comes from the server."""
    items = ListItems(len(text))
    pods = [listed_entry(each) for each in items.feed(text)]
    return listed({**json.loads(items.frame), "items": pods}, None)


def test_news_is_a_change_of_what_is_read() -> None:
    store = store_of(pod(1, annotations={"cpuset": "{}"}, labels={"a": "b"}))
    same: list[Mapping[str, Any]] = [
        {"annotations": {"cpuset": "{}", "status": '{"xlog_location": 1}'}},
        {"labels": {"a": "c"}},
        {"managedFields": [owners("a")]},
    ]
    for version, change in enumerate(same, 11):
        item = pod(1, version, **{"annotations": {"cpuset": "{}"}, **change})
        after = store.after({"type": "MODIFIED", "object": item})
        assert not after.differs(store)
        assert after.version == str(version)
        store = after
    news: list[Mapping[str, Any]] = [
        {"annotations": {"cpuset": "{} "}},
        {"annotations": {"cpuset": "{}", BIND: "off"}},
        {"annotations": {"cpuset": "{}", pod_keys.ASSIGNED: "{}"}},
        {"labels": {"koordinator.sh/qosClass": "LS"}},
        {"managedFields": [owners("cpuset")]},
    ]
    for version, change in enumerate(news, 20):
        item = pod(1, version, **{"annotations": {"cpuset": "{}"}, **change})
        assert store.after({"type": "MODIFIED", "object": item}).differs(store)


def _status(number: int) -> dict[str, Any]:
    return {"name": f"c{number}", "containerID": f"containerd://{number:064x}", "state": {}}


def _annotated(annotations: Mapping[str, str]) -> dict[str, Any]:
    assert sum(len(key) + len(value.encode()) for key, value in annotations.items()) <= (
        API_ANNOTATIONS
    )
    return pod(1, annotations=annotations)


def _specified(group: str, containers: list[Any]) -> dict[str, Any]:
    return pod(1) | {"spec": {group: containers}}


def _reported(group: str) -> dict[str, Any]:
    item = pod(1)
    item["status"][group] = [_status(number) for number in range(10_000)]
    return item


MANY = range(API_ANNOTATIONS // 6)
CRIO = "cpu-quota.crio.io/"
HEAVY = {
    "annotations": _annotated({f"{number:05x}": "" for number in MANY}),
    "a long one": _annotated({"x": "y" * (API_ANNOTATIONS - 1)}),
    "a long one that is read": _annotated({"cpuset": "y" * (API_ANNOTATIONS - 6)}),
    "one with another alphabet": _annotated({"cpuset": "\U0001f600" + "y" * 260_000}),
    "those of CRI-O": _annotated({f"{CRIO}{n:06}": "no" for n in range(10_000)}),
    "labels": pod(1, labels={f"{number:05x}": "" for number in MANY}),
    "an owner of many": pod(1, managedFields=[owners("cpuset", *(f"{n:05x}" for n in MANY))]),
    "many owners": pod(
        1, managedFields=[owners("cpuset", manager=f"{n:0128}") for n in range(4000)]
    ),
    "containers": _specified("containers", [{"name": f"c{n}"} for n in range(10_000)]),
    "init containers": _specified("initContainers", [{"name": f"c{n}"} for n in range(10_000)]),
    "resources": _specified(
        "containers",
        [{"name": "c", "resources": {"requests": {f"x.y/{n}": "0" for n in range(50_000)}}}],
    ),
    "marks": _annotated(dict.fromkeys(pod_keys.MARKS, "y" * 100000)),
    "owners": pod(
        1,
        ownerReferences=[
            {"kind": "K", "name": f"{n:0253}", "controller": True} for n in range(999)
        ],
    ),
    "statuses": _reported("containerStatuses"),
    "init statuses": _reported("initContainerStatuses"),
    "ephemeral statuses": _reported("ephemeralContainerStatuses"),
}
"""Pods that an API server takes from anybody who may make one, each heavy in its own way."""


@pytest.mark.parametrize("name", HEAVY)
def test_a_pod_costs_little_memory_whatever_its_makers_wrote(name: str) -> None:
    text = json.dumps(pod_list(10, HEAVY[name])).encode()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        store = _listed(text)
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(store.read(None).pods) == 1
    assert kept < MOST_KIB * KIB


@pytest.mark.parametrize("group", ["containerStatuses", "initContainerStatuses"])
def test_containers_beyond_the_bound_are_named_as_left_alone(group: str) -> None:
    read = store_of(_reported(group)).read(None)
    assert len(read.pods[0].containers) == MOST_CONTAINERS
    assert read.problems == (
        f"pod default/p1: the containers after the first {MOST_CONTAINERS} are left alone",
    )


def test_of_very_many_requests_those_that_count_are_kept() -> None:
    requests = {f"x.y/{n:05}": "0" for n in range(50_000)}
    requests |= {"zz.z/gpu": "2", "cpu": "1", "memory": "1Gi"}
    item = _specified("containers", [{"name": "c", "resources": {"requests": requests}}])
    (found,) = store_of(item).read(None).pods
    effective = found.demands.effective()
    assert (effective["cpu"], effective["zz.z/gpu"]) == (1000, 2)
    assert effective["memory"] == 1 << 30
