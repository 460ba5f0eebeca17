"""Questions to an API server that refuses some of them: each costs itself alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cluster.answers import Answer
from numa_agent.cluster.connection import Request
from numa_agent.cluster.inspecting import Inspector
from numa_agent.config import Config
from numa_agent.core.doctor.facts import ClusterFacts
from numa_agent.core.errors import ApiError
from numa_agent.core.schedulers.ack import ASKED
from numa_agent.wiring.consulting import answers

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2"
NODE = "/api/v1/nodes/n"
GOOD: dict[str, tuple[int, Any]] = {
    WHO: (201, {"status": {"userInfo": {"username": "system:serviceaccount:a:b"}}}),
    MAY: (201, {"status": {"allowed": True}}),
    TOPOLOGIES: (200, {"resources": [{"name": "noderesourcetopologies"}]}),
    NODE: (200, {"metadata": {"name": "n", "uid": "u"}}),
}


@dataclass
class Server:
    """Answers by path, and 404 for any other; what was asked is kept."""

    paths: Mapping[str, tuple[int, Any]]
    asked: list[str] = field(default_factory=list)
    url: str = "https://server"

    def send(self, request: Request) -> Answer:
        self.asked.append(request.path)
        status, document = self.paths.get(request.path, (404, {}))
        if status == 0:
            raise ApiError("nobody answers")
        headers = {"Date": "Mon, 02 Mar 2026 08:10:30 GMT"}
        return Answer(status=status, headers=headers, body=json.dumps(document).encode())

    def close(self) -> None:
        pass


def consulted(
    server: Server, *, name: str | None = "n", scheduler: str = "kube-scheduler"
) -> ClusterFacts:
    config = Config(
        host_root=Path("/"),
        live_root=Path("/"),
        node_name=name,
        kubeconfig=None,
        scheduler=scheduler,
    )
    clock = datetime(2026, 3, 2, 8, 10, 30, tzinfo=UTC)
    return answers(Inspector(server, lambda: clock), config)


def test_a_server_that_answers_everything_is_told_of(tmp_path: Path) -> None:
    facts = consulted(Server(GOOD))
    assert facts.unreachable is None
    assert facts.user.value == "system:serviceaccount:a:b"
    assert facts.rights.value is not None
    assert all(facts.rights.value.values())
    assert facts.kinds.value is not None
    assert [each.served for each in facts.kinds.value] == [True]
    assert facts.clock_ahead.value == 0.0
    assert facts.node.value is not None
    assert facts.answers


@pytest.mark.parametrize("status", [0, 401, 500, 503])
def test_a_server_that_doesn_t_answer_or_know_us_is_asked_once(status: int) -> None:
    server = Server(GOOD | {WHO: (status, {})})
    facts = consulted(server)
    assert facts.unreachable is not None
    assert server.asked == [WHO]
    assert not facts.answers


@pytest.mark.parametrize("status", [403, 404, 429])
def test_who_we_are_may_be_kept_from_us_and_the_rest_is_asked(status: int) -> None:
    facts = consulted(Server(GOOD | {WHO: (status, {})}))
    assert facts.unreachable is None
    assert facts.user.why == "it doesn't tell who asks"
    assert facts.rights.value is not None
    assert facts.kinds.value is not None


def test_rights_that_can_t_be_asked_for_cost_themselves_alone() -> None:
    facts = consulted(Server(GOOD | {MAY: (403, {"message": "no"})}))
    assert facts.rights.value is None
    assert "SelfSubjectAccessReview" in facts.rights.why
    assert facts.kinds.value is not None


@pytest.mark.parametrize("status", [0, 403, 500])
def test_kinds_that_can_t_be_asked_for_are_not_missing(status: int) -> None:
    facts = consulted(Server(GOOD | {TOPOLOGIES: (status, {})}))
    assert facts.kinds.value is None
    assert facts.rights.value is not None


@pytest.mark.parametrize("answer", [(404, {}), (403, {}), (200, {}), (200, [])])
def test_a_node_that_isn_t_to_be_had_says_why(answer: tuple[int, Any]) -> None:
    facts = consulted(Server(GOOD | {NODE: answer}))
    assert facts.node.value is None
    assert facts.node.why
    assert facts.rights.value is not None


def test_without_a_name_no_node_is_asked_for() -> None:
    server = Server(GOOD)
    facts = consulted(server, name=None)
    assert "set --node-name" in facts.node.why
    assert not [path for path in server.asked if "/nodes/" in path]


@pytest.mark.parametrize(("asked", "wanted"), [("true", True), ("false", False)])
def test_the_map_of_gpus_needs_rights_where_the_node_asks_for_it(asked: str, wanted: bool) -> None:
    node = {"metadata": {"name": "n", "uid": "u", "annotations": {ASKED: asked}}}
    facts = consulted(Server(GOOD | {NODE: (200, node)}), scheduler="ack")
    assert facts.rights.value is not None
    assert ("configmaps" in {right.resource for right in facts.rights.value}) is wanted
