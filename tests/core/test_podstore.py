"""What lists and events make of the pods of a node."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.pod_entries import entry, listed_entry
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


def test_only_who_owns_annotations_that_decide_is_kept_of_the_managed_fields() -> None:
    annotations: Any = {
        "f:metadata": {
            "f:annotations": {".": {}, "f:a": {}, "f:cpuset": {}},
            "f:labels": {"f:b": {}},
        }
    }
    others: Any = {"f:metadata": {"f:annotations": {".": {}, "f:a": {}}}}
    fields = [
        {"manager": "kubelet", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": "x", "operation": "Update", "time": "2026", "fieldsV1": annotations},
        {"manager": "z", "operation": "Apply", "fieldsV1": others},
        "odd",
        {"manager": "y", "fieldsV1": {"f:metadata": []}},
    ]
    store = listed(pod_list(10, pod(1, managedFields=fields)), None)
    (found,) = store.read(None).pods
    kept: Any = {"f:metadata": {"f:annotations": {"f:cpuset": {}}}}
    assert found.managed_fields == ({"manager": "x", "operation": "Update", "fieldsV1": kept},)


def test_a_pod_that_is_made_anew_under_its_name_replaces_the_old_one() -> None:
    store = listed(pod_list(10, pod(1)), None)
    anew = pod(1, 12, uid=UID.format(99))
    store = store.after(event("ADDED", anew))
    assert [each.uid for each in store.read(frozenset()).pods] == [UID.format(99)]
    # As long as the old one's cgroup is there, its CPUs are its own.
    both = store.read(frozenset({UID.format(1), UID.format(99)})).pods
    assert {each.uid for each in both} == {UID.format(1), UID.format(99)}


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
    assert names(store, frozenset({UID.format(1)})) == ["p1"]
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


def test_a_pod_deleted_by_force_is_held_as_long_as_it_has_a_cgroup() -> None:
    """The server's word comes at once, and kubelet ends its processes in its own time."""
    before = listed(pod_list(10, pod(1), pod(2)), None)
    store = before.after(event("DELETED", pod(1, 11)))
    running = frozenset({UID.format(1), UID.format(2)})
    assert names(store, running) == ["p1", "p2"]
    assert names(store, running - {UID.format(1)}) == ["p2"]
    # Nobody lost it, whatever a list lacks later.
    assert lost_pods(store.lost(running), store.turned, store.version) == ()
    again = listed(pod_list(12, pod(2)), store)
    assert (names(again, running), again.lost(running)) == (["p1", "p2"], {})
    ended = again.without_held(frozenset({UID.format(1)}))
    assert (ended.held, ended.deleted) == ({}, frozenset())


def test_what_was_deleted_is_told_apart_from_what_the_server_lost() -> None:
    store = listed(pod_list(10, pod(1), pod(2)), None).after(event("DELETED", pod(1, 11)))
    store = listed(pod_list(5), store)
    assert names(store, None) == ["p1", "p2"]
    assert [each.name for each in store.lost(None).values()] == ["p2"]
    assert store.turned == "11"
    assert store.without_held(frozenset({UID.format(2)})).turned is None


def test_a_static_pod_s_deleted_mirror_is_held_until_the_next_one_comes() -> None:
    store = listed(pod_list(10, mirror(1)), None).after(event("DELETED", mirror(1, 11)))
    assert names(store, frozenset({HASH})) == ["p1"]
    store = store.after(event("ADDED", mirror(2, 12)))
    assert names(store, frozenset({HASH})) == ["p2"]
    assert store.held == {}


def test_a_finished_pod_that_is_deleted_is_not_held() -> None:
    finished = pod(1, 11)
    finished["status"]["phase"] = "Failed"
    store = listed(pod_list(10, finished), None).after(event("DELETED", finished))
    assert (names(store, None), store.held) == ([], {})


def test_where_nobody_can_tell_what_runs_deleted_pods_are_kept_in_a_bounded_number() -> None:
    store = listed(pod_list(10, pod(9999)), None)
    store = listed(pod_list(11), store)
    for number in range(1100):
        version = 20 + 2 * number
        store = store.after(event("ADDED", pod(number, version)))
        store = store.after(event("DELETED", pod(number, version + 1)))
    assert len(store.held) == 1025
    assert {UID.format(9999), UID.format(1099)} <= store.held.keys()
    assert UID.format(0) not in store.held


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
    ended = frozenset[str]()
    assert store.read(ended) == listed(whole(states[-1], version), None).read(ended)


def test_a_list_decoded_pod_by_pod_is_the_same_list() -> None:
    document = pod_list(10, pod(1), mirror(2), {}, {"metadata": {}, "spec": [], "status": None})
    pods = [listed_entry(json.dumps(each).encode()) for each in document["items"]]
    assert listed({**document, "items": pods}, None) == listed(document, None)


def test_a_pod_that_is_too_long_to_be_read_is_left_out_and_keeps_its_cpus() -> None:
    before = listed(pod_list(10, pod(1), pod(2)), None)
    store = listed({**pod_list(20), "items": [listed_entry(None), entry(pod(2))]}, before)
    assert names(store, frozenset({UID.format(1)})) == ["p1", "p2"]
    read = store.read(None)
    assert read.left_out
    assert "longer than any object should be" in read.problems[0]


def test_a_false_mirror_that_is_deleted_leaves_the_true_one_alone() -> None:
    false = mirror(5)
    del false["status"]["startTime"]
    store = listed(pod_list(10, mirror(4), false), None)
    after = store.after(
        event("DELETED", {**false, "metadata": {**false["metadata"], "resourceVersion": "11"}})
    )
    read = after.read(frozenset({HASH}))
    assert ([each.name for each in read.pods], read.problems, read.left_out) == (["p4"], (), False)


def test_a_true_mirror_that_is_deleted_keeps_its_cpus_beside_a_false_one() -> None:
    false = mirror(5)
    del false["status"]["startTime"]
    store = listed(pod_list(10, mirror(4), false), None)
    after = store.after(event("DELETED", mirror(4, 11)))
    assert names(after, frozenset({HASH})) == ["p4"]
