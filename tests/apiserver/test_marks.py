"""Marks and evictions on a real API server: whose fields stay, which pod, what is refused."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import count

import pytest

from numa_agent.cluster.api import Cluster, connect
from numa_agent.cluster.marker import Marker
from numa_agent.core.errors import ApiError, GoneError
from numa_agent.core.marking import Limits
from numa_agent.core.pods import Pod, parse_pod
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import MERGE, Json

pytestmark = pytest.mark.apiserver

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ASSIGNED, NOT_PLACED = "numa-agent.io/assigned", "numa-agent.io/not-placed"
STRANGER = "11111111-1111-4111-8111-111111111111"
WHY = ("no-room", "node 0 lacks 2 CPUs")

_numbers = count(1)


def made(plane: ControlPlane, name: str = "", **annotations: str) -> Json:
    """A running pod of a ReplicaSet, as kubelet reports it."""
    name = name or f"marked-{next(_numbers)}"
    owner: Json = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": STRANGER}
    metadata: Json = {
        "name": name,
        "labels": {"app": name},
        "ownerReferences": [{**owner, "controller": True}],
        "annotations": {"team": "x", **annotations},
    }
    spec: Json = {
        "nodeName": "n",
        "containers": [{"name": "app", "image": "app:1"}],
        "terminationGracePeriodSeconds": 0,
    }
    plane.ask("POST", PODS, {"metadata": metadata, "spec": spec})
    status: Json = {
        "phase": "Running",
        "startTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return plane.ask("PATCH", f"{PODS}/{name}/status", {"status": status}, content_type=MERGE)


def known(item: Json) -> Pod:
    read = parse_pod(item)
    assert read.pod is not None, read.problems
    return read.pod


def now(plane: ControlPlane, item: Json) -> Json:
    return plane.ask("GET", f"{PODS}/{item['metadata']['name']}")


def budget(plane: ControlPlane, item: Json, name: str) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": item["metadata"]["name"]}}}
    plane.ask("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})


def there(plane: ControlPlane, item: Json) -> bool:
    names = {each["metadata"]["name"] for each in plane.ask("GET", PODS)["items"]}
    return item["metadata"]["name"] in names


def test_fields_of_others_stay_and_ours_alone_go(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    item = made(control_plane)
    cluster.mark(known(item), {ASSIGNED: "a", NOT_PLACED: "b"})
    other = {"metadata": {"annotations": {"later": "1"}, "labels": {"later": "1"}}}
    control_plane.ask("PATCH", f"{PODS}/{item['metadata']['name']}", other, content_type=MERGE)
    cluster.mark(known(item), {NOT_PLACED: "c"})
    metadata = now(control_plane, item)["metadata"]
    assert metadata["annotations"] == {"team": "x", "later": "1", NOT_PLACED: "c"}
    assert metadata["labels"].keys() == {"app", "later"}
    (ours,) = (each for each in metadata["managedFields"] if each["manager"] == "numa-agent")
    assert ours["operation"] == "Apply"
    assert ours["fieldsV1"] == {"f:metadata": {"f:annotations": {f"f:{NOT_PLACED}": {}}}}
    cluster.mark(known(item), {})
    metadata = now(control_plane, item)["metadata"]
    assert metadata["annotations"] == {"team": "x", "later": "1"}


def test_the_same_marks_again_change_nothing(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    item = made(control_plane)
    cluster.mark(known(item), {ASSIGNED: "a"})
    version = now(control_plane, item)["metadata"]["resourceVersion"]
    cluster.mark(known(item), {ASSIGNED: "a"})
    assert now(control_plane, item)["metadata"]["resourceVersion"] == version


def test_a_mark_that_somebody_else_wrote_is_written_over(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    item = made(control_plane, **{ASSIGNED: "forged"})
    cluster.mark(known(item), {ASSIGNED: "true"})
    assert now(control_plane, item)["metadata"]["annotations"][ASSIGNED] == "true"
    cluster.mark(known(item), {})
    assert ASSIGNED not in now(control_plane, item)["metadata"]["annotations"]


def test_what_another_wrote_and_we_never_did_stays(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    item = made(control_plane, **{ASSIGNED: "forged"})
    cluster.mark(known(item), {})
    assert now(control_plane, item)["metadata"]["annotations"][ASSIGNED] == "forged"


def test_a_pod_that_was_made_anew_under_its_name_is_neither_marked_nor_evicted(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    old = made(control_plane)
    name = old["metadata"]["name"]
    control_plane.ask("DELETE", f"{PODS}/{name}")
    gone = f"Pod default/{name} isn't there any more"
    with pytest.raises(GoneError, match=gone):
        cluster.mark(known(old), {ASSIGNED: "a"})
    with pytest.raises(GoneError, match=gone):
        cluster.evict(known(old))
    new = made(control_plane, name)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    with pytest.raises(GoneError):
        cluster.mark(known(old), {ASSIGNED: "a"})
    with pytest.raises(GoneError):
        cluster.evict(known(old))  # the server takes its time to say so
    after = now(control_plane, new)["metadata"]
    assert after["resourceVersion"] == new["metadata"]["resourceVersion"]


def test_an_eviction_makes_the_pod_go(cluster: Cluster, control_plane: ControlPlane) -> None:
    item = made(control_plane)
    assert cluster.evict(known(item)) is None
    assert not there(control_plane, item)


def test_a_disruption_budget_keeps_a_pod(cluster: Cluster, control_plane: ControlPlane) -> None:
    item = made(control_plane)
    budget(control_plane, item, "one")
    said = cluster.evict(known(item))
    assert said is not None
    assert "disruption budget one" in said
    budget(control_plane, item, "two")
    said = cluster.evict(known(item))
    assert said is not None
    assert "more than one PodDisruptionBudget" in said
    assert there(control_plane, item)


def test_what_the_server_refuses_is_named(cluster: Cluster, control_plane: ControlPlane) -> None:
    item = made(control_plane)
    with pytest.raises(ApiError, match=r"annotate Pod default/.* HTTP 4\d\d: .*bytes") as found:
        cluster.mark(known(item), {ASSIGNED: "x" * 300_000})
    assert found.value.status in (400, 413, 422)
    with closing(connect(control_plane.stranger_kubeconfig)) as stranger:
        with pytest.raises(ApiError, match=r"RBAC rights to patch pods$"):
            stranger.mark(known(item), {ASSIGNED: "x"})
        with pytest.raises(ApiError, match=r"RBAC rights to create pods/eviction$"):
            stranger.evict(known(item))


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def marker(cluster: Cluster, clock: Clock) -> Marker:
    return Marker(cluster.mark, cluster.evict, lambda: 0.5, clock, limits=Limits(fresh=0.0))


def test_a_pass_is_written_once_and_not_again(
    marker: Marker, control_plane: ControlPlane, clock: Clock
) -> None:
    item, text = made(control_plane), '{"version": 1, "cpus": "0-3"}'
    uid, name = item["metadata"]["uid"], item["metadata"]["name"]
    marker.hear([known(item)], {uid: text}, None)
    assert marker.due() == 0
    assert marker.send_due() == 1
    marker.hear([known(item)], {uid: text}, None)  # the watch is late
    clock.seconds += 60
    marker.hear([known(now(control_plane, item))], {uid: text}, None)
    assert marker.due() is None
    assert marker.send_due() == 0
    assert control_plane.requests(name) == ["patch"]
    assert now(control_plane, item)["metadata"]["annotations"][ASSIGNED] == text
    marker.hear([known(now(control_plane, item))], {}, None)
    assert marker.send_due() == 1
    assert ASSIGNED not in now(control_plane, item)["metadata"]["annotations"]


def test_a_pod_that_can_not_be_placed_is_marked_and_evicted_later(
    marker: Marker, control_plane: ControlPlane, clock: Clock
) -> None:
    item = made(control_plane)
    unplaced = {item["metadata"]["uid"]: WHY}
    marker.hear([known(item)], None, unplaced, 300)
    marker.send_due()
    marker.hear([known(now(control_plane, item))], None, unplaced, 300)
    assert marker.due() == 30
    clock.seconds += 30
    assert marker.send_due() == 1
    assert not there(control_plane, item)
    told = [(each.pod.uid, each.code, each.evicted) for each in marker.sent()]
    assert told == [(item["metadata"]["uid"], "no-room", evicted) for evicted in (False, True)]
    assert marker.sent() == ()


def test_a_budget_keeps_one_pod_and_no_other(
    marker: Marker, control_plane: ControlPlane, clock: Clock
) -> None:
    kept, other = made(control_plane), made(control_plane)
    budget(control_plane, kept, "of-one")
    unplaced = {each["metadata"]["uid"]: WHY for each in (kept, other)}

    def hear() -> None:
        pods = [
            known(now(control_plane, each)) for each in (kept, other) if there(control_plane, each)
        ]
        marker.hear(pods, None, unplaced, 300)

    for seconds in (0, 31, 61, 61):
        clock.seconds += seconds
        hear()
        marker.send_due()
    hear()
    assert there(control_plane, kept)
    assert not there(control_plane, other)
    (why,) = marker.kept().values()
    assert "disruption budget of-one" in why
    assert marker.troubles() == ()


def test_a_pod_whose_name_is_another_s_now_is_not_evicted_and_holds_nothing_up(
    marker: Marker, control_plane: ControlPlane, clock: Clock
) -> None:
    old = made(control_plane)
    unplaced = {old["metadata"]["uid"]: WHY}
    marker.hear([known(old)], None, unplaced, 300)
    marker.send_due()
    old = now(control_plane, old)
    marker.hear([known(old)], None, unplaced, 300)
    control_plane.ask("DELETE", f"{PODS}/{old['metadata']['name']}")
    new = made(control_plane, old["metadata"]["name"])
    clock.seconds += 30
    began = time.monotonic()
    assert marker.send_due() == 1
    assert time.monotonic() - began < 8
    assert now(control_plane, new)["metadata"]["uid"] == new["metadata"]["uid"]
    assert marker.troubles() == ()


@pytest.fixture
def own(bare_control_plane: ControlPlane) -> Iterator[tuple[ControlPlane, Cluster]]:
    with closing(connect(bare_control_plane.kubeconfig)) as cluster:
        yield bare_control_plane, cluster


def test_an_outage_is_named_once_and_lived_through(
    own: tuple[ControlPlane, Cluster], clock: Clock
) -> None:
    plane, cluster = own
    marker = Marker(cluster.mark, cluster.evict, lambda: 0.5, clock)
    items = [made(plane) for _ in range(3)]
    told = {each["metadata"]["uid"]: "x" for each in items}
    pods = [known(each) for each in items]
    plane.halt()
    marker.hear(pods, told, None)
    assert marker.send_due() == 1  # one that fails is enough
    (trouble,) = marker.troubles()
    assert "can't annotate Pod default/" in trouble
    rest = marker.due()
    assert rest is not None
    assert 5 <= rest <= 10
    clock.seconds += rest
    marker.hear(pods, told, None)
    assert marker.send_due() == 1
    plane.resume()
    clock.seconds += 300
    assert marker.send_due() == 3
    assert marker.troubles() == ()
    assert all(now(plane, each)["metadata"]["annotations"][ASSIGNED] == "x" for each in items)
