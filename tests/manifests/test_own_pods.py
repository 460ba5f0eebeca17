"""The agent with the rights to mark and to evict: of its node's pods, and no more than that."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import pytest

from numa_agent.cluster.api import Cluster
from numa_agent.cluster.marks import EVICTION_LABELS
from numa_agent.core.errors import ApiError, GoneError
from numa_agent.core.pods import Pod, parse_pod
from numa_agent.core.publishing import FIELD_MANAGER
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY, MERGE, Json
from tests.manifests.conftest import Build
from tests.manifests.objects import (
    MANIFESTS,
    apply,
    as_user,
    bound_token,
    documents,
    make_agent,
    named,
)
from tests.manifests.person import Person, bearer, settled

pytestmark = pytest.mark.apiserver

NODE, OTHER = "marks-a", "marks-b"
SPACE = "marks"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
ASSIGNED, NOT_PLACED = "numa-agent.io/assigned", "numa-agent.io/not-placed"
NOT_ITS_NODE = "its token is bound to"
NOTHING_ELSE = "and nothing else"

_numbers = count(1)


def owner(kind: str, *, controller: bool = True) -> Json:
    uid = "11111111-1111-4111-8111-111111111111"
    group = "batch/v1" if kind == "Job" else "v1" if kind == "Node" else "apps/v1"
    return {"apiVersion": group, "kind": kind, "name": "o", "uid": uid, "controller": controller}


def stored(plane: ControlPlane, node: str | None, kind: str | None = "ReplicaSet") -> Json:
    """A pod on a node, of a controller of that kind."""
    metadata: Json = {
        "name": f"pod-{next(_numbers)}",
        "namespace": SPACE,
        "labels": {"app": "x"},
        "annotations": {"team": "y", "numa-agent.io/bind": "on"},
    }
    if kind is not None:
        metadata["ownerReferences"] = [owner(kind)]
    spec: Json = {
        "containers": [{"name": "app", "image": "app:1"}],
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
    }
    if node is not None:
        spec["nodeName"] = node
    return plane.ask("POST", PODS, {"metadata": metadata, "spec": spec})


def known(item: Json) -> Pod:
    """The pod as the agent knows it, of whose status kubelet has told nothing here."""
    read = parse_pod({**item, "status": {"qosClass": "BestEffort"}})
    assert read.pod is not None, read.problems
    return read.pod


@dataclass(frozen=True, slots=True)
class Place:
    """A server with the components, and the agent's token on NODE."""

    plane: ControlPlane
    token: str

    def annotations(self, item: Json) -> Json:
        found: Json = self.plane.ask("GET", f"{PODS}/{item['metadata']['name']}")["metadata"]
        annotations: Json = found["annotations"]
        return annotations


@pytest.fixture(scope="module")
def place(programs: Path, built: Build) -> Iterator[Place]:
    """Made once: the plain profile with both components, once the policies hold."""
    with ControlPlane(programs) as plane:
        # Without the policy for assignments, which would deny some of it in its own words.
        guarded = "numa-agent-assignments"
        profile = built("overlays/kube-scheduler")
        apply(plane, (each for each in profile if each["metadata"]["name"] != guarded))
        for component in ("pod-marks", "pod-eviction"):
            for file in sorted((MANIFESTS / "components" / component).glob("[or]*.yaml")):
                apply(plane, documents(file))
        daemon_set = named(profile, "DaemonSet", "numa-agent")
        make_agent(plane, daemon_set, OTHER)
        token = make_agent(plane, daemon_set, NODE)
        plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        far, near = stored(plane, OTHER), stored(plane, NODE)
        person = bearer(plane, "settling", token)
        path = f"{PODS}/{far['metadata']['name']}"
        empty: Json = {"metadata": {"annotations": {ASSIGNED: "x"}}}
        settled(
            "the policy for pods",
            lambda: NOT_ITS_NODE in person.ask("PATCH", f"{path}?dryRun=All", empty, MERGE).said,
        )
        settled(
            "the policy for evictions",
            lambda: (
                NOT_ITS_NODE
                in person.ask("POST", f"{path}/eviction?dryRun=All", eviction(far)).said
            ),
        )
        near_path = f"{PODS}/{near['metadata']['name']}/eviction?dryRun=All"
        settled(
            "its parameters",
            lambda: person.ask("POST", near_path, eviction(near)).status == 201,
        )
        yield Place(plane, token)


