"""The agent under its real ServiceAccount token: what it needs works, the rest is forbidden."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from numa_agent.cluster.api import Cluster
from numa_agent.core.documents import items, mapping
from numa_agent.core.errors import ApiError
from numa_agent.core.publishing import Outcome, publish
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY, TOPOLOGIES, Json, config_map, device, topology
from tests.manifests.conftest import Build
from tests.manifests.objects import (
    NAMESPACE,
    as_user,
    bound_token,
    make_agent,
    named,
)
from tests.manifests.person import Person, bearer, settled

pytestmark = pytest.mark.apiserver

NODE, OTHER = "rights-a", "rights-b"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def token(plane: ControlPlane, built: Build) -> str:
    """The token of the agent's pod on NODE, once the policies hold."""
    daemon_set = named(built("overlays/koordinator"), "DaemonSet", "numa-agent")
    make_agent(plane, daemon_set, OTHER)
    token = make_agent(plane, daemon_set, NODE)
    person = bearer(plane, "settling", token)
    probe = f"{TOPOLOGIES}/{OTHER}?fieldManager=x&dryRun=All"
    settled("the policy", lambda: denied(person, "PATCH", probe))
    probe = "/api/v1/namespaces/kube-system/configmaps/any?fieldManager=x&dryRun=All"
    manifest = config_map("any", namespace="kube-system")
    settled(
        "the policy for ConfigMaps",
        lambda: "its token is bound to" in person.ask("PATCH", probe, manifest, APPLY).said,
    )
    return token


def denied(person: Person, verb: str, path: str) -> bool:
    name = path.partition("?")[0].rpartition("/")[2]
    return "its token is bound to" in person.ask(verb, path, topology(name), APPLY).said


@pytest.fixture
def agent(plane: ControlPlane, token: str) -> Iterator[Cluster]:
    """The agent's own client."""
    with closing(as_user(plane, "agent", token)) as cluster:
        yield cluster


@pytest.fixture
def person(plane: ControlPlane, token: str) -> Person:
    """The same token in the hands of whoever stole it."""
    return bearer(plane, "thief", token)


def test_it_reads_its_node_and_its_pods(agent: Cluster) -> None:
    assert agent.node(NODE)["kind"] == "Node"
    (pod,) = items(agent.pods_on(NODE).get("items"))
    assert mapping(mapping(pod).get("metadata"))["namespace"] == NAMESPACE


def test_it_watches_pods(person: Person) -> None:
    query = f"watch=1&timeoutSeconds=1&fieldSelector=spec.nodeName%3D{NODE}"
    assert person.ask("GET", f"/api/v1/pods?{query}").status == 200


@pytest.mark.parametrize("make", [topology, device], ids=["NodeResourceTopology", "Device"])
def test_it_makes_and_changes_its_nodes_objects(make: object, agent: Cluster) -> None:
    assert callable(make)
    assert publish(agent, make(NODE)).outcome is Outcome.CREATED
    assert publish(agent, make(NODE)).outcome is Outcome.UNCHANGED
    other = topology(NODE, "1") if make is topology else device(NODE, health=False)
    assert publish(agent, other).outcome is Outcome.CHANGED


def test_it_makes_its_nodes_configmap_of_gpus(agent: Cluster) -> None:
    manifest = config_map(f"numa-agent-gputopo-{NODE}", namespace="kube-system")
    assert publish(agent, manifest).outcome is Outcome.CREATED


@pytest.mark.parametrize("name", ["kubeadm-config", f"numa-agent-gputopo-{OTHER}"])
def test_another_configmap_of_kube_system_is_denied(name: str, agent: Cluster) -> None:
    published = publish(agent, config_map(name, namespace="kube-system"))
    assert published.outcome is Outcome.FORBIDDEN
    assert "its token is bound to" in published.detail


@pytest.mark.parametrize("namespace", ["default", NAMESPACE])
def test_it_tells_of_faults_at_nodes_and_pods(namespace: str, person: Person) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "told", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "x"},
        "reason": "CPUSetRefused",
    }
    path = f"/api/v1/namespaces/{namespace}/events"
    assert person.ask("POST", path, event).status == 201
    assert person.ask("PATCH", f"{path}/told", {"count": 2}, MERGE).status == 200


@pytest.mark.parametrize("make", [topology, device], ids=["NodeResourceTopology", "Device"])
def test_another_nodes_object_is_denied(make: object, agent: Cluster) -> None:
    assert callable(make)
    published = publish(agent, make(OTHER))
    assert published.outcome is Outcome.FORBIDDEN
    assert "its token is bound to" in published.detail


