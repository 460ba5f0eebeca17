"""What the marks on a pod say, and how long they get."""

import json

import pytest

from numa_agent.core import own_assignment
from numa_agent.core.decision import LANGUAGES
from numa_agent.core.marking import NONE, Marks, marks_on, wanted
from numa_agent.core.marking.marks import CODE_LENGTH, MESSAGE_LENGTH
from numa_agent.core.pod_keys import ASSIGNED, MARK_LENGTH, MARKS, NOT_PLACED
from tests.machine_tree import pod

TEXT = '{"version": 1, "cpus": "0-3", "mems": "0"}'


def test_a_decision_is_told_as_it_is_and_can_be_read_as_an_assignment() -> None:
    marks = wanted(TEXT, None)
    assert marks == Marks(assigned=TEXT)
    assert marks.annotations == {ASSIGNED: TEXT}
    read = own_assignment.assignment({own_assignment.ASSIGNMENT: marks.annotations[ASSIGNED]})
    assert read is not None
    assert read.pod.cpus == frozenset(range(4))


def test_no_mark_is_a_language_in_which_anybody_decides() -> None:
    assert not set(MARKS) & set(LANGUAGES)
    assert own_assignment.assignment({ASSIGNED: TEXT}) is None


def test_why_a_pod_was_not_placed_is_told_with_its_code() -> None:
    marks = wanted(None, ("no-room", 'node 0 lacks "2" CPUs \u2265 1'))
    assert marks.annotations == {
        NOT_PLACED: '{"version": 1, "code": "no-room",'
        ' "message": "node 0 lacks \\"2\\" CPUs \u2265 1"}'
    }
    assert marks.code == "no-room"


def test_nothing_to_tell_is_no_annotation() -> None:
    assert wanted(None, None) == wanted("", None) == NONE
    assert NONE.annotations == {}


@pytest.mark.parametrize(
    "sign", ["x", '"', "\\", "\n", "\0", "\x7f", "\u00e9", "\U0001f600", "\ud800"]
)
def test_a_mark_is_bounded_and_can_be_sent_whatever_the_message_holds(sign: str) -> None:
    marks = wanted(None, (sign * 1000, sign * 100_000))
    assert marks.not_placed is not None
    assert len(marks.not_placed) <= MARK_LENGTH
    content = json.loads(marks.not_placed.encode().decode())
    assert len(content["code"]) == CODE_LENGTH
    assert len(content["message"]) == MESSAGE_LENGTH


def test_an_assignment_that_is_too_long_is_not_told_in_part() -> None:
    assert wanted("x" * MARK_LENGTH, None).assigned == "x" * MARK_LENGTH
    assert wanted("x" * (MARK_LENGTH + 1), None) == NONE


def test_what_a_pod_has_is_what_would_be_written() -> None:
    marks = wanted(TEXT, ("no-room", "why"))
    found = pod(1, annotations={**marks.annotations, "team": "x"})
    assert marks_on(found) == marks
    assert marks_on(pod(1)) == NONE


def test_a_mark_that_is_longer_than_ours_costs_little_and_is_another() -> None:
    long = pod(1, annotations={ASSIGNED: "x" * 200_000})
    assert len(long.annotations[ASSIGNED]) == MARK_LENGTH + 1
    assert marks_on(long) != wanted("x" * MARK_LENGTH, None)


@pytest.mark.parametrize("odd", ["", "x", "[]", "1", '{"code": 1}', "{}", "[" * 5000])
def test_a_code_that_somebody_else_wrote_may_be_anything(odd: str) -> None:
    assert Marks(not_placed=odd).code is None
