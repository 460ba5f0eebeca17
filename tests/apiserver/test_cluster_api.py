"""What the agent asks of the API server, asked of a real one."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cluster.api import MOST_PAGES, Cluster, connect
from numa_agent.core.errors import SourceError
from numa_agent.core.publishing import Outcome, publish
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import (
    APPLY,
    TOPOLOGIES,
    grant,
    make_node,
    service_account_token,
    topology,
)

pytestmark = pytest.mark.apiserver


@pytest.fixture
def stranger(control_plane: ControlPlane) -> Iterator[Cluster]:
    with closing(connect(control_plane.stranger_kubeconfig)) as cluster:
        yield cluster


def make_pod(plane: ControlPlane, name: str, node: str | None) -> None:
    container = {"name": "main", "image": "none"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
    }
    plane.ask("POST", "/api/v1/namespaces/default/pods", pod)


def names(pods: Any) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in pods["items"])


def test_the_server_tells_the_version_that_go_mod_pins(
    control_plane: ControlPlane, programs: Path
) -> None:
    version = control_plane.ask("GET", "/version")["gitVersion"]
    assert programs.name.startswith(f"{version}-")


def test_the_crd_is_accepted_and_established(control_plane: ControlPlane) -> None:
    name = "noderesourcetopologies.topology.node.k8s.io"
    crd = control_plane.ask(
        "GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    )
    conditions = {each["type"]: each["status"] for each in crd["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert "KubernetesAPIApprovalPolicyConformant" in conditions
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert crd["status"]["storedVersions"] == ["v1alpha2"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
def test_an_object_can_be_read_in_both_versions(
    version: str, control_plane: ControlPlane, cluster: Cluster
) -> None:
    name = f"both-{version}"
    cluster.apply(topology(name))
    read = control_plane.ask("GET", f"{TOPOLOGIES.replace('v1alpha2', version)}/{name}")
    assert read["apiVersion"] == f"topology.node.k8s.io/{version}"
    assert read["zones"] == topology(name)["zones"]


@pytest.mark.parametrize("quantity", ["0", "100m", "1.5Gi", ".5", "-1", "1e3", "12E", "+2Ti"])
def test_a_resource_may_be_any_kubernetes_quantity(quantity: str, cluster: Cluster) -> None:
    cluster.apply(topology("quantities", quantity))


@pytest.mark.parametrize("quantity", ["", "x", "1 Gi", "1GiB", "1K", "--1"])
def test_a_resource_that_is_no_quantity_is_refused(quantity: str, cluster: Cluster) -> None:
    with pytest.raises(SourceError, match=r"HTTP 422: .*available"):
        cluster.apply(topology("no-quantities", quantity))


def test_the_first_apply_creates_the_object(cluster: Cluster, control_plane: ControlPlane) -> None:
    applied = cluster.apply(topology("first"))
    stored = control_plane.ask("GET", f"{TOPOLOGIES}/first")
    assert applied.created
    assert applied.resource_version == stored["metadata"]["resourceVersion"]
    assert stored["zones"] == topology("first")["zones"]
    assert stored["attributes"] == topology("first")["attributes"]


def test_an_identical_apply_leaves_the_resource_version(cluster: Cluster) -> None:
    first = cluster.apply(topology("same"))
    second = cluster.apply(topology("same"))
    assert not second.created
    assert second.resource_version == first.resource_version


def test_a_different_apply_changes_the_object(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    first = cluster.apply(topology("other", "8"))
    second = cluster.apply(topology("other", "7"))
    stored = control_plane.ask("GET", f"{TOPOLOGIES}/other")
    assert not second.created
    assert second.resource_version == stored["metadata"]["resourceVersion"]
    assert second.resource_version != first.resource_version
    assert stored["zones"][0]["resources"][0]["available"] == "7"


def test_what_another_manager_owns_survives_our_apply(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    metadata = {"name": "shared", "annotations": {"example.com/a": "1"}, "labels": {"b": "2"}}
    theirs = {
        **{key: topology("shared")[key] for key in ("apiVersion", "kind")},
        "metadata": metadata,
        "topologyPolicies": ["BestEffort"],
        "zones": [],
    }
    path = f"{TOPOLOGIES}/shared"
    control_plane.ask("PATCH", f"{path}?fieldManager=other", theirs, content_type=APPLY)

    cluster.apply(topology("shared"), force=True)
    cluster.apply(topology("shared", "1"))

    stored = control_plane.ask("GET", path)
    assert stored["metadata"]["annotations"] == {"example.com/a": "1"}
    assert stored["metadata"]["labels"] == {"b": "2"}
    assert stored["topologyPolicies"] == ["BestEffort"]
    assert stored["zones"][0]["resources"][0]["available"] == "1"
    managers = {each["manager"]: each for each in stored["metadata"]["managedFields"]}
    assert set(managers) == {"other", "numa-agent"}
    assert managers["numa-agent"]["operation"] == "Apply"
    assert set(managers["numa-agent"]["fieldsV1"]) == {"f:attributes", "f:zones"}


def test_a_node_is_read_by_name(cluster: Cluster, control_plane: ControlPlane) -> None:
    make_node(control_plane, "node-read")
    node: Any = cluster.node("node-read")
    assert (node["kind"], node["metadata"]["name"]) == ("Node", "node-read")


def test_a_missing_node_is_named(cluster: Cluster, control_plane: ControlPlane) -> None:
    with pytest.raises(SourceError) as caught:
        cluster.node("no-such-node")
    message = str(caught.value)
    assert f"can't get Node no-such-node at {control_plane.url}" in message
    assert "kubectl get nodes" in message


@pytest.mark.parametrize("page_size", [1, 2, 3, 500])
def test_pods_are_those_of_the_node_over_all_pages(
    page_size: int, cluster: Cluster, control_plane: ControlPlane
) -> None:
    node = f"paged-{page_size}"
    for number in range(3):
        make_pod(control_plane, f"{node}-{number}", node)
    make_pod(control_plane, f"{node}-elsewhere", f"{node}-other")
    make_pod(control_plane, f"{node}-unbound", None)

    pods: Any = cluster.pods_on(node, page_size=page_size)

    assert pods["kind"] == "PodList"
    assert names(pods) == [f"{node}-0", f"{node}-1", f"{node}-2"]
    assert "continue" not in pods["metadata"]


def test_a_node_without_pods_has_an_empty_list(cluster: Cluster) -> None:
    assert cluster.pods_on("nobody-here")["items"] == []


def test_the_number_of_pages_is_bounded(cluster: Cluster, control_plane: ControlPlane) -> None:
    for number in range(MOST_PAGES + 1):
        make_pod(control_plane, f"endless-{number}", "endless")
    with pytest.raises(SourceError, match=rf"list Pods on Node endless .*{MOST_PAGES} pages"):
        cluster.pods_on("endless", page_size=1)


def test_missing_rights_are_named(stranger: Cluster) -> None:
    with pytest.raises(SourceError, match=r"HTTP 403.* needs the RBAC rights to get nodes$"):
        stranger.node("any")
    with pytest.raises(SourceError, match=r"HTTP 403.* needs the RBAC rights to list pods$"):
        stranger.pods_on("any")
    with pytest.raises(SourceError, match=r"HTTP 403.* rights to get, create and patch noderes"):
        stranger.apply(topology("any"))


@pytest.mark.parametrize(
    ("verbs", "outcome"),
    [
        (["get", "patch"], 'cannot create resource "noderesourcetopologies"'),
        (["patch", "create"], 'cannot get resource "noderesourcetopologies"'),
        (["get", "create"], 'cannot patch resource "noderesourcetopologies"'),
        (["get", "patch", "create"], "created"),
    ],
)
def test_publishing_takes_the_rights_to_get_create_and_patch(
    verbs: list[str], outcome: str, control_plane: ControlPlane
) -> None:
    account = f"may-{'-'.join(verbs)}"
    token = service_account_token(control_plane, account)
    grant(control_plane, account, *verbs)
    with closing(connect(control_plane.kubeconfig_for(account, token))) as cluster:
        published = publish(cluster, topology(account))
    if outcome == "created":
        assert published.outcome is Outcome.CREATED
    else:
        assert published.outcome is Outcome.FORBIDDEN
        assert outcome in published.detail


def test_an_unknown_token_is_named(control_plane: ControlPlane) -> None:
    kubeconfig = control_plane.kubeconfig_for("unknown", "no-such-token")
    with (
        closing(connect(kubeconfig)) as cluster,
        pytest.raises(SourceError, match=r"HTTP 401.*renew"),
    ):
        cluster.node("any")


def test_a_server_of_another_certificate_authority_is_not_trusted(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    content = json.loads(control_plane.kubeconfig.read_text())
    del content["clusters"][0]["cluster"]["certificate-authority"]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(content))
    with (
        closing(connect(kubeconfig)) as cluster,
        pytest.raises(SourceError, match=r"certificate verify failed.*certificate-authority"),
    ):
        cluster.node("any")


def test_a_missing_crd_says_how_to_install_it(
    bare_control_plane: ControlPlane, crd: dict[str, Any]
) -> None:
    with closing(connect(bare_control_plane.kubeconfig)) as cluster:
        with pytest.raises(SourceError, match=r"HTTP 404.*kubectl apply -f manifests/crd/"):
            cluster.apply(topology("early"))
        bare_control_plane.install_crd(crd)
        assert cluster.apply(topology("early")).created
        bare_control_plane.stop()
        with pytest.raises(SourceError, match=r"is the server running"):
            cluster.apply(topology("early"))


def test_another_kind_is_a_mistake_of_the_caller(cluster: Cluster) -> None:
    with pytest.raises(
        ValueError, match="not a named object of a kind that is published: v1 Node"
    ):
        cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}})
