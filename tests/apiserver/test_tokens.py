"""Who may scrape, asked of a real API server and served over a real socket."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from numa_agent.cluster.api import Cluster, connect
from numa_agent.core.access import User
from numa_agent.core.errors import ApiError
from numa_agent.serve.access import GOOD_SECONDS, Tokens
from numa_agent.serve.server import Server
from numa_agent.serve.serving import serve
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import Json, service_account_token
from tests.core.test_report import GOOD
from tests.serve.clients import Reply, get
from tests.serve.reports import Clock, board

pytestmark = pytest.mark.apiserver

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def user_name(account: str) -> str:
    return f"system:serviceaccount:default:{account}"


def let_scrape(plane: ControlPlane, account: str, cluster: Cluster) -> None:
    """Give a ServiceAccount the right to get /metrics, and wait until the server knows it."""
    meta = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": account}}
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    bind(plane, account, {**meta, "kind": "ClusterRole", "rules": [rule]})
    deadline = time.monotonic() + 60
    while not cluster.may_get(User(name=user_name(account)), "/metrics"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def bind(plane: ControlPlane, account: str, role: Json) -> None:
    plane.ask("POST", f"{RBAC}/clusterroles", role)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": role["metadata"]["name"],
    }
    binding = {
        **{key: role[key] for key in ("apiVersion", "metadata")},
        "kind": "ClusterRoleBinding",
        "subjects": [subject],
        "roleRef": reference,
    }
    plane.ask("POST", f"{RBAC}/clusterrolebindings", binding)


def token_for(plane: ControlPlane, account: str, **spec: object) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    token: str = plane.ask("POST", f"{ACCOUNTS}/{account}/token", request)["status"]["token"]
    return token


@contextmanager
def served(cluster: Cluster, clock: Clock | None = None) -> Iterator[Server]:
    """The pages, with tokens checked by the cluster."""
    told = board()
    told.passed(GOOD)
    tokens = Tokens(cluster.user_of, cluster.may_get, clock or Clock())
    with closing(serve(told, "127.0.0.1", 0, tokens=tokens)) as server:
        yield server


def asked(server: Server, token: str, path: str = "/metrics") -> Reply:
    return get(server, path, Authorization=f"Bearer {token}")


def test_a_token_stands_for_its_service_account(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    user = cluster.user_of(service_account_token(control_plane, "whose"))
    assert user is not None
    assert user.name == user_name("whose")
    assert "system:serviceaccounts:default" in user.groups
    assert user.uid


@pytest.mark.parametrize("token", ["nobody", "a.b.c", "x" * 5000, "eyJhbGciOiJub25lIn0.e30."])
def test_a_token_of_nobody_is_nobody(token: str, cluster: Cluster) -> None:
    assert cluster.user_of(token) is None


def test_a_token_for_another_audience_is_not_taken(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    service_account_token(control_plane, "elsewhere")
    token = token_for(control_plane, "elsewhere", audiences=["somebody-else"])
    assert cluster.user_of(token) is None
    assert cluster.user_of(token, ["metrics"]) is None
    user = cluster.user_of(token, ["metrics", "somebody-else"])
    assert user is not None
    assert user.name == user_name("elsewhere")


def test_a_token_of_an_account_that_is_gone_is_nobody(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    token = service_account_token(control_plane, "gone")
    control_plane.ask("DELETE", f"{ACCOUNTS}/gone")
    deadline = time.monotonic() + 90  # the server remembers a token for 10 s
    while cluster.user_of(token) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_rights_are_asked_for_one_path_and_verb(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    service_account_token(control_plane, "scraper")
    let_scrape(control_plane, "scraper", cluster)
    scraper = User(name=user_name("scraper"))
    assert not cluster.may_get(scraper, "/statusz")
    assert not cluster.may_get(User(name=user_name("nobody")), "/metrics")


def test_who_may_scrape_gets_metrics_and_others_do_not(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    good = service_account_token(control_plane, "may-scrape")
    poor = service_account_token(control_plane, "may-not-scrape")
    let_scrape(control_plane, "may-scrape", cluster)
    other = token_for(control_plane, "may-scrape", audiences=["somebody-else"])
    with served(cluster) as server:
        assert b"numa_agent_passes_total" in asked(server, good).body
        assert asked(server, good, "/statusz").status == 403
        refused = asked(server, poor)
        assert refused.status == 403
        assert refused.lines[0].startswith(f"{user_name('may-not-scrape')} may not get /metrics")
        assert asked(server, other).status == 401
        assert asked(server, "nonsense").status == 401
        assert get(server).status == 401
        assert get(server, "/healthz").status == 200
        assert get(server, "/readyz").lines == ["ready"]


def test_the_agent_needs_the_rights_to_create_both_reviews(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    own = service_account_token(control_plane, "agent-reviews")
    scraper = service_account_token(control_plane, "scrapes-agent")
    let_scrape(control_plane, "scrapes-agent", cluster)
    clock = Clock()
    with (
        closing(connect(control_plane.kubeconfig_for("agent-reviews", own))) as agent,
        served(agent, clock) as server,
    ):
        assert asked(server, scraper).status == 503
        assert "rights to create tokenreviews" in get(server, "/readyz").lines[1]
        with pytest.raises(ApiError, match=r"rights to create subjectaccessreviews"):
            agent.may_get(User(name="n"), "/metrics")
        meta = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": "agent-reviews"},
        }
        rules = [
            {"apiGroups": [group], "resources": [resource], "verbs": ["create"]}
            for group, resource in (
                ("authentication.k8s.io", "tokenreviews"),
                ("authorization.k8s.io", "subjectaccessreviews"),
            )
        ]
        bind(control_plane, "agent-reviews", {**meta, "kind": "ClusterRole", "rules": rules})
        deadline = time.monotonic() + 60
        while asked(server, scraper).status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.2)
            clock.now += 1
        assert get(server, "/readyz").lines == ["ready"]


def test_an_outage_lets_known_tokens_go_on_until_their_time_is_over(
    bare_control_plane: ControlPlane,
) -> None:
    plane, clock = bare_control_plane, Clock()
    with (
        closing(connect(plane.kubeconfig)) as cluster,
        served(cluster, clock) as server,
    ):
        good = service_account_token(plane, "scraper")
        late = token_for(plane, "scraper")
        let_scrape(plane, "scraper", cluster)
        assert asked(server, good).status == 200
        plane.halt()
        assert asked(server, good).status == 200
        assert asked(server, late).status == 503
        reply = get(server, "/readyz")
        assert (reply.status, reply.lines[0]) == (200, "ready")
        assert reply.lines[1].startswith("tokens can't be checked: can't create TokenReview at")
        clock.now += GOOD_SECONDS
        assert asked(server, good).status == 503
        plane.resume()
        assert asked(server, good).status == 200
        assert asked(server, late).status == 200
        assert get(server, "/readyz").lines == ["ready"]
