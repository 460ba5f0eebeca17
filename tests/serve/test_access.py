"""Rules on tokens, against a reviewer with the API server's rules and a clock that one turns."""

import threading
from collections.abc import Callable
from http import HTTPStatus

import pytest

from numa_agent.core.access import Access, User
from numa_agent.core.errors import ApiError
from numa_agent.serve.access import (
    BAD_SECONDS,
    BURST,
    GOOD_SECONDS,
    MOST_AT_ONCE,
    MOST_BAD,
    RATE,
    Tokens,
)
from tests.serve.reports import Clock


class Reviewer:
    """Knows some tokens, and who may get what; counts what it is asked."""

    def __init__(self) -> None:
        self.users = {"good": User(name="prometheus"), "poor": User(name="stranger")}
        self.may_get = {("prometheus", "/metrics")}
        self.asked = 0
        self.down = False

    def who(self, token: str) -> User | None:
        self.asked += 1
        if self.down:
            raise ApiError("can't create TokenReview at https://secret: down")
        return self.users.get(token)

    def may(self, user: User, path: str) -> bool:
        if self.down:
            raise ApiError("can't create SubjectAccessReview: down")
        return (user.name, path) in self.may_get


class Scene:
    def __init__(self) -> None:
        self.reviewer, self.clock = Reviewer(), Clock()
        self.tokens = Tokens(self.reviewer.who, self.reviewer.may, self.clock)

    def ask(self, token: str, path: str = "/metrics") -> Access:
        return self.tokens.rule(f"Bearer {token}", path).access


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_who_may_is_let_in_and_who_may_not_is_told_so(scene: Scene) -> None:
    assert scene.tokens.rule("Bearer good", "/metrics").refused is None
    refused = scene.tokens.rule("Bearer poor", "/metrics").refused
    assert refused is not None
    assert refused.status == HTTPStatus.FORBIDDEN
    assert refused.body.startswith(b"stranger may not get /metrics")
    assert scene.ask("good", "/statusz") is Access.FORBIDDEN


@pytest.mark.parametrize(
    "header",
    [
        "",
        "good",
        "Bearer",
        "Bearer ",
        "Basic Z29vZA==",
        "Bearer go od",
        "Bearer good, Bearer x",
        "Bearer góod",
        'Bearer "good"',
        "Bearergood",
        "Bearer good\x00",
    ],
)
def test_what_is_no_token_is_not_asked_about(header: str, scene: Scene) -> None:
    refused = scene.tokens.rule(header, "/metrics").refused
    assert refused is not None
    assert refused.status == HTTPStatus.UNAUTHORIZED
    assert ("WWW-Authenticate", "Bearer") in refused.fields
    assert scene.reviewer.asked == 0


@pytest.mark.parametrize(
    "header", ["Bearer good", "bearer good", "BEARER   good", " Bearer good "]
)
def test_the_scheme_may_be_spelled_in_any_case(header: str, scene: Scene) -> None:
    assert scene.tokens.rule(header, "/metrics").access is Access.ALLOWED


def test_a_token_that_nobody_knows_is_unknown(scene: Scene) -> None:
    refused = scene.tokens.rule("Bearer bad", "/metrics").refused
    assert refused is not None
    assert refused.status == HTTPStatus.UNAUTHORIZED


def test_a_good_answer_is_remembered_for_its_time(scene: Scene) -> None:
    for _ in range(100):
        assert scene.ask("good") is Access.ALLOWED
    assert scene.reviewer.asked == 1
    scene.reviewer.users.clear()
    scene.clock.now += GOOD_SECONDS - 0.1
    assert scene.ask("good") is Access.ALLOWED
    scene.clock.now += 0.1
    assert scene.ask("good") is Access.UNKNOWN


def test_a_bad_answer_is_remembered_for_a_shorter_time(scene: Scene) -> None:
    for _ in range(100):
        assert scene.ask("bad") is Access.UNKNOWN
        assert scene.ask("poor") is Access.FORBIDDEN
    assert scene.reviewer.asked == 2
    scene.reviewer.users["bad"] = User(name="prometheus")
    scene.clock.now += BAD_SECONDS
    assert scene.ask("bad") is Access.ALLOWED


def test_while_the_server_is_away_known_tokens_go_on_until_their_time_is_over(
    scene: Scene,
) -> None:
    scene.ask("good")
    scene.reviewer.down = True
    assert scene.ask("good") is Access.ALLOWED
    refused = scene.tokens.rule("Bearer new", "/metrics").refused
    assert refused is not None
    assert refused.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert ("Retry-After", "5") in refused.fields
    assert b"https://secret" not in refused.body
    assert "https://secret" in (scene.tokens.trouble or "")
    scene.clock.now += GOOD_SECONDS
    assert scene.ask("good") is Access.UNAVAILABLE
    scene.reviewer.down = False
    assert scene.ask("good") is Access.ALLOWED
    assert scene.tokens.trouble is None


def test_a_flood_of_bad_tokens_is_asked_about_at_a_bounded_rate(scene: Scene) -> None:
    scene.ask("good")
    before = scene.reviewer.asked
    for second in range(10):
        for number in range(200):
            scene.ask(f"flood-{second}-{number}")
        scene.clock.now += 1
    assert scene.reviewer.asked - before <= BURST + 10 * RATE
    assert scene.ask("good") is Access.ALLOWED


def test_a_flood_keeps_no_good_token_out_when_its_time_is_over(scene: Scene) -> None:
    scene.ask("good")
    scene.clock.now += GOOD_SECONDS
    for number in range(MOST_BAD * 2):
        scene.ask(f"flood-{number}")
    assert scene.ask("never-seen") is Access.UNAVAILABLE
    assert scene.ask("good") is Access.ALLOWED


def test_a_token_that_lost_its_rights_goes_by_the_rate_of_all_others(scene: Scene) -> None:
    scene.ask("good")
    scene.reviewer.users.clear()
    scene.clock.now += GOOD_SECONDS
    assert scene.ask("good") is Access.UNKNOWN
    for number in range(BURST * 2):
        scene.ask(f"flood-{number}")
    before = scene.reviewer.asked
    assert scene.ask("good") is Access.UNKNOWN
    assert scene.reviewer.asked == before


def test_few_questions_are_open_at_once(scene: Scene) -> None:
    gate, most, now = threading.Event(), [0], [0]
    lock = threading.Lock()

    def who(_: str) -> User | None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        gate.wait(60)
        with lock:
            now[0] -= 1
        return None

    tokens = Tokens(who, lambda _user, _path: True)
    found: list[Access] = []
    threads = [ask_in_thread(tokens, f"t{number}", found.append) for number in range(6)]
    # Those that wait for their turn give up, and the others go on.
    while len(found) < 6 - MOST_AT_ONCE:
        threads[0].join(0.01)
    assert found == [Access.UNAVAILABLE] * (6 - MOST_AT_ONCE)
    gate.set()
    for thread in threads:
        thread.join(30)
    assert most[0] == MOST_AT_ONCE
    assert found[6 - MOST_AT_ONCE :] == [Access.UNKNOWN] * MOST_AT_ONCE


def ask_in_thread(tokens: Tokens, token: str, take: Callable[[Access], None]) -> threading.Thread:
    thread = threading.Thread(target=lambda: take(tokens.rule(f"Bearer {token}", "/").access))
    thread.start()
    return thread


def test_no_token_is_kept(scene: Scene) -> None:
    token = "s3cret-" + "x" * 100
    scene.reviewer.users[token] = User(name="prometheus")
    assert scene.ask(token) is Access.ALLOWED
    assert token not in repr(vars(scene.tokens._good))
