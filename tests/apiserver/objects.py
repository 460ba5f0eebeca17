"""What the tests lay out on the API server."""

import time
from typing import Any

from tests.apiserver.control_plane import ControlPlane

TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
OLD_TOPOLOGIES = TOPOLOGIES.replace("v1alpha2", "v1alpha1")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"

Json = dict[str, Any]


def topology(name: str, available: str = "15500m", version: str = "v1alpha2") -> dict[str, Any]:
    cpu = {"name": "cpu", "capacity": "16", "allocatable": "15500m", "available": available}
    costs = [{"name": "node-0", "value": 10}]
    zone = {"name": "node-0", "type": "Node", "costs": costs, "resources": [cpu]}
    return {
        "apiVersion": f"topology.node.k8s.io/{version}",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": [{"name": "topologyManagerPolicy", "value": "none"}],
        "zones": [zone],
    }


def older(name: str, available: str = "15500m") -> Json:
    """The same as a client of v1alpha1 writes it: policies in a word, no attributes."""
    found = topology(name, available, "v1alpha1") | {"topologyPolicies": ["None"]}
    del found["attributes"]
    return found


def device(name: str, health: bool = True) -> Json:
    where = {"socketID": -1, "nodeID": 0, "pcieID": "pci0000:16", "busID": "0000:18:00.0"}
    resources = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "80Gi"}
    gpu = {"type": "gpu", "id": "GPU-1", "minor": 0, "health": health}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name, "labels": {"node.koordinator.sh/gpu-vendor": "nvidia"}},
        "spec": {"devices": [{**gpu, "resources": resources, "topology": where}]},
    }


def config_map(name: str, value: str = "1", namespace: str = "default") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"topology": value},
    }


def make_node(plane: ControlPlane, name: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    plane.ask("POST", "/api/v1/nodes", node)


def service_account_token(plane: ControlPlane, name: str) -> str:
    """Make a ServiceAccount in the namespace default and return a token for it."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    plane.ask("POST", path, account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = plane.ask("POST", f"{path}/{name}/token", request)["status"]["token"]
    return token


def grant(plane: ControlPlane, account: str, *verbs: str) -> None:
    """Give a ServiceAccount rights on topologies and wait until the server knows the last."""
    api, group = "/apis/rbac.authorization.k8s.io/v1", "topology.node.k8s.io"
    meta = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": account}}
    rule = {"apiGroups": [group], "resources": ["noderesourcetopologies"], "verbs": verbs}
    role = {**meta, "kind": "ClusterRole", "rules": [rule]}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account}
    binding = {**meta, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": reference}
    plane.ask("POST", f"{api}/clusterroles", role)
    plane.ask("POST", f"{api}/clusterrolebindings", binding)
    wanted = {"group": group, "resource": "noderesourcetopologies", "verb": verbs[-1]}
    user = f"system:serviceaccount:default:{account}"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": wanted},
    }
    for _ in range(600):
        answer = plane.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        if answer["status"]["allowed"]:
            return
        time.sleep(0.1)
    raise AssertionError(f"{account} may not {verbs[-1]} topologies after a minute")
