"""What the tests of assignments lay out: pods, and people with and without the right."""

import itertools

from tests.apiserver.control_plane import ControlPlane
from tests.manifests.objects import Json
from tests.manifests.person import Answer, Person, settled, user

KEYS = (
    "numa-agent.io/assignment",
    "numa-agent.io/bind",
    "numa-agent.io/allow-isolated",
    "scheduling.koordinator.sh/resource-status",
    "cpuset",
)
OWN = "numa-agent.io/assignment"
SPACE = "assignments"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
EDIT = "system:aggregate-to-edit"
"""What makes the role `edit`, which a controller fills where there is one."""
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SPEC = {
    "containers": [{"name": "app", "image": "app:1"}],
    "automountServiceAccountToken": False,
    "terminationGracePeriodSeconds": 0,
}

_numbers = itertools.count(1)


def pod(annotations: dict[str, str] | None = None) -> Json:
    name = f"pod-{next(_numbers)}"
    metadata = {"name": name, "namespace": SPACE, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SPEC}


def annotated(value: str | None, key: str = OWN) -> Json:
    return {"metadata": {"annotations": {key: value}}}


def bind_role(plane: ControlPlane, person: Person, role: str, name: str) -> None:
    """Give a user a ClusterRole in the tests' namespace."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": person.name}
    manifest = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    plane.ask("POST", f"{RBAC}/namespaces/{SPACE}/rolebindings", manifest)


def make_developer(plane: ControlPlane) -> Person:
    """An ordinary user: the right to edit everything in a namespace, once the policy holds."""
    plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    person = user(plane, "developer")
    bind_role(plane, person, EDIT, "developer")
    bind_role(plane, person, "assignments-subresources", "developer-subresources")
    parts = ("status", "ephemeralcontainers", "resize", "binding")
    resources = [*(f"pods/{part}" for part in parts), "bindings", "podtemplates"]
    rules = [{"apiGroups": [""], "resources": resources, "verbs": ["*"]}]
    role = {"metadata": {"name": "assignments-subresources"}, "rules": rules}
    plane.ask("POST", f"{RBAC}/clusterroles", role)
    settled("the policy", lambda: refused(person.ask("POST", PODS, pod({OWN: "x"}))))
    return person


def make_assigner(plane: ControlPlane) -> Person:
    """A user who may edit and was given numa-agent-assigner in this namespace."""
    person = user(plane, "assigner")
    bind_role(plane, person, EDIT, "assigner-edit")
    bind_role(plane, person, "numa-agent-assigner", "assigner")
    settled("the right", lambda: person.ask("POST", PODS, pod({OWN: "x"})).status == 201)
    return person


def refused(answer: Answer) -> bool:
    return answer.status == 403 and "numa-agent-assigner" in answer.said


def stored(plane: ControlPlane, annotations: dict[str, str] | None = None) -> Json:
    """A pod that the admin made, and so with any annotation."""
    return plane.ask("POST", PODS, pod(annotations))