def eviction(item: Json, **options: object) -> Json:
    metadata = item["metadata"]
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": metadata["name"], "namespace": SPACE, "labels": EVICTION_LABELS},
        "deleteOptions": {"preconditions": {"uid": metadata["uid"]}, **options},
    }


@pytest.fixture
def agent(place: Place) -> Iterator[Cluster]:
    with closing(as_user(place.plane, "agent", place.token)) as cluster:
        yield cluster


@pytest.fixture
def person(place: Place) -> Person:
    """The agent's token in the hands of whoever stole it."""
    return bearer(place.plane, "thief", place.token)


def test_it_marks_a_pod_of_its_node_and_takes_the_mark_away(place: Place, agent: Cluster) -> None:
    item = stored(place.plane, NODE)
    agent.mark(known(item), {ASSIGNED: "x", NOT_PLACED: "y"})
    others = {"team": "y", "numa-agent.io/bind": "on"}
    assert place.annotations(item) == {**others, ASSIGNED: "x", NOT_PLACED: "y"}
    agent.mark(known(item), {ASSIGNED: "z"})
    assert place.annotations(item) == {**others, ASSIGNED: "z"}
    agent.mark(known(item), {})
    assert place.annotations(item) == others


def test_it_writes_over_marks_that_others_wrote(place: Place, agent: Cluster) -> None:
    """Also where that was all they wrote, so that they are no longer among those who did."""
    item = stored(place.plane, NODE)
    path = f"{PODS}/{item['metadata']['name']}"
    for key, manager in ((ASSIGNED, "somebody"), (NOT_PLACED, "another")):
        mark = {"metadata": {"annotations": {key: "a"}}}
        place.plane.ask("PATCH", f"{path}?fieldManager={manager}", mark, content_type=MERGE)
    # As a server does that tracks no fields of an object that an old one made.
    wiped = stored(place.plane, NODE)
    nobody: Json = {"metadata": {"managedFields": [{}]}}
    wiped_path = f"{PODS}/{wiped['metadata']['name']}"
    place.plane.ask("PATCH", wiped_path, nobody, content_type=MERGE)
    for each in (item, wiped):
        agent.mark(known(each), {ASSIGNED: "x", NOT_PLACED: "y"})
        assert place.annotations(each)[NOT_PLACED] == "y"
        agent.mark(known(each), {})
        assert ASSIGNED not in place.annotations(each)


@pytest.mark.parametrize("node", [OTHER, None], ids=["another node", "no node"])
def test_a_pod_that_is_not_on_its_node_is_denied(
    node: str | None, place: Place, agent: Cluster
) -> None:
    item = stored(place.plane, node)
    with pytest.raises(ApiError, match=NOT_ITS_NODE) as found:
        agent.mark(known(item), {ASSIGNED: "x"})
    assert found.value.status == 403
    assert ASSIGNED not in place.annotations(item)


def under(**query: str) -> str:
    """What a forced apply by the agent has behind its path, or something else."""
    return "?" + urlencode({"fieldManager": FIELD_MANAGER, "force": "true", **query})


MORE: dict[str, Json] = {
    "a name for others": {"metadata": {"generateName": "x-"}},
    "who wrote what": {"metadata": {"managedFields": [{}]}},
    "an assignment": {"metadata": {"annotations": {"numa-agent.io/assignment": "{}"}}},
    "another's annotation": {"metadata": {"annotations": {"team": "z"}}},
    "an annotation away": {"metadata": {"annotations": {"numa-agent.io/bind": None}}},
    "a new annotation": {"metadata": {"annotations": {"new": ""}}},
    "a label": {"metadata": {"labels": {"app": "z"}}},
    "a label away": {"metadata": {"labels": None}},
    "an owner": {"metadata": {"ownerReferences": None}},
    "a finalizer": {"metadata": {"finalizers": ["a.example/b"]}},
    "an image": {"spec": {"containers": [{"name": "app", "image": "evil:1"}]}},
    "a deadline": {"spec": {"activeDeadlineSeconds": 1}},
}


