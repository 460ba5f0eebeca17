"""The component of manifests/monitoring/ joins any overlay; an API server takes its objects."""

import os
from pathlib import Path

import pytest
import yaml

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY
from tests.manifests import programs as tools
from tests.manifests.conftest import kustomize
from tests.manifests.objects import MANIFESTS, NAMESPACE, Json, named

__all__ = ["kustomize"]

GROUP = "monitoring.coreos.com"
NAMES = {"kind": "PrometheusRule", "plural": "prometheusrules", "singular": "prometheusrule"}
PATHS = {
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "PrometheusRule": f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/prometheusrules",
}


def joined(kustomize: Path, folder: Path, overlay: str) -> list[Json]:
    """What an admin's own overlay of a profile, a monitor and this component makes."""
    below = Path(os.path.relpath(MANIFESTS, folder))
    (folder / "kustomization.yaml").write_text(
        yaml.safe_dump(
            {
                "resources": [str(below / "overlays" / overlay)],
                "components": [str(below / "components/podmonitor"), str(below / "monitoring")],
            }
        )
    )
    return list(yaml.safe_load_all(tools.run(kustomize, "build", str(folder))))


@pytest.fixture
def rule_and_dashboard(kustomize: Path, tmp_path: Path) -> tuple[Json, Json]:
    objects = joined(kustomize, tmp_path, "kube-scheduler")
    return (
        named(objects, "PrometheusRule", "numa-agent"),
        named(objects, "ConfigMap", "numa-agent-dashboard"),
    )


@pytest.mark.parametrize("overlay", ["koordinator", "ack", "metrics-tls", "gpu"])
def test_it_adds_two_objects_of_ours_and_changes_none(
    overlay: str, kustomize: Path, tmp_path: Path
) -> None:
    objects = joined(kustomize, tmp_path, overlay)
    plain = list(
        yaml.safe_load_all(tools.run(kustomize, "build", str(MANIFESTS / "overlays" / overlay)))
    )
    added = [each for each in objects if each not in plain]
    assert len(added) == len(objects) - len(plain)
    assert {each["kind"] for each in added} == {"PodMonitor", "PrometheusRule", "ConfigMap"}
    for each in added:
        assert each["metadata"]["namespace"] == NAMESPACE
        assert each["metadata"]["labels"]["app.kubernetes.io/name"] == "numa-agent"


def test_what_it_adds_are_the_files(rule_and_dashboard: tuple[Json, Json]) -> None:
    rule, dashboard = rule_and_dashboard
    folder = MANIFESTS / "monitoring"
    assert rule["spec"] == yaml.safe_load((folder / "rules.yml").read_text(encoding="utf-8"))
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    text = (folder / "dashboard.json").read_text(encoding="utf-8")
    assert dashboard["data"] == {"numa-agent.json": text}


@pytest.mark.apiserver
def test_an_api_server_takes_both(
    rule_and_dashboard: tuple[Json, Json], own_plane: ControlPlane
) -> None:
    """By a stand-in of the operator's definition, which takes any spec."""
    own_plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    own_plane.install_crd(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{NAMES['plural']}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": NAMES,
                "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            },
        }
    )
    for each in rule_and_dashboard:
        path = f"{PATHS[each['kind']]}/{each['metadata']['name']}"
        query = "fieldManager=kubectl&fieldValidation=Strict"
        answer = own_plane.ask("PATCH", f"{path}?{query}", each, content_type=APPLY)
        assert answer["metadata"]["name"] == each["metadata"]["name"]
