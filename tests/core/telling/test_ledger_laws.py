"""Whatever passes find and the server answers: requests are bounded, and nothing new is lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.telling import Due, Kind, Ledger, Limits, Notice, Reason
from tests.core.telling.values import NODE, of

REASONS = (
    Reason(name="Fault"),
    Reason(name="Patient", patience=60.0),
    Reason(name="Other", volatile=True),
)
HAPPENED = Reason(name="Happened", kind=Kind.NORMAL, lasting=False)
LIMITS = Limits()


@dataclass(frozen=True)
class Step:
    """A pass after so many seconds: what it finds, what happened, how the server is."""

    seconds: float
    faults: frozenset[tuple[int, int]]
    happened: frozenset[int]
    answers: Sequence[str]


STEPS = st.lists(
    st.builds(
        Step,
        seconds=st.sampled_from([0.0, 0.5, 30.0, 45.0, 299.0, 301.0, 2701.0, 4000.0]),
        faults=st.frozensets(
            st.tuples(st.integers(0, 30), st.integers(0, len(REASONS) - 1)), max_size=60
        ),
        happened=st.frozensets(st.integers(0, 30), max_size=10),
        answers=st.lists(
            st.sampled_from(["told", "told", "told", "failed", "forbidden", "refused", "gone"]),
            max_size=60,
        ),
    ),
    max_size=25,
)


class Run:
    """Takes the steps, and remembers each request with its moment."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ledger = Ledger(NODE, lambda: 0.5, LIMITS)
        self.requests: list[tuple[float, Due, str]] = []

    def step(self, step: Step) -> None:
        self.now += step.seconds
        self.ledger.hear(self.now, [of(n, REASONS[r]) for n, r in sorted(step.faults)])
        self.ledger.happened(self.now, [of(n, HAPPENED) for n in sorted(step.happened)])
        answers = list(step.answers)
        for _ in range(200):
            due = self.ledger.take(self.now)
            if due is None:
                return
            self.answer(due, answers.pop(0) if answers else "told")
        raise AssertionError("it never ends")

    def answer(self, due: Due, answer: str) -> None:
        self.requests.append((self.now, due, answer))
        match answer:
            case "told":
                self.ledger.told(self.now, due, (due.count or 0) + 1)
            case "failed":
                self.ledger.failed(self.now, None)
            case "forbidden":
                self.ledger.forbidden(self.now, due)
            case "refused":
                self.ledger.refused(self.now, due)
            case _ if due.again:
                self.ledger.forgotten(due)
            case _:
                self.ledger.refused(self.now, due)


def about(notice: Notice) -> bool:
    """Whether it is about an object of its own, and not of what is held back."""
    return notice.subject != NODE


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_requests_are_bounded_in_every_stretch_of_time(steps: list[Step]) -> None:
    run = Run()
    for step in steps:
        run.step(step)
    moments = [now for now, due, _ in run.requests if about(due.notice)]
    for first, begun in enumerate(moments):
        for last in range(first, len(moments)):
            allowed = LIMITS.burst + (moments[last] - begun) / LIMITS.refill
            assert last - first + 1 <= allowed + 1e-6


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_the_same_thing_is_never_told_twice_within_five_minutes(steps: list[Step]) -> None:
    run = Run()
    for step in steps:
        run.step(step)
    last: dict[object, float] = {}
    for now, due, answer in run.requests:
        identity = due.notice.identity
        assert now - last.get(identity, -1e9) >= LIMITS.again
        if answer in {"told", "refused"}:
            last[identity] = now


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_what_ended_or_has_not_lasted_is_never_told(steps: list[Step]) -> None:
    run = Run()
    since: dict[object, float] = {}
    for step in steps:
        now = run.now + step.seconds
        current = {of(n, REASONS[r]).identity for n, r in step.faults}
        since = {identity: since.get(identity, now) for identity in current}
        before = len(run.requests)
        run.step(step)
        for moment, due, _ in run.requests[before:]:
            reason = due.notice.reason
            if about(due.notice) and reason.lasting and not due.again:
                assert moment - since[due.notice.identity] >= reason.patience


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_with_a_server_that_is_well_every_fault_that_stays_is_told_in_the_end(
    steps: list[Step],
) -> None:
    run = Run()
    for step in steps:
        run.step(step)
    stays = Step(30.0, frozenset((n, n % 3) for n in range(40)), frozenset(), ())
    before = len(run.requests)
    for _ in range(150):  # 75 minutes
        run.step(stays)
    told = {due.notice.identity for _, due, _ in run.requests}
    assert {of(n, REASONS[n % 3]).identity for n in range(40)} <= told
    assert len(run.requests) - before <= 20 + 75 * 60 / 10 + 15
    wait = run.ledger.due(run.now)
    assert wait is None or wait > 0