@pytest.mark.parametrize("change", MORE)
def test_nothing_but_the_marks_can_be_changed(change: str, place: Place, person: Person) -> None:
    item = stored(place.plane, NODE)
    name = item["metadata"]["name"]
    strategic = "application/strategic-merge-patch+json"
    path = f"{PODS}/{name}?fieldManager={FIELD_MANAGER}"
    answer = person.ask("PATCH", path, MORE[change], strategic)
    assert (answer.status, NOTHING_ELSE in answer.said) == (403, True), answer
    with_mark = {ASSIGNED: "x", **MORE[change].get("metadata", {}).get("annotations", {})}
    metadata = {**MORE[change].get("metadata", {}), "annotations": with_mark}
    both = {**MORE[change], "metadata": metadata}
    answer = person.ask("PATCH", path, both, strategic)
    assert (answer.status, NOTHING_ELSE in answer.said) == (403, True), answer
    after = place.plane.ask("GET", f"{PODS}/{name}")
    assert after["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]


APPLIED: dict[str, Json] = {
    "an assignment": {"metadata": {"annotations": {"numa-agent.io/assignment": "{}"}}},
    "another's annotation": {"metadata": {"annotations": {"team": "z"}}},
    "a name for others": {"metadata": {"generateName": "x-"}},
    "a label": {"metadata": {"labels": {"app": "z"}}},
    "a finalizer": {"metadata": {"finalizers": ["a.example/b"]}},
    "an owner more": {
        "metadata": {
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "x",
                    "uid": "u",
                    "controller": False,
                }
            ]
        }
    },
    "an image": {"spec": {"containers": [{"name": "app", "image": "evil:1"}]}},
    "a deadline": {"spec": {"activeDeadlineSeconds": 1}},
}


@pytest.mark.parametrize("change", APPLIED)
def test_nothing_but_the_marks_can_be_applied(change: str, place: Place, person: Person) -> None:
    item = stored(place.plane, NODE)
    name = item["metadata"]["name"]
    metadata = {"name": name, "namespace": SPACE, **APPLIED[change].get("metadata", {})}
    whole = {"apiVersion": "v1", "kind": "Pod", **APPLIED[change], "metadata": metadata}
    answer = person.ask("PATCH", f"{PODS}/{name}{under()}", whole, APPLY)
    assert (answer.status, NOTHING_ELSE in answer.said) == (403, True), answer
    after = place.plane.ask("GET", f"{PODS}/{name}")
    assert after["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        (under(fieldManager="koord-scheduler"), APPLY),
        ("?fieldManager=koord-scheduler", MERGE),
        ("?dryRun=All", MERGE),
    ],
    ids=["another's name", "another patch", "a dry run"],
)
def test_nobody_s_name_is_written_beside_what_others_wrote(
    query: str, content: str, place: Place, person: Person
) -> None:
    """By managedFields it is told whose decisions are believed."""
    item = stored(place.plane, NODE)
    name = item["metadata"]["name"]
    metadata: Json = {"name": name, "annotations": {ASSIGNED: "x", "numa-agent.io/bind": "on"}}
    whole: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    answer = person.ask("PATCH", f"{PODS}/{name}{query}", whole, content)
    assert (answer.status, NOTHING_ELSE in answer.said) == (403, True), answer
    own = item["metadata"]["managedFields"]
    forged = {
        **own[0],
        "manager": "koord-scheduler",
        "fieldsV1": {"f:metadata": {"f:annotations": {"f:numa-agent.io/bind": {}}}},
    }
    lists: tuple[list[Json], ...] = ([*own, forged], [forged], [{**own[0], "manager": "t"}], [{}])
    for entries in lists:
        told = {"metadata": {"managedFields": entries}}
        answer = person.ask("PATCH", f"{PODS}/{name}?fieldManager=numa-agent", told, MERGE)
        assert (answer.status, NOTHING_ELSE in answer.said) == (403, True), answer
    after = place.plane.ask("GET", f"{PODS}/{name}")
    assert after["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]


def test_what_it_has_no_right_to_is_still_forbidden(place: Place, person: Person) -> None:
    path = f"{PODS}/{stored(place.plane, NODE)['metadata']['name']}"
    assert "cannot delete" in person.ask("DELETE", path).said
    assert "cannot patch" in person.ask("PATCH", f"{path}/status", {}, MERGE).said
    assert "cannot get" in person.ask("GET", path).said
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "namespace": SPACE}}
    answer = person.ask("PATCH", f"{PODS}/made?fieldManager=x", made, APPLY)
    assert answer.status in (403, 422), answer


