"""What each answer of an API server becomes, over real HTTP."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cluster.answers import retry_after
from numa_agent.cluster.api import Cluster, connect
from numa_agent.core.errors import ApiError
from numa_agent.core.publishing import Outcome, outcome_of, publish
from tests.cluster.loopback import Bad, Loopback, kubeconfig_of, loopback, status_of

MANIFEST: dict[str, Any] = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {"name": "n"},
    "zones": [],
}
PATH = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n"
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SILENT_SECONDS = 1.0
"""The patience with a server that is to say nothing; with all others it is long."""


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as server:
        yield server


@pytest.fixture
def cluster(server: Loopback, tmp_path: Path) -> Iterator[Cluster]:
    with closing(connect(kubeconfig_of(server.url, tmp_path), read_seconds=60.0)) as cluster:
        yield cluster


@pytest.fixture
def hasty(server: Loopback, tmp_path: Path) -> Iterator[Cluster]:
    """The same without the patience."""
    kubeconfig = kubeconfig_of(server.url, tmp_path)
    with closing(connect(kubeconfig, read_seconds=SILENT_SECONDS)) as cluster:
        yield cluster


def body(code: int, reason: str, **details: object) -> bytes:
    return json.dumps(status_of(code, reason, "said so") | {"details": details}).encode()


NOT_READY = json.dumps(
    status_of(403, "Forbidden", "n is forbidden: not yet ready to handle request")
).encode()
"""What a server that starts says until its admission plugins have what they go by."""


def test_the_agent_names_itself_and_its_field_manager(server: Loopback, cluster: Cluster) -> None:
    assert publish(cluster, MANIFEST).outcome is Outcome.CREATED
    assert server.asked == [f"GET {PATH}", f"PATCH {PATH}?fieldManager=numa-agent&force=false"]
    assert {each["User-Agent"] for each in server.seen} == {"numa-agent"}
    assert {each["Authorization"] for each in server.seen} == {"Bearer secret"}
    assert server.seen[1]["Content-Type"] == "application/apply-patch+yaml"


@pytest.mark.parametrize("fails_at", ["read", "apply"])
@pytest.mark.parametrize(
    ("bad", "outcome"),
    [
        (Bad(status=429), Outcome.THROTTLED),
        (Bad(status=500), Outcome.UNAVAILABLE),
        (Bad(status=502, body=b"<html>bad gateway</html>"), Outcome.UNAVAILABLE),
        (Bad(status=503), Outcome.UNAVAILABLE),
        (Bad(status=504), Outcome.UNAVAILABLE),
        (Bad(silence=8 * SILENT_SECONDS), Outcome.UNAVAILABLE),
        (Bad(status=301, headers={"Location": "/login"}), Outcome.UNAVAILABLE),
        (Bad(status=200, body=b"<html>login</html>"), Outcome.UNAVAILABLE),
        (Bad(status=200, body=b"[]"), Outcome.UNAVAILABLE),
        (Bad(status=200, body=b"[" * 100_000), Outcome.UNAVAILABLE),
        (Bad(status=401), Outcome.FORBIDDEN),
        (Bad(status=403), Outcome.FORBIDDEN),
        (Bad(status=403, body=NOT_READY), Outcome.UNAVAILABLE),
        (Bad(status=404, body=b"404 page not found\n"), Outcome.NO_CRD),
        (Bad(status=405), Outcome.NO_CRD),
        (Bad(status=409, body=body(409, "Conflict")), Outcome.CONFLICT),
        (Bad(status=413), Outcome.TOO_LARGE),
        (Bad(status=400), Outcome.REFUSED),
        (Bad(status=422), Outcome.REFUSED),
        (Bad(status=418), Outcome.REFUSED),
    ],
)
def test_a_bad_answer_has_its_outcome_and_the_next_look_finds_the_truth(
    bad: Bad, outcome: Outcome, fails_at: str, server: Loopback, cluster: Cluster, hasty: Cluster
) -> None:
    publish(cluster, MANIFEST)
    changed = {**MANIFEST, "topologyPolicies": ["None"]}
    server.objects[PATH]["metadata"]["managedFields"] = [{"manager": "numa-agent"}]
    server.asked.clear()
    server.bad = [bad]
    asked = hasty if bad.silence else cluster
    ask = asked.read if fails_at == "read" else asked.apply
    verb = "get" if fails_at == "read" else "patch"
    with pytest.raises(ApiError, match=f"can't {verb} NodeResourceTopology n at ") as caught:
        ask(changed)
    assert outcome_of(caught.value) is outcome
    assert len(server.asked) == 1
    assert publish(cluster, changed).outcome is Outcome.CHANGED
    assert server.objects[PATH]["topologyPolicies"] == ["None"]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": " 7 "}, 7),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "1.5"}, None),
        ({"Retry-After": "9" * 400}, None),
        ({}, None),
        (
            {
                "Date": format_datetime(NOW, usegmt=True),
                "Retry-After": format_datetime(NOW + timedelta(seconds=90), usegmt=True),
            },
            90,
        ),
        ({"Retry-After": "Wed, 04 Mar 2020 05:06:07 GMT"}, 0),
    ],
)
def test_the_wait_that_a_server_asks_for_is_handed_on(
    headers: Mapping[str, str],
    seconds: float | None,
    status: int,
    server: Loopback,
    cluster: Cluster,
) -> None:
    server.bad = [Bad(status=status, headers=headers)]
    assert publish(cluster, MANIFEST).retry_after == seconds


def test_the_wait_may_stand_in_the_status_only(server: Loopback, cluster: Cluster) -> None:
    server.bad = [Bad(status=429, body=body(429, "TooManyRequests", retryAfterSeconds=3))]
    assert publish(cluster, MANIFEST).retry_after == 3


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Wed, 04 Mar 2026 05:06:08 GMT", 1),
        ("Wednesday, 04-Mar-26 05:06:08 GMT", 1),
        ("Wed Mar  4 05:06:08 2026", 1),
        ("Wed, 04 Mar 2026 05:06:06 GMT", 0),
        ("Wed, 99 Mar 2026 05:06:06 GMT", None),
        ("", None),
        ("٣", None),
    ],
)
def test_a_wait_may_be_a_moment(value: str, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    "causes",
    [None, [], {}, [None], [{"reason": "FieldManagerConflict"}], [{"message": 'with "x"'}]],
)
def test_a_conflict_of_another_shape_names_nobody(
    causes: object, server: Loopback, cluster: Cluster
) -> None:
    server.bad = [Bad(status=409, body=body(409, "Conflict", causes=causes))]
    with pytest.raises(ApiError) as caught:
        cluster.apply(MANIFEST)
    assert (caught.value.status, caught.value.managers) == (409, ())


def test_a_server_that_is_gone_has_no_status(server: Loopback, tmp_path: Path) -> None:
    kubeconfig = kubeconfig_of("http://127.0.0.1:1", tmp_path)
    with closing(connect(kubeconfig)) as cluster, pytest.raises(ApiError) as caught:
        cluster.read(MANIFEST)
    assert (caught.value.status, caught.value.reason, caught.value.retry_after) == (None, "", None)


def test_kubelet_s_configz_is_read_through_the_api_server(
    server: Loopback, cluster: Cluster
) -> None:
    answer = {"kubeletconfig": {"cpuManagerPolicy": "static"}}
    server.objects["/api/v1/nodes/n.example/proxy/configz"] = answer
    assert cluster.configz("n.example") == answer


def test_a_node_s_name_can_not_leave_its_path(server: Loopback, cluster: Cluster) -> None:
    with pytest.raises(ApiError, match="HTTP 404"):
        cluster.configz("../../secrets?x=#")
    assert server.asked == ["GET /api/v1/nodes/..%2F..%2Fsecrets%3Fx%3D%23/proxy/configz"]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({}, "not a named object of a kind"),
        ({**MANIFEST, "kind": "Node"}, "not a named object of a kind"),
        ({**MANIFEST, "apiVersion": "v1"}, "not a named object of a kind"),
        ({**MANIFEST, "metadata": {}}, "not a named object of a kind"),
        ({**MANIFEST, "metadata": {"name": "n", "namespace": "a"}}, "has no namespace"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
            "ConfigMap c needs a namespace",
        ),
    ],
)
def test_a_manifest_that_is_not_ours_to_write_is_a_mistake_of_the_caller(
    manifest: dict[str, Any], message: str, server: Loopback, cluster: Cluster
) -> None:
    with pytest.raises(ValueError, match=message):
        publish(cluster, manifest)
    assert server.asked == []
