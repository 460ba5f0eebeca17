"""The manifests as objects, and what the tests lay out with them on the API server."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from numa_agent.cluster.api import Cluster, connect
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY
from tests.recorded import ROOT

Json = dict[str, Any]

MANIFESTS = ROOT / "manifests"
OVERLAYS = (
    *("kube-scheduler", "koordinator", "ack", "metrics-tls", "gpu"),
    *("gpu-plugin", "host-pid", "restore"),
)
COMPONENTS = (
    *("gpu", "gpu-plugin", "gputopo", "host-pid", "metrics-tls", "pod-eviction", "pod-marks"),
    *("podmonitor", "servicemonitor"),
)
"""Those that may be joined; `restore` is for the end."""
NAMESPACE = "numa-agent"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:numa-agent"

PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    ),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceMonitor": "/apis/monitoring.coreos.com/v1/namespaces/{}/servicemonitors",
    "PodMonitor": "/apis/monitoring.coreos.com/v1/namespaces/{}/podmonitors",
}
"""Where the API server keeps each kind; {} is the namespace of those that have one."""


def documents(path: Path) -> list[Json]:
    """The objects of one YAML file."""
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def named(objects: Iterable[Json], kind: str, name: str) -> Json:
    """The one object of that kind and name."""
    (found,) = (
        each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name
    )
    return found


def path_of(manifest: Json) -> str:
    """Where the object is on the API server."""
    metadata = manifest["metadata"]
    folder = PATHS[manifest["kind"]].format(metadata.get("namespace"))
    return f"{folder}/{metadata['name']}"


def apply(plane: ControlPlane, objects: Iterable[Json]) -> None:
    """Apply as `kubectl apply --server-side` does, with strict validation, Namespaces first.

    With `pytest -s` it says what it applied, as kubectl does.
    """
    for each in sorted(objects, key=lambda each: each["kind"] != "Namespace"):
        query = "fieldManager=kubectl&fieldValidation=Strict&force=true"
        plane.ask("PATCH", f"{path_of(each)}?{query}", each, content_type=APPLY)
        print(f"{each['kind'].lower()}/{each['metadata']['name']} serverside-applied")


def containers(daemon_set: Json) -> Sequence[Json]:
    """The containers of its template."""
    found: Sequence[Json] = daemon_set["spec"]["template"]["spec"]["containers"]
    return found


def pod_of(daemon_set: Json, node: str, **metadata: str) -> Json:
    """The pod that the DaemonSet controller would make on a node."""
    template = daemon_set["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{daemon_set['metadata']['name']}-{node}",
            "namespace": NAMESPACE,
            **template["metadata"],
            **metadata,
        },
        "spec": {**template["spec"], "nodeName": node},
    }


def make_agent(plane: ControlPlane, daemon_set: Json, node: str) -> str:
    """Make a Node and the agent's pod on it, and return the token that kubelet would give it."""
    plane.ask("POST", "/api/v1/nodes", {"metadata": {"name": node}})
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    pod = plane.ask("POST", pods, pod_of(daemon_set, node))
    return bound_token(plane, "numa-agent", pod["metadata"])


def bound_token(
    plane: ControlPlane, account: str, pod: Json | None, namespace: str = NAMESPACE
) -> str:
    """A token of a ServiceAccount, bound to a pod as kubelet asks for it, or to none."""
    spec: Json = {"expirationSeconds": 3600}
    if pod is not None:
        spec["boundObjectRef"] = {
            "kind": "Pod",
            "apiVersion": "v1",
            "name": pod["name"],
            "uid": pod["uid"],
        }
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    token: str = plane.ask("POST", path, request)["status"]["token"]
    return token


def as_user(plane: ControlPlane, name: str, token: str) -> Cluster:
    """The agent's own client, signed in with a token; `name` is for its kubeconfig."""
    return connect(plane.kubeconfig_for(name, token))


def scalars(value: object) -> Iterator[object]:
    """Every scalar in an object, keys included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    else:
        yield value
