"""What is sent about pods, in how much time, and what becomes of each way to fail."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from numa_agent.cluster.marker import MOST, Marker
from numa_agent.core.errors import ApiError, GoneError, SourceError
from numa_agent.core.marking import Limits, wanted
from numa_agent.core.pod_keys import ASSIGNED
from numa_agent.core.pods import Pod
from tests.machine_tree import pod, uid

WHY = ("no-room", "node 0 lacks 2 CPUs")
NOW = datetime(2026, 3, 2, 8, 12, tzinfo=UTC)
"""Two minutes after the pods of tests.machine_tree have started."""

Failure = Callable[[], SourceError]


class Server:
    """Takes marks and evictions, a while each, or fails as it is told to."""

    def __init__(self) -> None:
        self.seconds, self.each = 1000.0, 0.0
        self.marks: list[tuple[str, dict[str, str]]] = []
        self.evicted: list[str] = []
        self.fails: Failure | None = None
        self.fails_evictions: Failure | None = None
        self.budget: str | None = None

    def clock(self) -> float:
        return self.seconds

    def mark(self, found: Pod, annotations: Mapping[str, str]) -> None:
        self.seconds += self.each
        if self.fails is not None:
            raise self.fails()
        self.marks.append((found.uid, dict(annotations)))

    def evict(self, found: Pod) -> str | None:
        if self.fails_evictions is not None:
            raise self.fails_evictions()
        if self.budget is None:
            self.evicted.append(found.uid)
        return self.budget


@pytest.fixture
def server() -> Server:
    return Server()


def marker(server: Server, now: datetime = NOW, limits: Limits | None = None) -> Marker:
    """That of an agent that has run for long."""
    found = limits or Limits(fresh=0.0)
    return Marker(server.mark, server.evict, lambda: 0.5, server.clock, lambda: now, found)


def many(count: int) -> list[Pod]:
    return [pod(number) for number in range(1, count + 1)]


def told(pods: list[Pod]) -> dict[str, str]:
    return {each.uid: "x" for each in pods}


def unplaced(number: int = 1) -> Pod:
    found = pod(number, annotations=wanted(None, WHY).annotations)
    return replace(found, controller="ReplicaSet/web")


def test_nothing_is_sent_by_hearing(server: Server) -> None:
    found = marker(server)
    assert found.due() is None
    found.hear(many(3), told(many(3)), None)
    assert server.marks == []
    assert found.due() == 0
    assert found.send_due() == 3
    assert server.marks[0] == (uid(1), {ASSIGNED: "x"})
    assert [(each.pod.uid, each.evicted) for each in found.sent()] == [
        (uid(number), False) for number in (1, 2, 3)
    ]


def test_a_slow_server_ends_a_turn_and_not_the_work(server: Server) -> None:
    found, server.each = marker(server), 0.9
    found.hear(many(5), told(many(5)), None)
    assert found.send_due() == 3
    assert found.due() == 0
    assert found.send_due() == 2


def test_a_turn_has_an_end_however_quick_the_server_is(server: Server) -> None:
    found = marker(server, limits=Limits(burst=1000))
    found.hear(many(MOST + 5), told(many(MOST + 5)), None)
    assert found.send_due() == MOST
    assert found.send_due() == 5


def api(status: int | None, retry_after: float | None = None) -> Failure:
    return lambda: ApiError(f"HTTP {status}", status=status, retry_after=retry_after)


@pytest.mark.parametrize("status", [None, 401, 408, 429, 500, 503])
def test_a_server_that_fails_is_asked_once_and_named(status: int | None, server: Server) -> None:
    found, server.fails = marker(server), api(status)
    found.hear(many(5), told(many(5)), None)
    assert found.send_due() == 1
    assert found.troubles() == (f"HTTP {status}",)
    due = found.due()
    assert due is not None
    assert due > 5
    server.fails, server.seconds = None, server.seconds + due
    assert found.send_due() == 5
    assert found.troubles() == ()


def test_a_server_that_says_how_long_is_obeyed(server: Server) -> None:
    found, server.fails = marker(server), api(429, 60.0)
    found.hear(many(1), told(many(1)), None)
    found.send_due()
    assert found.due() == 65


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_pod_that_is_refused_holds_no_other_up(status: int, server: Server) -> None:
    found, server.fails = marker(server), api(status)
    found.hear(many(2), told(many(2)), None)
    assert found.send_due() == 2
    assert found.due() is None
    assert found.troubles() == (f"HTTP {status}",)
    found.hear(many(2), told(many(2)), None)
    assert found.due() is None
    assert found.troubles() == ()


def test_what_is_forbidden_is_tried_elsewhere_and_later_there(server: Server) -> None:
    found, server.fails = marker(server), api(403)
    pods = [*many(2), *(replace(each, namespace="other") for each in many(4)[2:])]
    found.hear(pods, told(pods), None)
    assert found.send_due() == 2  # one in each namespace
    assert found.due() is None
    assert len(found.troubles()) == 2
    server.fails, server.seconds = None, server.seconds + 600
    found.hear(pods, told(pods), None)
    assert found.send_due() == 4
    assert found.troubles() == ()


def test_a_pod_that_is_gone_is_no_trouble(server: Server) -> None:
    found, server.fails = marker(server), lambda: GoneError("gone")
    found.hear(many(2), told(many(2)), None)
    assert found.send_due() == 2
    assert found.troubles() == ()
    assert found.due() is None


def test_a_pod_is_asked_for_before_it_is_evicted(server: Server) -> None:
    found = marker(server)
    found.hear([unplaced()], None, {uid(1): WHY}, 300)
    server.seconds += 30
    server.fails = lambda: GoneError("another pod has the name")
    assert found.send_due() == 1
    assert server.evicted == []
    server.fails, server.seconds = None, server.seconds + 120
    found.hear([unplaced()], None, {uid(1): WHY}, 300)
    assert found.send_due() == 1
    assert server.evicted == [uid(1)]
    assert [each.code for each in found.sent()] == ["no-room"]


def test_a_right_to_mark_without_one_to_evict_keeps_marking(server: Server) -> None:
    found, server.fails_evictions = marker(server), api(403)
    pods = [unplaced(), pod(2)]
    found.hear(pods, told([pod(2)]), {uid(1): WHY}, 300)
    assert found.send_due() == 1
    server.seconds += 30
    assert found.send_due() == 1
    assert found.troubles() == ("HTTP 403",)
    found.hear(pods, {uid(2): "y"}, {uid(1): WHY}, 300)
    assert found.send_due() == 1
    assert server.evicted == []


def test_a_budget_is_said_of_the_pod_and_is_no_trouble(server: Server) -> None:
    found, server.budget = marker(server), "the disruption budget b needs 1 healthy pod"
    found.hear([unplaced()], None, {uid(1): WHY}, 300)
    server.seconds += 30
    found.send_due()
    assert found.kept() == {uid(1): server.budget}
    assert found.troubles() == ()
    assert found.sent() == ()
    found.hear([unplaced()], None, {uid(1): WHY}, 300)
    assert found.due() == 120
    found.hear([], None, {}, 300)
    assert found.kept() == {}


@pytest.mark.parametrize(
    ("now", "young"),
    [
        (NOW, True),
        (NOW + timedelta(minutes=4), False),
        (NOW - timedelta(minutes=4), False),
        (NOW.astimezone(timezone(timedelta(hours=-7))), True),
        (datetime.max.replace(tzinfo=UTC), False),
    ],
)
def test_a_pods_age_is_by_the_time_of_day(now: datetime, young: bool, server: Server) -> None:
    found = marker(server, now)
    found.hear([unplaced()], None, {uid(1): WHY}, 300)
    assert (uid(1) not in found.kept()) is young
    assert (found.due() == 30) is young


def test_troubles_are_few_however_many_namespaces_there_are(server: Server) -> None:
    found, server.fails = marker(server, limits=Limits(burst=1000)), api(403)
    pods = [replace(each, namespace=f"n{each.name}") for each in many(30)]
    found.hear(pods, told(pods), None)
    found.send_due()
    assert len(found.troubles()) == 5
