"""When an object is written, in simulated time."""

import random
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.pacing import Pace, Pacer
from numa_agent.core.publishing import Outcome, Published

FAILURES = [
    Outcome.NO_CRD,
    Outcome.FORBIDDEN,
    Outcome.CONFLICT,
    Outcome.THROTTLED,
    Outcome.UNAVAILABLE,
]
TURNED_DOWN = [Outcome.TOO_LARGE, Outcome.REFUSED]
PACE = Pace()


def said(outcome: Outcome, retry_after: float | None = None) -> Published:
    return Published(outcome=outcome, detail="", retry_after=retry_after)


def changed(_key: Hashable) -> Published:
    return said(Outcome.CHANGED)


@dataclass
class Day:
    """A clock, one object's pacer, and what was tried when."""

    pacer: Pacer
    answer: Callable[[Hashable], Published] = changed
    now: float = 0.0
    content: Hashable = None
    tries: list[tuple[float, Hashable]] = field(default_factory=list)

    def run_to(self, end: float) -> None:
        """Try whatever falls due until then."""
        while (wait := self.pacer.due(self.now)) is not None and self.now + wait <= end:
            self.now += wait
            if self.pacer.due(self.now) == 0:
                self.tries.append((self.now, self.content))
                self.pacer.tell(self.now, self.content, self.answer(self.content))
        self.now = end

    def offer(self, at: float, content: Hashable) -> None:
        self.run_to(at)
        self.content = content
        self.pacer.offer(at, content)

    @property
    def gaps(self) -> list[float]:
        """Seconds from try to try, free of the rounding of sums."""
        moments = [moment for moment, _ in self.tries]
        return [round(later - earlier, 6) for earlier, later in pairwise(moments)]


def day(answer: Callable[[Hashable], Published] = changed, seed: int = 1) -> Day:
    return Day(pacer=Pacer(random.Random(seed).random), answer=answer)


def passes(day: Day, until: float, content: Hashable, every: float = 5.0) -> None:
    """Offer the same content at every pass, as a quiet node does."""
    moment = day.now + every
    while moment <= until:
        day.offer(moment, content)
        moment += every
    day.run_to(until)


def test_nothing_is_due_before_an_offer() -> None:
    assert day().pacer.due(0) is None


@pytest.mark.parametrize("drawn", [0.0, 0.5, 0.999])
def test_the_first_offer_is_due_within_half_a_second_to_one(drawn: float) -> None:
    pacer = Pacer(lambda: drawn)
    pacer.offer(100, "a")
    assert pacer.due(100) == pytest.approx(0.5 + drawn / 2)
    assert pacer.due(100.6 + drawn / 2) == 0


def test_a_burst_is_one_try_with_the_last_content() -> None:
    one = day()
    for number in range(40):
        one.offer(number * 0.01, number)
    one.run_to(10)
    assert [content for _, content in one.tries] == [39]
    assert 0.5 <= one.tries[0][0] <= 1


def test_an_endless_burst_is_not_put_off_for_ever() -> None:
    one = day()
    for number in range(1000):
        one.offer(number * 0.01, number)
    assert len(one.tries) >= 4
    assert one.tries[0][0] <= 1


def test_two_hundred_pod_events_are_at_most_a_write_a_second_and_the_last_is_written() -> None:
    events = random.Random(7)
    one = day()
    moment = 0.0
    for number in range(200):
        moment += events.choice([0.001, 0.01, 0.05, 0.9])
        one.offer(moment, number)
    one.run_to(moment + 10)
    assert one.tries[-1][1] == 199
    assert min(one.gaps) >= 1
    assert len(one.tries) <= moment + 2


def test_an_idle_node_looks_at_the_server_once_a_minute_or_two() -> None:
    one = day(lambda _: said(Outcome.UNCHANGED))
    passes(one, 600, "same")
    assert 4 <= len(one.tries) <= 10
    assert min(one.gaps) >= PACE.recheck


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_failure_is_tried_again_by_itself_with_growing_patience(outcome: Outcome) -> None:
    one = day(lambda _: said(outcome))
    one.offer(0, "a")
    one.run_to(3600)
    for number, gap in enumerate(one.gaps):
        full = min(2.0**number, PACE.most)
        assert max(full / 2, PACE.spacing) <= gap + 1e-6
        assert gap <= max(full, PACE.spacing) + 1e-6
    assert len(one.tries) > 12


@pytest.mark.parametrize("outcome", FAILURES)
def test_new_content_does_not_hurry_a_server_that_fails(outcome: Outcome) -> None:
    one = day(lambda _: said(outcome))
    for second in range(600):
        one.offer(second, second)
    assert len(one.tries) <= 14


