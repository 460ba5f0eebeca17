"""Agents that publish to a real API server: the machine is a folder, the cluster is not."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY, TOPOLOGIES, make_node, service_account_token, topology
from tests.monitoring.recording import Agent, agent, copy_of
from tests.podresources.servers import kubelet

READ_ONLY = (
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
)


@contextmanager
def live_machine(folder: Path) -> Iterator[Path]:
    """A machine's root without recorded answers and without pods."""
    root = copy_of("two-socket-8gpu", folder)
    answer = json.loads((root / "answers/podresources.json").read_text())
    (root / "recorded.yaml").unlink()
    shutil.rmtree(root / "answers")
    socket = root / "var/lib/kubelet/pod-resources/kubelet.sock"
    socket.parent.mkdir()
    with kubelet(socket, {**answer, "list": {"podResources": []}}):
        yield root


@contextmanager
def publishing(
    plane: ControlPlane, folder: Path, node: str, kubeconfig: Path | None = None
) -> Iterator[Agent]:
    """An agent on a new Node, with an admin's rights where it isn't given others."""
    make_node(plane, node)
    with live_machine(folder) as root:
        settings: dict[str, Any] = {
            "liveRoot": root,
            "nodeName": node,
            "kubeconfig": kubeconfig or plane.kubeconfig,
            "nvml": "off",
        }
        with agent(root, node, **settings) as running:
            yield running


def second_publisher(plane: ControlPlane, node: str) -> None:
    """Somebody else has published the node's topology."""
    path = f"{TOPOLOGIES}/{node}?fieldManager=topology-updater"
    plane.ask("PATCH", path, topology(node), content_type=APPLY)


def reader(plane: ControlPlane, name: str) -> Path:
    """A kubeconfig of an account that may read and not publish."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role = {"metadata": {"name": name}, "rules": list(READ_ONLY)}
    plane.ask("POST", f"{rbac}/clusterroles", role)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    token = service_account_token(plane, name)
    plane.ask("POST", f"{rbac}/clusterrolebindings", binding)
    return plane.kubeconfig_for(name, token)
