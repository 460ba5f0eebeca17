"""Quiet and safe writes, against a real API server that counts them."""

import random
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from numa_agent.cluster.api import Cluster, connect
from numa_agent.core.errors import ApiError
from numa_agent.core.pacing import Pacer
from numa_agent.core.publishing import Outcome, Published, publish
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import (
    APPLY,
    MERGE,
    OLD_TOPOLOGIES,
    TOPOLOGIES,
    Json,
    config_map,
    device,
    make_node,
    older,
    topology,
)

pytestmark = pytest.mark.apiserver

KINDS: list[Callable[[str], Json]] = [topology, older, device, config_map]


def available(plane: ControlPlane, name: str) -> str:
    found: str = plane.ask("GET", f"{TOPOLOGIES}/{name}")["zones"][0]["resources"][0]["available"]
    return found


def version_of(plane: ControlPlane, name: str) -> str:
    found: str = plane.ask("GET", f"{TOPOLOGIES}/{name}")["metadata"]["resourceVersion"]
    return found


def put(plane: ControlPlane, name: str, value: str, manager: str, old: bool = True) -> Json:
    """Write zones as a client does that reads the whole object and puts it back."""
    path = f"{OLD_TOPOLOGIES if old else TOPOLOGIES}/{name}"
    stored = plane.ask("GET", path) | {"topologyPolicies": ["None"]}
    stored["zones"] = topology(name, value)["zones"]
    return plane.ask("PUT", f"{path}?fieldManager={manager}", stored)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_is_created_once_and_then_left_alone(
    kind: Callable[[str], Json], cluster: Cluster, control_plane: ControlPlane
) -> None:
    name = f"kind-{kind.__name__.replace('_', '-')}"
    outcomes = [publish(cluster, kind(name)).outcome for _ in range(4)]
    assert outcomes == [Outcome.CREATED, *[Outcome.UNCHANGED] * 3]
    assert control_plane.requests(name) == ["get", "patch", "get", "get", "get"]


def test_a_restarted_agent_writes_nothing(control_plane: ControlPlane) -> None:
    for _ in range(3):
        with closing(connect(control_plane.kubeconfig)) as cluster:
            publish(cluster, topology("restarted"))
    assert control_plane.requests("restarted").count("patch") == 1


def test_a_changed_device_is_changed(cluster: Cluster, control_plane: ControlPlane) -> None:
    publish(cluster, device("ill"))
    published = publish(cluster, device("ill", health=False))
    assert (published.outcome, published.detail) == (Outcome.CHANGED, "spec.devices")
    path = "/apis/scheduling.koordinator.sh/v1alpha1/devices/ill"
    assert control_plane.ask("GET", path)["spec"]["devices"][0]["health"] is False


def test_fields_of_others_are_kept(cluster: Cluster, control_plane: ControlPlane) -> None:
    publish(cluster, topology("foreign"))
    path = f"{TOPOLOGIES}/foreign"
    applied = {
        **{key: topology("foreign")[key] for key in ("apiVersion", "kind")},
        "metadata": {"name": "foreign", "annotations": {"example.com/applied": "1"}},
    }
    control_plane.ask("PATCH", f"{path}?fieldManager=one", applied, content_type=APPLY)
    stored = control_plane.ask("GET", path)
    stored["metadata"]["annotations"]["example.com/put"] = "2"
    stored["topologyPolicies"] = ["None"]
    control_plane.ask("PUT", f"{path}?fieldManager=two", stored)
    patch = {"metadata": {"labels": {"example.com/patched": "3"}}}
    control_plane.ask("PATCH", f"{path}?fieldManager=three", patch, content_type=MERGE)

    assert publish(cluster, topology("foreign", "1")).outcome is Outcome.CHANGED

    stored = control_plane.ask("GET", path)
    annotations = {"example.com/applied": "1", "example.com/put": "2"}
    assert stored["metadata"]["annotations"] == annotations
    assert stored["metadata"]["labels"] == {"example.com/patched": "3"}
    assert stored["topologyPolicies"] == ["None"]
    assert available(control_plane, "foreign") == "1"