def test_nodes_that_failed_together_come_back_apart() -> None:
    moments = set()
    for seed in range(50):
        one = day(lambda _: said(Outcome.UNAVAILABLE), seed)
        one.offer(0, "a")
        one.run_to(120)
        moments.add(round(one.tries[-1][0]))
    assert len(moments) > 15


@pytest.mark.parametrize("outcome", [Outcome.THROTTLED, Outcome.UNAVAILABLE])
@pytest.mark.parametrize("asked", [0.0, 7.0, 600.0])
def test_nobody_comes_back_earlier_than_asked(asked: float, outcome: Outcome) -> None:
    one = day(lambda _: said(outcome, asked))
    one.offer(0, "a")
    one.run_to(4 * 3600)
    assert min(one.gaps) >= asked
    assert min(one.gaps) <= asked + 2
    assert len(set(one.gaps)) == len(one.gaps)


def test_an_absurd_wait_is_obeyed_for_an_hour_only() -> None:
    one = day(lambda _: said(Outcome.THROTTLED, 1e9))
    one.offer(0, "a")
    one.run_to(3 * 3600)
    assert len(one.tries) == 3


@pytest.mark.parametrize("outcome", TURNED_DOWN)
def test_what_is_turned_down_waits_long_and_other_content_does_not(outcome: Outcome) -> None:
    one = day(lambda content: said(outcome if content == "bad" else Outcome.CREATED))
    passes(one, 7200, "bad")
    assert all(gap >= PACE.most for gap in one.gaps)
    tries = len(one.tries)
    passes(one, 7260, "good")
    assert [content for _, content in one.tries][tries:] == ["good"]


@pytest.mark.parametrize("outcome", TURNED_DOWN)
def test_what_is_turned_down_is_tried_again_since_a_policy_may_change(outcome: Outcome) -> None:
    cured = 3600.0
    one = day(lambda _: said(outcome if one.now < cured else Outcome.CREATED))
    passes(one, cured + 2 * PACE.most + 60, "same")
    assert one.pacer.due(one.now) is None
    last, _ = one.tries[-1]
    assert cured <= last <= cured + 2 * PACE.most + 60


@pytest.mark.parametrize("outcome", TURNED_DOWN)
def test_ever_new_content_that_is_refused_is_sent_ever_less(outcome: Outcome) -> None:
    one = day(lambda _: said(outcome))
    for second in range(3600):
        one.offer(second, second)
    assert len(one.tries) <= 25


def test_success_forgets_the_failures() -> None:
    answers = iter([Outcome.UNAVAILABLE] * 8 + [Outcome.CHANGED] + [Outcome.UNAVAILABLE] * 2)
    one = day(lambda _: said(next(answers)))
    one.offer(0, "a")
    one.run_to(1000)
    assert len(one.tries) == 9
    one.offer(1000, "b")
    one.run_to(1003)
    assert len(one.tries) == 11


def test_another_publisher_is_looked_at_again_and_never_raced() -> None:
    one = day(lambda _: said(Outcome.STOOD_BACK))
    for second in range(600):
        one.offer(second, second)
    assert min(one.gaps) >= PACE.recheck
    assert len(one.tries) >= 5


def test_content_offered_during_a_try_is_due_after_it() -> None:
    pacer = Pacer(lambda: 0.0)
    pacer.offer(0, "old")
    pacer.offer(3, "new")
    pacer.tell(4, "old", said(Outcome.CHANGED))
    assert pacer.due(4) == PACE.spacing
    pacer.tell(5, "new", said(Outcome.CHANGED))
    assert pacer.due(5) is None


EVENTS = st.lists(
    st.tuples(st.floats(0, 90), st.integers(0, 3), st.sampled_from(list(Outcome))), max_size=40
)
WAITS = st.none() | st.floats(0, 5000)


@given(EVENTS, WAITS, st.integers())
def test_whatever_happens_the_last_content_gets_there_and_no_two_tries_are_close(
    events: Iterable[tuple[float, int, Outcome]], retry_after: float | None, seed: int
) -> None:
    one = day(seed=seed)
    for pause, content, outcome in events:
        asked = retry_after if outcome is Outcome.THROTTLED else None
        one.answer = lambda _, outcome=outcome, asked=asked: said(outcome, asked)  # type: ignore[misc]
        one.offer(one.now + pause, content)
    one.answer = changed
    passes(one, one.now + 3 * PACE.obeyed, "last", every=30)
    assert one.tries[-1][1] == "last"
    assert all(gap >= PACE.spacing for gap in one.gaps)
