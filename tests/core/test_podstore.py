"""What lists and events make of the pods of a node."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.pod_entries import Entry, entry_of
from numa_agent.core.pods import parse_pods
from numa_agent.core.podstore import PodStore, TurnedBackError, listed, lost_pods
from tests.cluster.pod_server import UID, pod, pod_list
from tests.core.annotations import JSON

HASH = "0123456789abcdef0123456789abcdef"


def event(kind: str, item: Any) -> dict[str, Any]:
    return {"type": kind, "object": item}


def names(store: PodStore, running: frozenset[str] | None = frozenset()) -> list[str]:
    return sorted(each.name for each in store.read(running).pods)


def mirror(number: int, version: int = 1) -> dict[str, Any]:
    """A static pod's mirror: its cgroup has the name of its configuration's hash."""
    annotations = {"kubernetes.io/config.mirror": HASH, "kubernetes.io/config.hash": HASH}
    return pod(number, version, annotations=annotations)


def test_a_list_is_read_by_the_rules_of_a_list() -> None:
    late = pod(1, 1)
    late["status"]["startTime"] = "2026-01-02T00:00:00Z"
    bad = pod(3, 1)
    bad["status"]["qosClass"] = "Best"
    twins = [mirror(4), mirror(5)]
    document = pod_list(10, late, pod(2, 1), bad, *twins)
    expected = parse_pods(document)
    found = listed(document, None).read(frozenset())
    assert [each.name for each in found.pods] == ["p2", "p1"]
    assert found.problems == expected.problems
    assert len(found.problems) == 3
    assert found.left_out


def test_a_list_that_says_the_same_is_the_same_object() -> None:
    before = listed(pod_list(10, pod(1), pod(2)), None)
    after = listed(pod_list(20, pod(2, 15), pod(1)), before)
    assert not after.differs(before)
    assert after.version == "20"


def test_only_who_owns_annotations_is_kept_of_the_managed_fields() -> None:
    annotations: Any = {
        "f:metadata": {"f:annotations": {".": {}, "f:a": {}}, "f:labels": {"f:b": {}}}
    }
    fields = [
        {"manager": "kubelet", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": "x", "operation": "Update", "time": "2026", "fieldsV1": annotations},
        "odd",
        {"manager": "y", "fieldsV1": {"f:metadata": []}},
    ]
    store = listed(pod_list(10, pod(1, managedFields=fields)), None)
    (found,) = store.read(None).pods
    kept: Any = {"f:metadata": {"f:annotations": {".": {}, "f:a": {}}}}
    assert found.managed_fields == ({"manager": "x", "operation": "Update", "fieldsV1": kept},)


def test_a_pod_that_is_made_anew_under_its_name_replaces_the_old_one() -> None:
    store = listed(pod_list(10, pod(1)), None)
    anew = pod(1, 12, uid=UID.format(99))
    store = store.after(event("ADDED", anew))
    assert [each.uid for each in store.read(None).pods] == [UID.format(99)]


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
def test_an_older_event_means_another_state(kind: str) -> None:
    store = listed(pod_list(10, pod(1)), None)
    with pytest.raises(TurnedBackError, match="9 came after 10"):
        store.after(event(kind, pod(1, 9)))


@pytest.mark.parametrize("version", ["abc", "٣", "-1", "1.0", "9" * 5000, "0x1"])
def test_versions_that_are_no_numbers_are_not_compared(version: str) -> None:
    store = listed(pod_list(10, pod(1)), None)
    after = store.after(event("BOOKMARK", {"metadata": {"resourceVersion": version}}))
    assert after.version == version
    assert after.after(event("BOOKMARK", pod(1, 3))).version == "3"


def test_what_a_list_lacks_is_held_as_long_as_it_has_a_cgroup() -> None:
    store = listed(pod_list(20, pod(2)), listed(pod_list(10, pod(1), pod(2)), None))
    assert names(store, None) == ["p1", "p2"]
    assert names(store, frozenset({UID.format(1)})) == ["p1", "p2"]
    assert names(store, frozenset({UID.format(2)})) == ["p2"]
    assert store.turned is None
    assert store.without_held(frozenset({UID.format(1)})).held == {}


def test_what_is_held_stays_so_over_further_lists_and_events() -> None:
    store = listed(pod_list(3), listed(pod_list(10, pod(1)), None))
    store = listed(pod_list(20), store)
    store = store.after(event("ADDED", pod(2, 21)))
    store = store.after(event("DELETED", pod(2, 22)))
    assert names(store, None) == ["p1"]
    assert store.turned == "10"


def test_a_finished_pod_and_one_that_became_unreadable_are_not_held() -> None:
    finished, unread = pod(1), pod(2)
    finished["status"]["phase"] = "Succeeded"
    before = listed(pod_list(10, finished, pod(2)), None)
    unread["status"]["qosClass"] = "Best"
    store = listed(pod_list(20, unread), before)
    assert store.held == {}
    assert store.read(None).left_out


@pytest.mark.parametrize("how", ["listed", "told"])
def test_a_new_mirror_of_a_static_pod_stands_for_the_held_one(how: str) -> None:
    """Both would claim one cgroup, and neither would be taken."""
    before = listed(pod_list(10, mirror(1)), None)
    if how == "listed":
        store = listed(pod_list(3, mirror(2, 2)), before)
    else:
        store = listed(pod_list(3), before).after(event("ADDED", mirror(2, 4)))
    read = store.read(None)
    assert [each.name for each in read.pods] == ["p2"]
    assert read.problems == ()


def test_a_deleted_pod_is_not_held() -> None:
    store = listed(pod_list(10, pod(1)), None).after(event("DELETED", pod(1, 11)))
    assert (names(store, None), store.held) == ([], {})


def test_lost_pods_are_named_up_to_a_few() -> None:
    before = listed(pod_list(10, *(pod(number) for number in range(7))), None)
    store = listed(pod_list(20), before)
    (said,) = lost_pods(store.held, store.turned, store.version)
    assert "7 pods run here" in said.message
    assert "default/p4, …" in said.message
    assert "by force" in said.message
    assert lost_pods({}, "1", "2") == ()


@given(document=JSON)
def test_a_list_of_any_shape_is_refused_or_read(document: Any) -> None:
    given_list = document if isinstance(document, dict) else {"kind": "PodList", "items": document}
    try:
        store = listed(given_list, None)
    except ValueError:
        return
    store.read(None)


@given(kind=st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", ""]) | JSON, item=JSON)
def test_an_event_of_any_shape_is_refused_or_read(kind: Any, item: Any) -> None:
    store = listed(pod_list(10, pod(1)), None)
    objects = [item, {"metadata": item}, {"metadata": {"resourceVersion": "11", "name": item}}]
    for each in objects:
        try:
            after = store.after(event(kind, each))
        except ValueError:
            continue
        after.read(None)


STATES = st.dictionaries(st.integers(0, 4), st.integers(0, 2), max_size=5)


@given(states=st.lists(STATES, min_size=1, max_size=6))
def test_events_lead_to_the_state_that_a_list_would_have_given(
    states: list[dict[int, int]],
) -> None:
    def item(number: int, value: int, version: int) -> dict[str, Any]:
        return pod(number, version, annotations={"a": str(value)})

    def whole(state: dict[int, int], version: int) -> dict[str, Any]:
        return pod_list(version, *(item(*each, version) for each in state.items()))

    version = 10
    store = listed(whole(states[0], version), None)
    for old, new in pairwise(states):
        for number in sorted(old.keys() | new.keys()):
            version += 1
            if number not in new:
                store = store.after(event("DELETED", item(number, old[number], version)))
            elif old.get(number) != new[number]:
                kind = "MODIFIED" if number in old else "ADDED"
                store = store.after(event(kind, item(number, new[number], version)))
    assert store.read(None) == listed(whole(states[-1], version), None).read(None)


def test_a_list_decoded_pod_by_pod_is_the_same_list() -> None:
    document = pod_list(10, pod(1), mirror(2), {}, {"metadata": {}, "spec": [], "status": None})
    lookalike: Any = {"metadata": {}, "spec": {}, "status": {}}
    document["items"][0]["spec"]["volumes"] = [{"ephemeral": lookalike}]
    hooked = json.loads(json.dumps(document), object_hook=entry_of)
    assert isinstance(hooked["items"][0], Entry)
    assert listed(hooked, None) == listed(document, None)


def test_a_list_that_is_itself_taken_for_a_pod_is_no_list() -> None:
    """Whole pods become Entries wherever they are; the reader must not stumble over one."""
    odd = {**pod_list(10), "spec": {}, "status": {}}
    assert isinstance(entry_of(odd), Entry)
    hooked = json.loads(json.dumps({**pod_list(10), "metadata": odd}), object_hook=entry_of)
    with pytest.raises(ValueError, match="resourceVersion"):
        listed(hooked, None)
