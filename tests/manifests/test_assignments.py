"""Who may write the annotations that decide a pod's CPUs, on a real API server."""

from typing import Any

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.manifests.assigning import (
    EDIT,
    KEYS,
    MERGE,
    OWN,
    PODS,
    RBAC,
    SPACE,
    SPEC,
    STRATEGIC,
    annotated,
    bind_role,
    pod,
    refused,
    stored,
)
from tests.manifests.objects import Json
from tests.manifests.person import Answer, Person, account, settled, user

pytestmark = pytest.mark.apiserver


@pytest.mark.parametrize("key", KEYS)
def test_an_ordinary_user_makes_no_pod_with_an_assignment(key: str, developer: Person) -> None:
    assert refused(developer.ask("POST", PODS, pod({key: "x"})))


def test_a_pod_with_other_annotations_is_his_to_make_and_change(developer: Person) -> None:
    made = developer.ask("POST", PODS, pod({"numa-agent.io/other": "x", "cpuset-scheduler": "y"}))
    path = f"{PODS}/{made.content['metadata']['name']}"
    assert made.status == 201
    assert developer.ask("PATCH", path, annotated("z", "team"), MERGE).status == 200
    assert developer.ask("DELETE", path).status == 200


@pytest.mark.parametrize("value", ["y", None], ids=["changed", "taken away"])
def test_an_assignment_is_not_his_to_change(
    value: str | None, plane: ControlPlane, developer: Person
) -> None:
    path = f"{PODS}/{stored(plane, {OWN: 'x'})['metadata']['name']}"
    assert refused(developer.ask("PATCH", path, annotated(value), MERGE))
    assert plane.ask("GET", path)["metadata"]["annotations"] == {OWN: "x"}


def test_a_pod_that_has_one_is_else_his_to_change_and_to_delete(
    plane: ControlPlane, developer: Person
) -> None:
    path = f"{PODS}/{stored(plane, {OWN: 'x'})['metadata']['name']}"
    assert developer.ask("PATCH", path, annotated("z", "team"), MERGE).status == 200
    assert developer.ask("DELETE", path).status == 200


def test_every_way_to_patch_is_looked_at(plane: ControlPlane, developer: Person) -> None:
    name = stored(plane)["metadata"]["name"]
    path = f"{PODS}/{name}"
    whole = plane.ask("GET", path)
    assert refused(developer.ask("PUT", path, {**whole, **_with(whole, "x")}))
    assert refused(developer.ask("PATCH", path, annotated("x"), STRATEGIC))
    operation = {"op": "add", "path": "/metadata/annotations", "value": {OWN: "x"}}
    assert refused(developer.ask("PATCH", path, [operation], "application/json-patch+json"))
    applied = {"apiVersion": "v1", "kind": "Pod", **annotated("x")}
    query = "?fieldManager=koord-scheduler&force=true"
    apply_patch = "application/apply-patch+yaml"
    assert refused(developer.ask("PATCH", path + query, applied, apply_patch))


def _with(whole: Json, value: str) -> Json:
    return {"metadata": {**whole["metadata"], "annotations": {OWN: value}}}


@pytest.mark.parametrize("part", ["status", "ephemeralcontainers", "resize"])
def test_a_subresource_is_no_way_around(part: str, plane: ControlPlane, developer: Person) -> None:
    path = f"{PODS}/{stored(plane)['metadata']['name']}"
    answer = developer.ask("PATCH", f"{path}/{part}", annotated("x"), MERGE)
    # The server drops such metadata of some subresources by itself: nothing is written then.
    assert refused(answer) or answer.status == 200
    assert OWN not in plane.ask("GET", path)["metadata"].get("annotations", {})


def test_the_status_with_an_annotation_is_refused(plane: ControlPlane, developer: Person) -> None:
    path = f"{PODS}/{stored(plane)['metadata']['name']}"
    assert refused(developer.ask("PATCH", f"{path}/status", annotated("x"), MERGE))
    quiet = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert developer.ask("PATCH", f"{path}/status", quiet, STRATEGIC).status == 200


@pytest.mark.parametrize("where", ["{}/binding", "bindings"])
def test_a_binding_brings_no_assignment(
    where: str, plane: ControlPlane, developer: Person
) -> None:
    name = stored(plane)["metadata"]["name"]
    path = f"/api/v1/namespaces/{SPACE}/{where.format(f'pods/{name}')}"

    def binding(annotations: dict[str, str]) -> Json:
        target = {"apiVersion": "v1", "kind": "Node", "name": "somewhere"}
        meta = {"name": name, "annotations": annotations}
        return {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}

    assert refused(developer.ask("POST", path, binding({OWN: "x"})))
    assert developer.ask("POST", path, binding({"team": "x"})).status == 201
    assert plane.ask("GET", f"{PODS}/{name}")["spec"]["nodeName"] == "somewhere"


def test_the_right_holds_in_its_namespace_only(plane: ControlPlane, assigner: Person) -> None:
    plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": EDIT}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": assigner.name}
    manifest = {"metadata": {"name": "e"}, "roleRef": reference, "subjects": [subject]}
    plane.ask("POST", f"{RBAC}/namespaces/elsewhere/rolebindings", manifest)
    path = "/api/v1/namespaces/elsewhere/pods"

    def made(annotations: dict[str, str]) -> Answer:
        manifest = pod(annotations)
        manifest["metadata"]["namespace"] = "elsewhere"
        return assigner.ask("POST", path, manifest)

    settled("the role", lambda: made({}).status == 201)
    assert refused(made({OWN: "x"}))


def test_a_kubelet_mirrors_its_static_pods(plane: ControlPlane, developer: Person) -> None:
    node = "mirror-node"
    made = plane.ask("POST", "/api/v1/nodes", {"metadata": {"name": node}})
    manifest = pod({OWN: "x", "kubernetes.io/config.mirror": "hash"})
    manifest["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "name": node,
            "uid": made["metadata"]["uid"],
            "controller": True,
        }
    ]
    manifest["spec"] = {**SPEC, "nodeName": node}
    kubelet = user(plane, f"system:node:{node}", "system:nodes")
    answer = kubelet.ask("POST", PODS, manifest)
    assert answer.status == 201, answer.said


def test_koordinators_scheduler_has_the_right(plane: ControlPlane, developer: Person) -> None:
    scheduler = account(plane, "koordinator-system", "koord-scheduler")
    bind_role(plane, scheduler, EDIT, "koord-scheduler")
    key = "scheduling.koordinator.sh/resource-status"
    path = f"{PODS}/{stored(plane)['metadata']['name']}"
    settled(
        "the scheduler's patch",
        lambda: scheduler.ask("PATCH", path, annotated("{}", key), MERGE).status == 200,
    )
    other = account(plane, "koordinator-system", "koord-manager")
    bind_role(plane, other, EDIT, "koord-manager")
    settled(
        "its role",
        lambda: other.ask("PATCH", path, annotated("x", "team"), MERGE).status == 200,
    )
    assert refused(other.ask("PATCH", path, annotated("[]", key), MERGE))


def test_the_server_finds_no_mistake_in_the_expressions(plane: ControlPlane) -> None:
    folder = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    for each in plane.ask("GET", folder)["items"]:
        status: dict[str, Any] = each.get("status", {})
        assert not status.get("typeChecking", {}).get("expressionWarnings"), each["metadata"]