def test_a_token_of_no_pod_marks_and_evicts_nothing(place: Place) -> None:
    free = bound_token(place.plane, "numa-agent", None)
    item = known(stored(place.plane, NODE))
    with closing(as_user(place.plane, "free", free)) as cluster:
        with pytest.raises(ApiError, match=NOT_ITS_NODE):
            cluster.mark(item, {ASSIGNED: "x"})
        with pytest.raises(ApiError, match=NOT_ITS_NODE):
            cluster.evict(item)


def test_it_evicts_a_pod_of_its_node(place: Place, agent: Cluster) -> None:
    item = stored(place.plane, NODE)
    wait_until_known(place)
    assert agent.evict(known(item)) is None
    with pytest.raises(AssertionError, match="HTTP 404"):
        place.plane.ask("GET", f"{PODS}/{item['metadata']['name']}")


def wait_until_known(place: Place) -> None:
    """Until the policy sees all pods that were made so far, by one that was made after them."""
    last = stored(place.plane, OTHER)
    person = bearer(place.plane, "known", place.token)
    path = f"{PODS}/{last['metadata']['name']}/eviction?dryRun=All"
    settled("the pods", lambda: person.ask("POST", path, eviction(last)).status == 403)


def test_another_nodes_pod_is_not_evicted(place: Place, agent: Cluster) -> None:
    item = stored(place.plane, OTHER)
    wait_until_known(place)
    with pytest.raises(ApiError, match=NOT_ITS_NODE) as found:
        agent.evict(known(item))
    assert found.value.status == 403
    assert place.annotations(item)


@pytest.mark.parametrize(
    "kind", ["DaemonSet", "Job", "Node", "PyTorchJob", "Workflow", "RayCluster", None]
)
def test_a_pod_that_nobody_would_make_elsewhere_is_not_evicted(
    kind: str | None, place: Place, agent: Cluster
) -> None:
    item = stored(place.plane, NODE, kind)
    wait_until_known(place)
    with pytest.raises(ApiError, match="nobody would make elsewhere"):
        agent.evict(known(item))


def test_an_eviction_is_by_uid_and_in_the_pods_own_time(place: Place, person: Person) -> None:
    item = stored(place.plane, NODE)
    wait_until_known(place)
    path = f"{PODS}/{item['metadata']['name']}/eviction"
    stranger = "22222222-2222-4222-8222-222222222222"
    whole = eviction(item)
    unlabelled = {**whole["metadata"], "labels": {}}
    other = {**whole["metadata"], "labels": {"numa-agent.io/evicts": "other"}}
    for odd in (
        eviction(item, gracePeriodSeconds=0),
        {**whole, "deleteOptions": {"preconditions": {"uid": stranger}}},
        {**whole, "deleteOptions": {"preconditions": {"uid": ""}}},
        {**whole, "deleteOptions": {"preconditions": {"resourceVersion": "1"}}},
        {key: value for key, value in whole.items() if key != "deleteOptions"},
        {**whole, "metadata": unlabelled},
        {**whole, "metadata": other},
    ):
        began = time.monotonic()
        answer = person.ask("POST", path, odd)
        assert (answer.status, "uid" in answer.said) == (403, True), answer
        # Without the policy the server tries for ten seconds.
        assert time.monotonic() - began < 9
    assert place.annotations(item)


def test_a_pod_of_the_same_name_with_another_uid_is_left_alone(
    place: Place, agent: Cluster
) -> None:
    item = stored(place.plane, NODE)
    old = {**item, "metadata": {**item["metadata"], "uid": "33333333-3333-4333-8333-333333333333"}}
    with pytest.raises(GoneError):
        agent.mark(known(old), {ASSIGNED: "x"})
    assert ASSIGNED not in place.annotations(item)
    place.plane.ask("DELETE", f"{PODS}/{item['metadata']['name']}")
    with pytest.raises(GoneError):
        agent.mark(known(item), {ASSIGNED: "x"})


def test_others_are_not_held_by_it(place: Place) -> None:
    """The policies name one account."""
    item = stored(place.plane, OTHER)
    path = f"{PODS}/{item['metadata']['name']}"
    label = {"metadata": {"labels": {"app": "z"}}}
    place.plane.ask("PATCH", path, label, content_type=MERGE)
    place.plane.ask("POST", f"{path}/eviction", eviction(item))
