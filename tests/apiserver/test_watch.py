"""Following a node's pods on a real API server, through its bad days."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from numa_agent.cluster.watch import Patience
from numa_agent.core.backoff import BackOff
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import MERGE, make_node
from tests.apiserver.proxy import Proxy, proxied
from tests.cluster.following import Following, eventually, following

pytestmark = pytest.mark.apiserver

PODS = "/api/v1/namespaces/default/pods"
PATIENT = Patience(
    silence=90.0, grace=0.2, first=60.0, back_off=BackOff(first=0.1, most=0.5, obeyed=1.0)
)
EVENTS = 1000


def make_pod(plane: ControlPlane, name: str, node: str) -> str:
    """Make a pod on a node and return its uid."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none"}]},
    }
    uid: str = plane.ask("POST", PODS, pod)["metadata"]["uid"]
    return uid


def remove(plane: ControlPlane, name: str) -> None:
    plane.ask("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")


def patch(plane: ControlPlane, path: str, content: dict[str, object]) -> None:
    plane.ask("PATCH", f"{PODS}/{path}", content, content_type=MERGE)


def annotate(plane: ControlPlane, name: str, value: str) -> None:
    patch(plane, name, {"metadata": {"annotations": {"cpuset": value}}})


def annotation(agent: Following, name: str) -> str | None:
    if agent.fault():
        return None
    pods = {pod.name: pod for pod in agent.watch.pods().pods}
    return pods[name].annotations.get("cpuset") if name in pods else None


