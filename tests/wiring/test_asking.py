"""Those who let us wait hold nobody up, and what they say late is used where it still holds."""

from threading import Event

import pytest

from numa_agent.core.errors import ApiError, SourceError
from numa_agent.wiring.asking import AGAIN_SECONDS, Patient, Seldom

SECONDS = 0.05


class Kubelet:
    """Answers a number that grows with each call, once it is let."""

    def __init__(self) -> None:
        self.let = Event()
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        answer = self.calls
        assert self.let.wait(60)
        return answer


def test_an_answer_in_time_is_the_answer() -> None:
    kubelet = Kubelet()
    kubelet.let.set()
    read = Patient("kubelet", kubelet, seconds=60)
    assert [read(), read()] == [1, 2]


def test_one_who_doesnt_answer_is_a_source_that_failed_and_is_asked_once() -> None:
    kubelet = Kubelet()
    read = Patient("kubelet", kubelet, seconds=SECONDS)
    for _ in range(3):
        with pytest.raises(SourceError, match="kubelet: no answer for 0 s; it is waited for"):
            read()
    assert kubelet.calls == 1
    kubelet.let.set()


def test_a_server_that_doesnt_answer_in_time_is_away() -> None:
    server = Kubelet()
    read = Patient("node", server, seconds=SECONDS, failed=ApiError)
    with pytest.raises(ApiError, match="node: no answer for 0 s") as caught:
        read()
    assert caught.value.unavailable
    server.let.set()


@pytest.mark.parametrize(("late", "answer"), [(True, 1), (False, 2)])
def test_what_comes_late_is_used_where_it_still_holds_and_asked_anew_else(
    late: bool, answer: int
) -> None:
    kubelet = Kubelet()
    read = Patient("kubelet", kubelet, seconds=SECONDS, late=late)
    with pytest.raises(SourceError):
        read()
    kubelet.let.set()
    # By now the first call ends: not before this is the second one begun.
    assert read._open is not None
    assert read._open.done.wait(60)
    # A second answer that came late would be asked for anew.
    read._seconds = 60
    assert read() == answer


def test_whatever_is_raised_reaches_who_asked() -> None:
    def fails() -> int:
        raise ZeroDivisionError

    def refuses() -> int:
        raise SourceError("no right")

    with pytest.raises(ZeroDivisionError):
        Patient("kubelet", fails, seconds=60)()
    with pytest.raises(SourceError, match="no right"):
        Patient("kubelet", refuses, seconds=60)()


def test_what_changes_seldom_is_asked_seldom_and_a_failure_again_at_once() -> None:
    now = [0.0]
    answers: list[SourceError | int] = [SourceError("down"), 1, 2]

    def read() -> int:
        answer = answers.pop(0)
        if isinstance(answer, SourceError):
            raise answer
        return answer

    seldom = Seldom(read, seconds=300, random=lambda: 0.5, clock=lambda: now[0])
    with pytest.raises(SourceError):
        seldom()
    assert seldom() == 1
    now[0] = 374.9
    assert seldom() == 1
    now[0] = 375.0
    assert seldom() == 2


def test_what_is_known_to_be_out_of_date_is_asked_anew_a_little_later() -> None:
    now = [0.0]
    asked: list[float] = []
    new = [2]

    def read() -> int:
        asked.append(now[0])
        return len(asked)

    seldom = Seldom(
        read,
        seconds=300,
        random=lambda: 0.0,
        clock=lambda: now[0],
        outdated=lambda known: known < new[0],
    )
    assert seldom() == 1
    now[0] = AGAIN_SECONDS - 0.1
    assert seldom() == 1
    now[0] = AGAIN_SECONDS
    assert seldom() == 2
    now[0] = 299.0
    assert seldom() == 2
    new[0] = 9
    # One that stays so isn't asked all the time.
    for second in range(300, 375):
        now[0] = float(second)
        seldom()
    assert asked == [0.0, 10.0, 300.0, 310.0, 330.0, 370.0]
