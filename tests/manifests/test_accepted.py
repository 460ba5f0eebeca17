"""A real API server takes every object, and the pod where its namespace says it may be."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY
from tests.manifests.conftest import Build
from tests.manifests.objects import (
    ACCOUNT,
    MANIFESTS,
    NAMESPACE,
    OVERLAYS,
    Json,
    apply,
    documents,
    named,
    path_of,
    pod_of,
)
from tests.manifests.person import settled, user

pytestmark = pytest.mark.apiserver

DEFINITION = "noderesourcetopologies.topology.node.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KUBECTL_SECONDS = 60

Kubectl = Callable[..., str]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_of_an_overlay_is_taken(
    overlay: str, plane: ControlPlane, built: Build
) -> None:
    for each in built(f"overlays/{overlay}"):
        query = "fieldManager=kubectl&fieldValidation=Strict&force=true&dryRun=All"
        answer = plane.ask("PATCH", f"{path_of(each)}?{query}", each, content_type=APPLY)
        assert answer["metadata"]["name"] == each["metadata"]["name"]


@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_a_monitor_is_taken_where_its_definition_is(kind: str, plane: ControlPlane) -> None:
    """By a stand-in of the definition, which takes any spec: only names and scope are checked."""
    word, group = kind.lower(), "monitoring.coreos.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{word}s.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": f"{word}s", "singular": word},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    plane.install_crd(definition)
    for path in sorted((MANIFESTS / "components" / word).glob("*monitor.yaml")):
        apply(plane, documents(path))


LEVELS = {
    "baseline": {"hostPath volumes"},
    "restricted": {"restricted volume types", "runAsNonRoot != true", "runAsUser=0"},
}


@pytest.mark.parametrize("level", LEVELS)
def test_host_paths_and_root_are_all_that_a_stricter_level_refuses(
    level: str, plane: ControlPlane, built: Build
) -> None:
    space = f"level-{level}"
    label = {"pod-security.kubernetes.io/enforce": level}
    plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": space, "labels": label}})
    daemon_set = named(built("overlays/koordinator"), "DaemonSet", "numa-agent")
    pod = pod_of(daemon_set, "anywhere")
    pod["metadata"]["namespace"] = space
    # System-critical classes need a quota only on servers that are told so; here any takes them.
    answer = user(plane, "admin", "system:masters").ask(
        "POST", f"/api/v1/namespaces/{space}/pods", pod
    )
    assert answer.status == 403
    reasons = re.findall(r'(?:"\w+:[^"]*": |, )([a-zA-Z!= ]+?[a-zA-Z0-9=]) \(', answer.said)
    assert set(reasons) == LEVELS[level], answer.said


@pytest.fixture
def kubectl(bare_control_plane: ControlPlane) -> Kubectl:
    """kubectl as the admin of a server of its own."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl isn't installed")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [program, "--kubeconfig", str(bare_control_plane.kubeconfig), *arguments],
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.timeout(180)
def test_the_life_of_an_installation(bare_control_plane: ControlPlane, kubectl: Kubectl) -> None:
    """Applied, applied again, moved to another profile, and deleted: what stays is what should."""
    plane = bare_control_plane
    kubectl("apply", "-f", str(MANIFESTS / "crd"))
    assert "created" in kubectl("apply", "-k", str(MANIFESTS))
    again = kubectl("apply", "-k", str(MANIFESTS))
    assert [line for line in again.splitlines() if not line.endswith(" unchanged")] == []
    shown = kubectl("get", "daemonset", "-n", NAMESPACE, "-o", "name")
    assert shown == "daemonset.apps/numa-agent\n"
    # ACK's profile over it: its users are warned, not denied.
    kubectl("apply", "-k", str(MANIFESTS / "overlays" / "ack"))
    config = plane.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/numa-agent")
    assert config["data"]["config.yaml"].startswith("scheduler: ack\n")
    _warned(plane)
    kubectl("apply", "-k", str(MANIFESTS / "overlays" / "metrics-tls"))
    settled("the right to reviews", lambda: all(_may_review(plane)))
    kubectl("delete", "--wait=false", "-k", str(MANIFESTS / "overlays" / "metrics-tls"))
    assert plane.ask("GET", f"{DEFINITIONS}/{DEFINITION}")["metadata"]["name"] == DEFINITION
    roles = plane.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert [r for r in roles if r["metadata"]["name"].startswith("numa-agent")] == []


def _warned(plane: ControlPlane) -> None:
    """An ordinary user writes an assignment under ACK's profile and hears of it."""
    role: Json = {
        "metadata": {"name": "pods"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}],
    }
    plane.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pods"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "developer"}
    binding = {"metadata": {"name": "pods"}, "roleRef": reference, "subjects": [subject]}
    plane.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    developer = user(plane, "developer")
    pod = {
        "metadata": {"generateName": "x-", "annotations": {"cpuset": "x"}},
        "spec": {
            "containers": [{"name": "c", "image": "c:1"}],
            "automountServiceAccountToken": False,
        },
    }

    def warned() -> bool:
        answer = developer.ask("POST", "/api/v1/namespaces/default/pods", pod)
        return answer.status == 201 and "numa-agent-assigner" in answer.warnings

    settled("the warning", warned)


def _may_review(plane: ControlPlane) -> Iterator[bool]:
    """Whether the agent may ask about tokens and rights, of the scrapers of its metrics."""
    for group, resource in (
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    ):
        asked = {"group": group, "resource": resource, "verb": "create"}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": ACCOUNT, "resourceAttributes": asked},
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        yield plane.ask("POST", path, review)["status"]["allowed"]
