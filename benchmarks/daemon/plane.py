"""A real API server that writes down every request, and the node's pods on it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.podwatch.__main__ import manifest, status
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import MERGE

NODE = "n"
PODS = "/api/v1/namespaces/default/pods"
CRD = Path(__file__).parents[2] / "manifests" / "crd" / "noderesourcetopologies.yaml"
FIXTURE_NODE = "fixtures/sysfs/two-socket-8gpu/answers/node.json"
ASSIGNMENT = "numa-agent.io/assignment"

Json = dict[str, Any]


class Plane(ControlPlane):
    """etcd and kube-apiserver whose every request is recorded when it is answered."""

    def _write_audit_policy(self) -> None:
        self._audit_log = self._folder / "audit.log"
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata"}],
        }
        (self._folder / "audit-policy.yaml").write_text(json.dumps(policy))

    def account(self, folder: Path) -> Path:
        """Lay what kubelet mounts for a pod's ServiceAccount; here it is the admin's token."""
        folder.mkdir()
        (folder / "token").write_text(self._token)
        (folder / "ca.crt").write_text(self.ca_file.read_text())
        return folder

    def asked(self, agent: str) -> Counter[tuple[str, str]]:
        """How often a client, by its User-Agent, sent each verb about each resource."""
        found = {}
        for line in self._audited():
            event = json.loads(line)
            if event.get("userAgent", "").startswith(agent):
                # A watch is written down when it begins and when it ends.
                resource = event.get("objectRef", {}).get("resource", "-")
                found[event["auditID"]] = event["verb"], resource
        return Counter(found.values())


def lay_node(plane: ControlPlane) -> None:
    """Make the Node with what it can hold."""
    node = json.loads((Path(__file__).parents[2] / FIXTURE_NODE).read_text())
    plane.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
    content = {key: node["status"][key] for key in ("capacity", "allocatable")}
    path = f"/api/v1/nodes/{NODE}/status"
    plane.ask("PATCH", path, {"status": content}, content_type=MERGE)


def assigned(cpus: str) -> Json:
    """The annotation that gives a pod CPUs of its own."""
    return {ASSIGNMENT: json.dumps({"version": 1, "cpus": cpus})}


def make_pod(plane: ControlPlane, number: int, cpus: str | None) -> Json:
    """A running pod of two containers, with CPUs of its own where some are given."""
    wanted = manifest(number)
    wanted["spec"]["automountServiceAccountToken"] = False
    if cpus is not None:
        wanted["metadata"]["annotations"] |= assigned(cpus)
        for each in wanted["spec"]["containers"]:
            each["resources"] = {"limits": {"cpu": "1", "memory": "4Gi"}}
    plane.ask("POST", PODS, wanted)
    path = f"{PODS}/pod-{number}/status"
    return plane.ask("PATCH", path, status(number), content_type=MERGE)


def change(plane: ControlPlane, number: int, annotations: Json) -> None:
    """Change annotations of a pod."""
    body = {"metadata": {"annotations": annotations}}
    plane.ask("PATCH", f"{PODS}/pod-{number}", body, content_type=MERGE)
