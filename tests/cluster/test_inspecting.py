"""What is asked of the API server, and what is made of answers of any shape and of its clock."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from numa_agent.cluster.answers import Answer
from numa_agent.cluster.connection import Request
from numa_agent.cluster.inspecting import Inspector
from numa_agent.core.doctor.rights import Right
from numa_agent.core.errors import ApiError

NOW = datetime(2026, 3, 2, 8, 10, 30, 500_000, tzinfo=UTC)
DATE = "Mon, 02 Mar 2026 08:10:30 GMT"
PATCH = Right(group="topology.node.k8s.io", resource="noderesourcetopologies", verb="patch")


class Told:
    """A server that gives one answer again and again, and remembers what it was asked."""

    url = "https://server"

    def __init__(
        self, document: object, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.answer = Answer(
            status=status, headers=headers or {}, body=json.dumps(document).encode()
        )
        self.asked: list[Request] = []

    def send(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.answer

    def close(self) -> None:
        pass


def inspector(server: Told, *moments: datetime) -> Inspector:
    times: Iterator[datetime] = iter(moments or (NOW, NOW))
    return Inspector(server, lambda: next(times))


def body(server: Told) -> dict[str, object]:
    text = server.asked[0].body
    assert text is not None
    found: dict[str, object] = json.loads(text)
    return found


def test_a_right_is_asked_for_by_group_resource_and_verb_in_every_namespace() -> None:
    server = Told({"status": {"allowed": True}})
    assert inspector(server).may(PATCH)
    assert body(server)["spec"] == {
        "resourceAttributes": {
            "group": "topology.node.k8s.io",
            "resource": "noderesourcetopologies",
            "verb": "patch",
        }
    }
    assert server.asked[0].method == "POST"


def test_a_part_of_a_resource_and_a_namespace_are_asked_for_as_such() -> None:
    server = Told({"status": {"allowed": True}})
    proxy = Right(group="", resource="nodes/proxy", verb="get", namespace="kube-system")
    assert inspector(server).may(proxy)
    assert body(server)["spec"] == {
        "resourceAttributes": {
            "group": "",
            "resource": "nodes",
            "subresource": "proxy",
            "verb": "get",
            "namespace": "kube-system",
        }
    }


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"status": None},
        {"status": {"allowed": "true"}},
        {"status": {"allowed": True, "denied": True}},
    ],
)
def test_an_unclear_answer_is_no_right(document: object) -> None:
    assert not inspector(Told(document)).may(PATCH)


@pytest.mark.parametrize(("document", "status"), [([], 200), ({"kind": "Status"}, 403), ("", 500)])
def test_a_refusal_is_an_error_that_says_what_to_do(document: object, status: int) -> None:
    with pytest.raises(ApiError, match="can't create SelfSubjectAccessReview at https://server"):
        inspector(Told(document, status)).may(PATCH)


def test_who_asks_is_told_and_isn_t_by_older_servers() -> None:
    told = Told({"status": {"userInfo": {"username": "admin"}}}, 201)
    assert inspector(told).user() == "admin"
    assert inspector(Told({}, 404)).user() is None
    assert inspector(Told({"status": []})).user() is None


@pytest.mark.parametrize(
    ("resources", "served"),
    [
        ([{"name": "devices"}, {"name": "devices/status"}], True),
        ([{"name": "podgroups"}], False),
        ([{"name": ["devices"]}, 7], False),
        (None, False),
    ],
)
def test_a_kind_is_served_where_it_is_listed(resources: object, served: bool) -> None:
    server = Told({"resources": resources})
    assert inspector(server).serves("g.io", "v1", "devices") is served
    assert server.asked[0].path == "/apis/g.io/v1"


def test_a_group_that_isn_t_there_serves_nothing() -> None:
    assert inspector(Told({}, 404)).serves("g.io", "v1", "devices") is False


@pytest.mark.parametrize(
    ("ahead", "found"),
    [(0.0, 0.0), (0.49, 0.0), (-0.5, 0.0), (60.0, 59.5), (-60.0, -59.5), (3600.0, 3599.5)],
)
def test_the_clock_is_compared_with_the_answer_s_date(ahead: float, found: float) -> None:
    moment = NOW + timedelta(seconds=ahead)
    asking = inspector(Told({"status": {}}, headers={"dAtE": DATE}), moment, moment)
    asking.user()
    assert asking.clock_ahead == pytest.approx(found)


def test_a_slow_answer_is_no_skew() -> None:
    asking = inspector(
        Told({"status": {}}, headers={"Date": DATE}),
        NOW - timedelta(seconds=30),
        NOW + timedelta(seconds=30),
    )
    asking.user()
    assert asking.clock_ahead == 0.0


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Mar 2026 08:10:30 GMT"])
def test_without_a_date_nothing_is_known_of_the_clock(date: str | None) -> None:
    headers = {} if date is None else {"Date": date}
    asking = inspector(Told({"status": {}}, headers=headers))
    asking.user()
    assert asking.clock_ahead is None