def test_a_field_that_is_ours_no_more_is_removed(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    first = topology("dropped")
    first["metadata"] |= {"annotations": {"a": "1", "b": "2"}, "labels": {"c": "3"}}
    first["topologyPolicies"] = ["None"]
    publish(cluster, first)
    second = topology("dropped")
    second["metadata"]["annotations"] = {"b": "2"}
    published = publish(cluster, second)
    assert published.outcome is Outcome.CHANGED
    assert published.detail == "metadata.annotations.a, metadata.labels, topologyPolicies"
    stored = control_plane.ask("GET", f"{TOPOLOGIES}/dropped")
    assert stored["metadata"]["annotations"] == {"b": "2"}
    assert "labels" not in stored["metadata"]
    assert "topologyPolicies" not in stored
    assert publish(cluster, second).outcome is Outcome.UNCHANGED


def test_the_node_owns_the_object_and_a_node_made_anew_does_so_alone(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    def owned() -> Json:
        node: Any = cluster.node("owner")
        owner = {"apiVersion": "v1", "kind": "Node", "name": "owner"}
        found = topology("owner")
        found["metadata"]["ownerReferences"] = [{**owner, "uid": node["metadata"]["uid"]}]
        return found

    make_node(control_plane, "owner")
    first = owned()
    publish(cluster, first)
    control_plane.ask("DELETE", "/api/v1/nodes/owner")
    make_node(control_plane, "owner")
    second = owned()
    assert first != second
    assert publish(cluster, second).detail == "metadata.ownerReferences"
    stored = control_plane.ask("GET", f"{TOPOLOGIES}/owner")["metadata"]["ownerReferences"]
    assert stored == second["metadata"]["ownerReferences"]
    assert publish(cluster, second).outcome is Outcome.UNCHANGED


SECOND_PUBLISHERS = ["forced-apply", "put", "old-put", "merge-patch"]


def write_as(how: str, plane: ControlPlane, name: str) -> None:
    path = f"{TOPOLOGIES}/{name}"
    theirs = topology(name, "3")
    match how:
        case "forced-apply":
            plane.ask("PATCH", f"{path}?fieldManager=rte&force=true", theirs, content_type=APPLY)
        case "merge-patch":
            zones = {"zones": theirs["zones"]}
            plane.ask("PATCH", f"{path}?fieldManager=rte", zones, content_type=MERGE)
        case _:
            put(plane, name, "3", "rte", old=how == "old-put")


@pytest.mark.parametrize("how", SECOND_PUBLISHERS)
def test_a_second_publisher_is_named_and_left_alone(
    how: str, cluster: Cluster, control_plane: ControlPlane
) -> None:
    name = f"second-{how}"
    publish(cluster, topology(name))
    write_as(how, control_plane, name)
    before = version_of(control_plane, name)
    published = publish(cluster, topology(name, "1"))
    assert published.outcome is Outcome.STOOD_BACK
    (rival,) = published.rivals
    assert (rival.manager, rival.fields[-1]) == ("rte", "zones")
    assert rival.operation == ("Apply" if how == "forced-apply" else "Update")
    assert rival.time is not None
    assert rival.time in published.detail
    assert version_of(control_plane, name) == before


@pytest.mark.parametrize("how", SECOND_PUBLISHERS)
def test_a_takeover_writes_over_a_second_publisher_once(
    how: str, cluster: Cluster, control_plane: ControlPlane
) -> None:
    name = f"takeover-{how}"
    publish(cluster, topology(name))
    write_as(how, control_plane, name)
    ours = topology(name, "1")
    assert publish(cluster, ours, takeover=True).outcome is Outcome.CHANGED
    assert available(control_plane, name) == "1"
    assert publish(cluster, ours, takeover=True).outcome is Outcome.UNCHANGED


def test_an_object_that_another_made_is_left_alone_from_the_start(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    made = older("koordlet-made")
    control_plane.ask("POST", f"{OLD_TOPOLOGIES}?fieldManager=koordlet", made)
    assert publish(cluster, topology("koordlet-made", "1")).outcome is Outcome.STOOD_BACK
    assert control_plane.requests("koordlet-made") == ["get"]
    taken = publish(cluster, topology("koordlet-made", "1"), takeover=True)
    assert taken.outcome is Outcome.CHANGED
    assert control_plane.requests("koordlet-made").count("patch") == 2


def test_a_companion_s_write_in_our_list_is_kept_by_adoption_and_never_undone(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    batch = {"name": "kubernetes.io/batch-cpu", **dict.fromkeys(
        ("capacity", "allocatable", "available"), "1000"
    )}  # fmt: skip

    def adopt(ours: dict[str, object], live: dict[str, object] | None) -> dict[str, object]:
        if live is None:
            return ours
        (zone,) = topology("", ours["zones"][0]["resources"][0]["available"])["zones"]  # type: ignore[index]
        theirs: Any = live["zones"]
        zone["resources"] += [each for each in theirs[0]["resources"] if each["name"] != "cpu"]
        return {**ours, "zones": [zone]}

    companions = {"koord-manager"}
    publish(cluster, older("batch") | {"apiVersion": "topology.node.k8s.io/v1alpha2"})
    zones = topology("batch")["zones"]
    zones[0]["resources"].append(batch)
    path = f"{OLD_TOPOLOGIES}/batch?fieldManager=koord-manager"
    control_plane.ask("PATCH", path, {"zones": zones}, content_type=MERGE)

    def ours(value: str) -> Json:
        return older("batch", value) | {"apiVersion": "topology.node.k8s.io/v1alpha2"}

    same = publish(cluster, ours("15500m"), adopt=adopt, companions=companions)
    other = publish(cluster, ours("1"), adopt=adopt, companions=companions)
    assert (same.outcome, other.outcome) == (Outcome.UNCHANGED, Outcome.CHANGED)
    stored = control_plane.ask("GET", f"{TOPOLOGIES}/batch")["zones"][0]["resources"]
    assert [each["name"] for each in stored] == ["cpu", "kubernetes.io/batch-cpu"]
    assert available(control_plane, "batch") == "1"


def test_a_writer_of_the_older_version_does_not_stop_attributes_for_ever(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    publish(cluster, topology("two-versions"))
    path = f"{OLD_TOPOLOGIES}/two-versions?fieldManager=old-client"
    patch = {"metadata": {"annotations": {"a": "b"}}, "topologyPolicies": ["None"]}
    control_plane.ask("PATCH", path, patch, content_type=MERGE)
    assert "attributes" not in control_plane.ask("GET", f"{TOPOLOGIES}/two-versions")
    with pytest.raises(ApiError, match=r"HTTP 500: .*attributes: field not declared"):
        cluster.apply(topology("two-versions"), force=True)

    published = publish(cluster, topology("two-versions"))

    assert (published.outcome, published.detail) == (Outcome.CHANGED, "attributes")
    stored = control_plane.ask("GET", f"{TOPOLOGIES}/two-versions")
    assert stored["attributes"] == topology("two-versions")["attributes"]
    assert stored["metadata"]["annotations"] == {"a": "b"}
    assert stored["topologyPolicies"] == ["None"]
    theirs = next(e for e in stored["metadata"]["managedFields"] if e["manager"] == "old-client")
    assert "f:topologyPolicies" in theirs["fieldsV1"]
    assert publish(cluster, topology("two-versions")).outcome is Outcome.UNCHANGED


def test_a_change_of_our_own_version_keeps_working_both_ways(cluster: Cluster) -> None:
    for manifest in (older("ways"), topology("ways"), older("ways"), topology("ways")):
        assert publish(cluster, manifest).outcome in (Outcome.CREATED, Outcome.CHANGED)
        assert publish(cluster, manifest).outcome is Outcome.UNCHANGED


class Meddling:
    """The server, on which somebody writes between our look and our write."""

    def __init__(self, cluster: Cluster, meddle: Callable[[], object]) -> None:
        self._meddle = meddle
        self.apply = cluster.apply
        self.set_managers = cluster.set_managers
        self._read = cluster.read

    def read(self, manifest: Any) -> dict[str, object] | None:
        found = self._read(manifest)
        self._meddle()
        return found


def test_a_write_between_our_look_and_our_write_is_a_conflict_and_not_undone(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    publish(cluster, topology("between"))
    meddling = Meddling(cluster, lambda: put(control_plane, "between", "3", "rte", old=False))
    published = publish(meddling, topology("between", "1"), takeover=True)
    assert published.outcome is Outcome.CONFLICT
    assert available(control_plane, "between") == "3"
    assert publish(cluster, topology("between", "1")).outcome is Outcome.STOOD_BACK


def test_an_object_made_between_our_look_and_our_write_is_a_conflict_that_names_its_maker(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    def make() -> None:
        control_plane.ask("POST", f"{TOPOLOGIES}?fieldManager=rte", topology("made", "3"))

    published = publish(Meddling(cluster, make), topology("made", "1"))
    assert published.outcome is Outcome.CONFLICT
    assert 'conflict with "rte"' in published.detail
    assert available(control_plane, "made") == "3"


def test_a_conflict_carries_the_managers_by_name(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    cluster.apply(topology("fought"))
    put(control_plane, "fought", "3", "rte", old=False)
    patch = {"attributes": [{"name": "x", "value": "y"}]}
    path = f"{TOPOLOGIES}/fought?fieldManager=nfd"
    control_plane.ask("PATCH", path, patch, content_type=MERGE)
    with pytest.raises(ApiError) as caught:
        cluster.apply(topology("fought"))
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    assert caught.value.managers == ("nfd", "rte")


def test_an_object_that_lost_its_managed_fields_is_another_s(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    publish(cluster, topology("untracked"))
    clear: Json = {"metadata": {"managedFields": [{}]}}
    control_plane.ask("PATCH", f"{TOPOLOGIES}/untracked", clear, content_type=MERGE)
    assert publish(cluster, topology("untracked")).outcome is Outcome.UNCHANGED
    assert publish(cluster, topology("untracked", "1")).outcome is Outcome.STOOD_BACK
    taken = publish(cluster, topology("untracked", "1"), takeover=True)
    assert taken.outcome is Outcome.CHANGED
    assert available(control_plane, "untracked") == "1"


def with_attribute(name: str, length: int) -> Json:
    return topology(name) | {"attributes": [{"name": "long", "value": "x" * length}]}


@pytest.mark.parametrize("length", [1_600_000, 2_500_000, 3_200_000])
def test_a_too_large_object_is_called_so_and_the_old_one_stays(
    length: int, cluster: Cluster, control_plane: ControlPlane
) -> None:
    name = f"large-{length}"
    publish(cluster, topology(name))
    before = version_of(control_plane, name)
    published = publish(cluster, with_attribute(name, length))
    assert published.outcome is Outcome.TOO_LARGE
    assert "larger than the server takes" in published.detail
    assert len(published.detail) < 3000
    assert version_of(control_plane, name) == before


def test_an_invalid_object_is_refused_with_the_server_s_reason(cluster: Cluster) -> None:
    published = publish(cluster, topology("invalid", "many"))
    assert published.outcome is Outcome.REFUSED
    assert "available" in published.detail
    long = topology("annotated")
    long["metadata"]["annotations"] = {"a": "x" * 300_000}
    assert publish(cluster, long).outcome is Outcome.REFUSED
    assert publish(cluster, topology("Capital")).outcome is Outcome.REFUSED


def test_a_user_without_rights_is_forbidden(control_plane: ControlPlane) -> None:
    with closing(connect(control_plane.stranger_kubeconfig)) as stranger:
        for kind in KINDS:
            assert publish(stranger, kind("any")).outcome is Outcome.FORBIDDEN


def test_a_missing_namespace_is_named(cluster: Cluster) -> None:
    published = publish(cluster, config_map("lost", namespace="nowhere"))
    assert published.outcome is Outcome.NO_CRD
    assert "make the namespace nowhere first" in published.detail


class Simulated:
    """An agent's loop on a simulated clock, writing to the real server."""

    def __init__(self, cluster: Cluster, seed: int = 1) -> None:
        self._pacer = Pacer(random.Random(seed).random)
        self._cluster = cluster
        self._manifest: Json = {}
        self.now = 0.0
        self.writes: list[float] = []

    def run_to(self, end: float) -> None:
        while (wait := self._pacer.due(self.now)) is not None and self.now + wait <= end:
            self.now += wait
            if self._pacer.due(self.now) == 0:
                self._try()
        self.now = end

    def offer(self, at: float, manifest: Json) -> None:
        self.run_to(at)
        self._manifest = manifest
        self._pacer.offer(self.now, str(manifest))

    def _try(self) -> None:
        published: Published = publish(self._cluster, self._manifest)
        if published.outcome in (Outcome.CREATED, Outcome.CHANGED):
            self.writes.append(self.now)
        self._pacer.tell(self.now, str(self._manifest), published)


def test_an_idle_node_writes_nothing_in_ten_minutes(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    publish(cluster, topology("idle"))
    before = control_plane.requests("idle")
    node = Simulated(cluster)
    for second in range(0, 600, 5):
        node.offer(second, topology("idle"))
    node.run_to(600)
    sent = control_plane.requests("idle")[len(before) :]
    assert set(sent) == {"get"}
    assert 5 <= len(sent) <= 11


def test_churn_of_two_hundred_pods_is_written_once_a_second_at_most_and_to_the_end(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    events = random.Random(3)
    node = Simulated(cluster)
    moment = 0.0
    for number in range(200):
        moment += events.choice([0.002, 0.02, 0.1, 0.6])
        node.offer(moment, topology("churn", str(number)))
    node.run_to(moment + 5)
    assert available(control_plane, "churn") == "199"
    assert control_plane.requests("churn").count("patch") == len(node.writes)
    gaps = [later - earlier for earlier, later in pairwise(node.writes)]
    assert min(gaps) >= 1 - 1e-6
    assert len(node.writes) <= moment + 2


def test_configz_of_a_node_that_is_not_there_or_not_ours_to_ask_is_named(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    with pytest.raises(ApiError, match=r"configz of Node nobody .*HTTP 404"):
        cluster.configz("nobody")
    with (
        closing(connect(control_plane.stranger_kubeconfig)) as stranger,
        pytest.raises(ApiError, match=r"RBAC rights to get nodes/proxy$"),
    ):
        stranger.configz("nobody")
