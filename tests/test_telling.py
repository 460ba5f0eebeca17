"""The Teller: what becomes of each answer, and that telling never holds a pass up for long."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import pytest

from numa_agent.agent import Teller
from numa_agent.core.cpusets import Refusal
from numa_agent.core.errors import ApiError, GoneError, SourceError
from numa_agent.core.pods import Pod
from numa_agent.core.report import Report
from numa_agent.core.telling import Due
from tests.core.telling.values import EMPTY, condition, proof, report, write
from tests.machine_tree import pod

PODS = tuple(pod(number) for number in range(1, 60))
FAULTY = replace(EMPTY, refusals=tuple(Refusal(pod=p, code="c", message="m") for p in PODS))


@dataclass
class Server:
    """Answers each request after `seconds`, with the next of `answers` or a count."""

    seconds: float = 0.0
    answers: list[Exception] = field(default_factory=list)
    now: float = 0.0
    asked: list[Due] = field(default_factory=list)

    def record(self, due: Due) -> int:
        self.asked.append(due)
        self.now += self.seconds
        if self.answers:
            raise self.answers.pop(0)
        return (due.count or 0) + 1

    def teller(self) -> Teller:
        return Teller(self.record, "n1", lambda: 1.0, lambda: self.now)


def error(status: int | None, retry_after: float | None = None) -> ApiError:
    return ApiError("can't tell", status=status, retry_after=retry_after)


def found(*numbers: int) -> Report:
    refusals = tuple(Refusal(pod=pod(n), code="c", message="m") for n in numbers)
    return replace(EMPTY, refusals=refusals)


def passed(teller: Teller, found: Report, pods: Sequence[Pod]) -> Report:
    """The report of a pass after which what was due has been sent."""
    teller.tell(found, pods)
    teller.send_due()
    return teller.with_troubles(found)


def test_a_pass_without_trouble_is_the_same_report() -> None:
    server = Server()
    assert passed(server.teller(), EMPTY, PODS) is not None
    assert passed(server.teller(), EMPTY, PODS) == EMPTY
    assert server.asked == []


def test_a_slow_server_holds_a_pass_up_for_two_seconds_and_one_request() -> None:
    server = Server(seconds=0.7)
    passed(server.teller(), FAULTY, PODS)
    assert len(server.asked) == 3
    assert server.now <= 2 + 0.7


def test_a_server_that_does_not_answer_costs_one_request_a_pass_at_most() -> None:
    server = Server(seconds=5.0, answers=[error(None)] * 1000)
    teller = server.teller()
    for _ in range(120):
        assert passed(teller, FAULTY, PODS).failures == ("can't tell",)
        server.now += 30
    assert len(server.asked) <= 20


@pytest.mark.parametrize("status", [None, 401, 429, 500, 503, 504])
def test_what_keeps_everything_back_keeps_it_and_is_named_until_it_is_over(
    status: int | None,
) -> None:
    server = Server(answers=[error(status), error(status)])
    teller = server.teller()
    for _ in range(3):
        assert passed(teller, found(1, 2), PODS).failures == ("can't tell",)
        server.now += 8
    server.now += 300
    assert passed(teller, found(1, 2), PODS).failures == ()
    assert len(server.asked) == 4


def test_a_retry_after_is_obeyed() -> None:
    server = Server(answers=[error(429, 100.0)])
    teller = server.teller()
    passed(teller, found(1), PODS)
    server.now = 99.0
    passed(teller, found(1), PODS)
    assert len(server.asked) == 1
    server.now = 101.0
    passed(teller, found(1), PODS)
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_event_that_is_refused_costs_itself_alone_and_is_named_once(status: int) -> None:
    server = Server(answers=[error(status)])
    teller = server.teller()
    assert passed(teller, found(1, 2), PODS).failures == ("can't tell",)
    assert len(server.asked) == 2
    server.now = 60.0
    assert passed(teller, found(1, 2), PODS).failures == ()
    assert len(server.asked) == 2


def test_the_pod_of_a_namespace_that_goes_is_not_told_of_and_nothing_is_wrong() -> None:
    server = Server(answers=[GoneError("it goes")])
    teller = server.teller()
    assert passed(teller, found(1, 2), PODS).failures == ()
    server.now = 60.0
    assert passed(teller, found(1, 2), PODS).failures == ()
    assert [due.notice.subject.name for due in server.asked] == ["p1", "p2"]


def test_an_event_that_the_server_forgot_is_made_anew() -> None:
    server = Server()
    teller = server.teller()
    passed(teller, found(1), PODS)
    server.answers = [GoneError("forgotten")]
    server.now = 2701.0
    passed(teller, found(1), PODS)
    assert [due.again for due in server.asked] == [False, True, False]


def test_rights_that_are_missing_are_named_while_they_are() -> None:
    server = Server(answers=[error(403)])
    teller = server.teller()
    for _ in range(3):
        assert passed(teller, found(1), PODS).failures == ("can't tell",)
        server.now += 30
    assert len(server.asked) == 1
    server.now = 400.0
    assert passed(teller, found(1), PODS).failures == ()


def test_a_right_to_change_that_is_missing_keeps_no_new_event_back() -> None:
    server = Server()
    teller = server.teller()
    passed(teller, found(1), PODS)
    passed(teller, found(), PODS)
    server.now, server.answers = 301.0, [error(403)]
    assert passed(teller, found(1), PODS).failures == ("can't tell",)
    server.now = 302.0
    assert passed(teller, found(1, 2), PODS).failures == ()
    told = [(due.notice.subject.name, due.again) for due in server.asked]
    assert told == [("p1", False), ("p1", True), ("p2", False)]


@pytest.mark.parametrize("status", [None, 403, 503])
def test_what_keeps_nothing_back_any_more_is_named_no_more(status: int | None) -> None:
    server = Server(answers=[error(status)])
    teller = server.teller()
    assert passed(teller, found(1), PODS).failures == ("can't tell",)
    server.now = 1.0
    assert passed(teller, EMPTY, PODS).failures == ()
    assert len(server.asked) == 1


def fails() -> Callable[[Due], NoReturn]:
    def record(_: Due) -> NoReturn:
        raise SourceError("no Events")

    return record


def test_any_failure_of_a_source_is_a_sentence_in_the_report() -> None:
    teller = Teller(fails(), "n1", lambda: 0.5, lambda: 0.0)
    assert passed(teller, found(1), PODS).failures == ("no Events",)


def test_what_is_done_between_passes_is_told() -> None:
    server = Server()
    teller = server.teller()
    passed(teller, replace(EMPTY, looked=True), (pod(1), pod(2)))
    teller.hear_between([write(1)], [condition("drift-conflict", "shop/p2")])
    assert teller.due() == 0
    assert teller.send_due() == 1
    passed(teller, report(proofs=(proof(pod(1), "0-3"),)), (pod(1), pod(2)))
    assert [(due.notice.subject.name, due.notice.reason.name) for due in server.asked] == [
        ("p2", "CPUSetConflict"),
        ("p1", "CPUSetBind"),
    ]


def test_a_fight_told_between_passes_is_not_told_again_by_the_next_pass() -> None:
    server = Server()
    teller = server.teller()
    fights = (condition("drift-conflict", "shop/p2"),)
    passed(teller, EMPTY, (pod(2),))
    teller.hear_between([], fights)
    teller.send_due()
    for _ in range(20):
        server.now += 30
        passed(teller, report(conditions=fights), (pod(2),))
    assert len(server.asked) == 1