def test_another_nodes_object_that_is_there_is_not_to_be_changed(
    plane: ControlPlane, agent: Cluster
) -> None:
    for folder, manifest, other in (
        (TOPOLOGIES, topology("rights-c"), topology("rights-c", "1")),
        (DEVICES, device("rights-c"), device("rights-c", health=False)),
    ):
        made = plane.ask("POST", folder, manifest)
        with pytest.raises(ApiError, match=r"its token is bound to.*admission policy") as found:
            agent.apply(other, force=True)
        assert "RBAC" not in str(found.value)
        path = f"{folder}/rights-c"
        version = plane.ask("GET", path)["metadata"]["resourceVersion"]
        assert version == made["metadata"]["resourceVersion"]


def test_an_object_of_no_node_is_denied(person: Person) -> None:
    manifest = topology("any")
    manifest["metadata"] = {"generateName": NODE}
    assert "its token is bound to" in person.ask("POST", TOPOLOGIES, manifest).said
    assert "its token is bound to" in person.ask("POST", TOPOLOGIES, topology(OTHER)).said


def test_a_token_of_no_pod_writes_nothing(plane: ControlPlane, token: str) -> None:
    free = bound_token(plane, "numa-agent", None)
    with closing(as_user(plane, "free", free)) as cluster:
        published = publish(cluster, topology("rights-free"))
    assert published.outcome is Outcome.FORBIDDEN
    assert "its token is bound to" in published.detail


POD = f"/api/v1/namespaces/{NAMESPACE}/pods/numa-agent-{NODE}"
ANNOTATION: Json = {"metadata": {"annotations": {"numa-agent.io/assignment": "x"}}}
LABEL: Json = {"metadata": {"labels": {"x": "y"}}}
FORBIDDEN: dict[str, tuple[str, str, object]] = {
    "read a secret": ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets/any", None),
    "list secrets": ("GET", "/api/v1/secrets", None),
    "delete a pod": ("DELETE", POD, None),
    "evict a pod": ("POST", f"{POD}/eviction", {"metadata": {"name": "x"}}),
    "annotate a pod": ("PATCH", POD, ANNOTATION),
    "write a pod's status": ("PATCH", f"{POD}/status", LABEL),
    "bind a pod": ("POST", f"{POD}/binding", {"target": {"name": NODE}}),
    "run a command in a pod": ("POST", f"{POD}/exec?command=sh", None),
    "read a pod's log": ("GET", f"{POD}/log", None),
    "make a pod": ("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {}),
    "change its node": ("PATCH", f"/api/v1/nodes/{NODE}", LABEL),
    "change another node": ("PATCH", f"/api/v1/nodes/{OTHER}", LABEL),
    "list nodes": ("GET", "/api/v1/nodes", None),
    "reach through to a kubelet": ("GET", f"/api/v1/nodes/{NODE}/proxy/pods", None),
    "list everybody's topologies": ("GET", TOPOLOGIES, None),
    "delete its own topology": ("DELETE", f"{TOPOLOGIES}/{NODE}", None),
    "delete all topologies": ("DELETE", TOPOLOGIES, None),
    "delete its own device": ("DELETE", f"{DEVICES}/{NODE}", None),
    "read events": ("GET", f"/api/v1/namespaces/{NAMESPACE}/events", None),
    "delete events": ("DELETE", f"/api/v1/namespaces/{NAMESPACE}/events/x", None),
    "read its own configuration": (
        "GET",
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/numa-agent",
        None,
    ),
    "delete a ConfigMap": ("DELETE", "/api/v1/namespaces/kube-system/configmaps/x", None),
    "change the policy": (
        "PATCH",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/numa-agent-own-node",
        LABEL,
    ),
    "change its role": (
        "PATCH",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/numa-agent",
        LABEL,
    ),
    "make itself a token": (
        "POST",
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/numa-agent/token",
        {"spec": {}},
    ),
    "look at tokens of others": (
        "POST",
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {"spec": {"token": "x"}},
    ),
    "change the definition": (
        "PATCH",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
        "noderesourcetopologies.topology.node.k8s.io",
        LABEL,
    ),
}


@pytest.mark.parametrize("deed", FORBIDDEN)
def test_a_thief_of_the_token_may_not(deed: str, person: Person) -> None:
    verb, path, body = FORBIDDEN[deed]
    answer = person.ask(verb, path, body, MERGE if verb == "PATCH" else "application/json")
    assert answer.status == 403, answer
    assert "cannot" in answer.said  # RBAC's own word: nobody else refuses it by chance


def test_the_client_says_which_right_is_missing(agent: Cluster) -> None:
    with pytest.raises(ApiError, match="RBAC rights to get nodes/proxy"):
        agent.configz(NODE)