def user(plane: ControlPlane, name: str) -> Path:
    """A kubeconfig for an account with all rights, so that its requests can be told apart."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    plane.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
    }
    plane.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    return plane.kubeconfig_for(name, token(plane, name))


def token(plane: ControlPlane, name: str) -> str:
    path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    found: str = plane.ask("POST", path, request)["status"]["token"]
    return found


def account_of(name: str) -> str:
    return f"system:serviceaccount:default:{name}"


def through(proxy: Proxy, plane: ControlPlane, kubeconfig: Path) -> Path:
    """Write a kubeconfig that goes through the proxy."""
    path = kubeconfig.with_suffix(".proxied")
    path.write_text(kubeconfig.read_text().replace(plane.url, f"https://127.0.0.1:{proxy.port}"))
    return path


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    port = urlsplit(control_plane.url).port
    assert port is not None
    with proxied(port) as proxy:
        yield proxy


def test_pods_that_come_change_and_go_are_heard_of_with_one_list_and_one_watch(
    control_plane: ControlPlane,
) -> None:
    make_node(control_plane, "w-plain")
    make_pod(control_plane, "w-old", "w-plain")
    with following(user(control_plane, "w-plain"), "w-plain", PATIENT) as agent:
        assert agent.names() == ["w-old"]
        make_pod(control_plane, "w-new", "w-plain")
        eventually(lambda: agent.knows("w-new", "w-old"))
        annotate(control_plane, "w-new", "b")
        eventually(lambda: annotation(agent, "w-new") == "b")
        agent.running[0] = frozenset()
        remove(control_plane, "w-old")
        eventually(lambda: agent.knows("w-new"))
        # It is woken when the pods are known.
        eventually(lambda: len(agent.woken) == 4)
        assert control_plane.pod_requests(account_of("w-plain")) == ["list", "watch"]


def test_pods_elsewhere_and_heartbeats_wake_nobody(control_plane: ControlPlane) -> None:
    make_node(control_plane, "w-quiet")
    make_pod(control_plane, "w-beats", "w-quiet")
    with following(control_plane.kubeconfig, "w-quiet", PATIENT) as agent:
        assert agent.names() == ["w-beats"]
        make_pod(control_plane, "w-elsewhere", "w-other")
        for second in range(5):
            beat = {
                "type": "Ready",
                "status": "False",
                "lastProbeTime": f"2026-01-01T00:00:0{second}Z",
            }
            patch(control_plane, "w-beats/status", {"status": {"conditions": [beat]}})
        annotate(control_plane, "w-beats", "b")
        eventually(lambda: annotation(agent, "w-beats") == "b")
        eventually(lambda: len(agent.woken) > 1)
        assert len(agent.woken) == 2


def test_a_thousand_events_cost_little_and_no_list(control_plane: ControlPlane) -> None:
    make_node(control_plane, "w-many")
    make_pod(control_plane, "w-busy", "w-many")
    with following(user(control_plane, "w-many"), "w-many", PATIENT) as agent:
        assert agent.names() == ["w-busy"]
        before = agent.watch.cpu_seconds
        for number in range(EVENTS):
            annotate(control_plane, "w-busy", str(number))
        eventually(lambda: annotation(agent, "w-busy") == str(EVENTS - 1))
        spent = agent.watch.cpu_seconds - before
        print(f"{spent / EVENTS * 1e6:.0f} us of CPU per event")
        assert spent / EVENTS < 0.002
        eventually(lambda: len(agent.woken) == EVENTS + 1)
        assert control_plane.pod_requests(account_of("w-many")) == ["list", "watch"]


def test_a_connection_that_breaks_costs_no_list(control_plane: ControlPlane, proxy: Proxy) -> None:
    make_node(control_plane, "w-cut")
    kubeconfig = through(proxy, control_plane, user(control_plane, "w-cut"))
    with following(kubeconfig, "w-cut", PATIENT) as agent:
        assert agent.names() == []
        names: list[str] = []
        for number in range(3):
            proxy.cut()
            names.append(f"w-cut-{number}")
            make_pod(control_plane, names[-1], "w-cut")
            eventually(lambda: agent.knows(*names))
        asked = control_plane.pod_requests(account_of("w-cut"))
        assert asked.count("list") == 1
        assert asked[-2:] == ["compare", "watch"]
        assert len(asked) <= 8


def test_a_network_that_loses_everything_is_noticed_and_costs_no_list(
    control_plane: ControlPlane, proxy: Proxy
) -> None:
    make_node(control_plane, "w-lost")
    kubeconfig = through(proxy, control_plane, user(control_plane, "w-lost"))
    with following(kubeconfig, "w-lost", PATIENT, silence=1.0) as agent:
        assert agent.names() == []
        proxy.lose()
        make_pod(control_plane, "w-unheard", "w-lost")
        eventually(lambda: "can't" in agent.fault())
        proxy.forwarding = True
        eventually(lambda: agent.knows("w-unheard"))
        asked = control_plane.pod_requests(account_of("w-lost"))
        assert asked.count("list") == 1


def test_it_ends_at_once_while_the_network_is_lost(
    control_plane: ControlPlane, proxy: Proxy
) -> None:
    make_node(control_plane, "w-end")
    kubeconfig = through(proxy, control_plane, control_plane.kubeconfig)
    with following(kubeconfig, "w-end", PATIENT) as agent:
        assert agent.names() == []
        proxy.lose()


def test_a_user_without_rights_is_told_which_are_missing(control_plane: ControlPlane) -> None:
    with following(control_plane.stranger_kubeconfig, "w-plain", PATIENT) as agent:
        assert "needs the RBAC rights to list and watch pods" in agent.fault()


def test_a_token_that_was_rotated_is_read_again(control_plane: ControlPlane, proxy: Proxy) -> None:
    make_node(control_plane, "w-token")
    kubeconfig = through(proxy, control_plane, user(control_plane, "w-token"))
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    with following(kubeconfig, "w-token", PATIENT) as agent:
        assert agent.names() == []
        control_plane.ask("DELETE", f"{accounts}/w-token")
        old = kubeconfig.read_text()
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "w-token"}}
        control_plane.ask("POST", accounts, account)
        # The server takes a while to see that the old account has gone.
        for _ in range(30):
            time.sleep(1)
            proxy.cut()
            with suppress(AssertionError):
                eventually(lambda: "HTTP 401" in agent.fault(), 2.0)
                break
        assert "HTTP 401" in agent.fault()
        make_pod(control_plane, "w-signed", "w-token")
        fresh = control_plane.kubeconfig_for("w-token", token(control_plane, "w-token"))
        through(proxy, control_plane, fresh)
        assert kubeconfig.read_text() != old
        eventually(lambda: agent.knows("w-signed"))


@pytest.fixture
def own(bare_control_plane: ControlPlane) -> ControlPlane:
    make_node(bare_control_plane, "n")
    return bare_control_plane


def test_a_server_that_is_killed_is_found_again(own: ControlPlane) -> None:
    make_pod(own, "p1", "n")
    with following(own.kubeconfig, "n", PATIENT) as agent:
        assert agent.names() == ["p1"]
        own.halt()
        eventually(lambda: "is the server running" in agent.fault())
        own.resume()
        make_pod(own, "p2", "n")
        eventually(lambda: agent.knows("p1", "p2"))
        assert agent.watch.conditions() == ()


def test_a_server_on_an_empty_etcd_takes_no_pod_that_still_runs(own: ControlPlane) -> None:
    for number in range(60):
        make_pod(own, f"filler-{number}", "elsewhere")
    uid = make_pod(own, "p1", "n")
    with following(own.kubeconfig, "n", PATIENT) as agent:
        assert agent.names() == ["p1"]
        agent.running[0] = frozenset({uid})
        own.halt()
        own.load(None)
        own.resume()
        make_node(own, "n")
        make_pod(own, "p2", "n")
        eventually(lambda: agent.knows("p1", "p2"))
        (said,) = agent.watch.conditions()
        assert "default/p1" in said.message
        assert "went back from resourceVersion" in said.message
        agent.running[0] = frozenset()
        eventually(lambda: agent.knows("p2"))
        assert agent.watch.conditions() == ()
        # The stream is a good one: a watch from the old version would stay silent.
        annotate(own, "p2", "b")
        eventually(lambda: annotation(agent, "p2") == "b")


def test_a_server_with_an_older_state_is_believed_but_for_what_runs(own: ControlPlane) -> None:
    make_pod(own, "p1", "n")
    own.halt()
    older = own.save()
    own.resume()
    with following(own.kubeconfig, "n", PATIENT) as agent:
        assert agent.names() == ["p1"]
        uid = make_pod(own, "p2", "n")
        for number in range(60):
            make_pod(own, f"filler-{number}", "elsewhere")
        agent.running[0] = frozenset({uid})
        remove(own, "p1")
        eventually(lambda: agent.knows("p2"))
        own.halt()
        own.load(older)
        own.resume()
        eventually(lambda: agent.knows("p1", "p2"))
        (said,) = agent.watch.conditions()
        assert "default/p2" in said.message
        agent.running[0] = frozenset()
        eventually(lambda: agent.knows("p1"))


def test_what_a_compaction_took_is_listed_anew(own: ControlPlane) -> None:
    make_pod(own, "p1", "n")
    make_pod(own, "p2", "n")
    port = urlsplit(own.url).port
    assert port is not None
    with (
        proxied(port) as proxy,
        following(through(proxy, own, own.kubeconfig), "n", PATIENT) as agent,
    ):
        assert sorted(agent.names()) == ["p1", "p2"]
        agent.running[0] = frozenset()
        proxy.lose()
        proxy.cut()
        remove(own, "p1")
        make_pod(own, "p3", "n")
        own.compact()
        own.halt()
        own.resume()
        proxy.forwarding = True
        eventually(lambda: agent.knows("p2", "p3"))
        asked = own.pod_requests("admin")
        assert asked.count("list") == 2
        assert agent.watch.conditions() == ()
