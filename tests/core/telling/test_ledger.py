"""What is told when: once, again when it comes back, and never more than the buckets allow."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from numa_agent.core.telling import Due, Kind, Ledger, Limits, Notice, Reason, about_pod
from tests.core.telling.values import FAULT, NODE, of
from tests.machine_tree import pod

HAPPENED = Reason(name="Happened", kind=Kind.NORMAL, lasting=False)
PATIENT = Reason(name="Patient", patience=60.0)
HOUR = 3600.0


@dataclass
class World:
    """A ledger, the time, and a server that takes everything."""

    ledger: Ledger = field(default_factory=lambda: Ledger(NODE, lambda: 1.0))
    now: float = 1000.0
    told: list[Due] = field(default_factory=list)

    def hear(self, *notices: Notice) -> None:
        self.ledger.hear(self.now, notices)

    def send(self) -> list[Due]:
        """Tell what may be told now."""
        sent: list[Due] = []
        while (due := self.ledger.take(self.now)) is not None:
            assert len(sent) < 100, "it never ends"
            sent.append(due)
            self.ledger.told(self.now, due, (due.count or 0) + 1)
        self.told += sent
        return sent

    def passes(self, seconds: float, *notices: Notice) -> list[Due]:
        """Passes every 30 s that all find the same, and what they told."""
        before = len(self.told)
        end = self.now + seconds
        while self.now < end:
            self.hear(*notices)
            self.send()
            self.now += 30
        return self.told[before:]


@pytest.fixture
def world() -> World:
    return World()


def names(dues: list[Due]) -> list[str]:
    return [f"{due.notice.subject.name} {due.notice.message}" for due in dues]


def test_a_fault_is_told_once_and_again_before_the_server_forgets_it(world: World) -> None:
    told = world.passes(2 * HOUR, of(1))
    assert [due.again for due in told] == [False, True, True]
    assert [due.count for due in told] == [None, 1, 2]


def test_without_a_fault_there_is_nothing_to_tell_and_nothing_due(world: World) -> None:
    assert world.passes(HOUR) == []
    assert world.ledger.due(world.now) is None


def test_a_fault_that_comes_back_is_told_again_five_minutes_after_the_last_time(
    world: World,
) -> None:
    for _ in range(40):  # on and off every 30 s, for 40 minutes
        world.passes(30, of(1))
        world.passes(30)
    times = [due.again for due in world.told]
    assert times[0] is False
    assert all(times[1:])
    assert 7 <= len(world.told) <= 9


def test_what_is_over_before_its_patience_is_never_told(world: World) -> None:
    for _ in range(20):
        world.passes(30, of(1, PATIENT))
        world.passes(30)
    assert world.told == []
    told = world.passes(120, of(1, PATIENT))
    assert [due.age for due in told] == [60.0]


def test_a_thousand_faults_cost_a_bounded_number_of_requests(world: World) -> None:
    faults = [of(number) for number in range(1000)]
    first = world.passes(30, *faults)
    assert len(first) == 21
    assert names(first)[-1] == (
        "n1 980 faults have no Event of their own yet: 980 Fault;"
        " the agent's /statusz lists all that is wrong on this node"
    )
    hour = world.passes(HOUR, *faults)
    assert len(hour) <= HOUR / 10 + HOUR / 300 + 1
    assert {due.notice.subject.about for due in hour if due.again} == {NODE.about}


def test_what_is_held_back_is_counted_by_reason_and_told_of_every_five_minutes_at_most(
    world: World,
) -> None:
    other = Reason(name="Other")
    faults = [*(of(number) for number in range(300)), *(of(n, other) for n in range(300))]
    world.passes(660, *faults)
    about_node = [due for due in world.told if due.notice.subject == NODE]
    assert [due.again for due in about_node] == [False, True, True]
    # Tokens went to the first ones in the order of the pass.
    assert "280 Fault, 300 Other" in about_node[0].notice.message


def test_a_few_that_wait_are_not_told_of_together(world: World) -> None:
    told = world.passes(30, *(of(number) for number in range(25)))
    assert len(told) == 20
    assert NODE not in [due.notice.subject for due in told]
    assert world.ledger.due(world.now) == 0  # tokens came back meanwhile
    world.hear(*(of(number) for number in range(25)))
    world.send()
    assert world.ledger.due(world.now) == pytest.approx(10.0)


def test_one_object_does_not_take_all_of_the_others_tokens(world: World) -> None:
    noisy = [of(1, message=str(n), key=str(n)) for n in range(14)]
    told = world.passes(30, *noisy, of(2))
    assert sum(due.notice.subject.name == "p1" for due in told) == 10
    assert names(told)[-1] == "p2 odd"


def test_a_new_fault_comes_before_what_happened_and_what_is_told_again(world: World) -> None:
    limits = Limits(burst=1.0, refill=1e9)
    ledger = Ledger(NODE, lambda: 0.0, limits)
    ledger.happened(0, [of(1, HAPPENED)])
    ledger.hear(5, [of(2)])
    due = ledger.take(5)
    assert due is not None
    assert due.notice == of(2)
    assert ledger.take(5) is None


def test_what_happened_is_told_once_however_late(world: World) -> None:
    world.ledger.happened(world.now, [of(1, HAPPENED)])
    world.ledger.failed(world.now, None)
    assert world.send() == []
    world.now += 1000
    (due,) = world.send()
    assert due.age == 1000
    assert world.passes(HOUR) == []


def test_what_happened_to_a_pod_that_has_gone_is_not_told(world: World) -> None:
    world.ledger.happened(world.now, [of(1, HAPPENED), of(2, HAPPENED)])
    world.ledger.keep({about_pod(pod(2))})
    assert names(world.send()) == ["p2 odd"]


def test_what_happened_waits_in_a_bounded_queue_for_an_hour_at_most(world: World) -> None:
    world.ledger.failed(world.now, 3000.0)
    world.ledger.happened(world.now, [of(number, HAPPENED) for number in range(500)])
    world.now += 3000
    (first, *_) = world.send()
    assert first.notice.subject.name == "p300"
    world.now += 700
    world.hear()
    assert world.send() == []


def test_the_same_thing_that_happens_again_is_counted_five_minutes_apart(world: World) -> None:
    for _ in range(20):
        world.ledger.happened(world.now, [of(1, HAPPENED)])
        world.passes(60)
    assert [due.again for due in world.told] == [False, True, True, True]


def test_after_a_failure_everything_waits_longer_and_longer(world: World) -> None:
    attempts = []
    world.hear(of(1), of(2))
    while world.now < 1000 + HOUR:
        due = world.ledger.take(world.now)
        if due is not None:
            attempts.append(world.now)
            world.ledger.failed(world.now, None)
            assert world.ledger.take(world.now) is None
        world.now += 1
    pauses = [int(later - earlier) for earlier, later in pairwise(attempts)]
    assert pauses[:6] == [10, 20, 40, 80, 160, 300]
    assert len(attempts) <= 17


def test_a_retry_after_is_obeyed_and_bounded(world: World) -> None:
    world.hear(of(1))
    world.ledger.failed(world.now, 120.0)
    assert world.ledger.due(world.now) == 120.0
    world.ledger.failed(world.now, 1e9)
    assert world.ledger.due(world.now) == HOUR


def test_a_fault_that_ended_while_the_server_was_down_is_not_told(world: World) -> None:
    world.hear(of(1))
    world.ledger.failed(world.now, None)
    world.now += 600
    world.hear()
    assert world.send() == []


def test_a_namespace_that_is_forbidden_costs_itself_alone(world: World) -> None:
    world.hear(of(1), of(2))
    due = world.ledger.take(world.now)
    assert due is not None
    world.ledger.forbidden(world.now, due)
    assert world.ledger.take(world.now) is None  # both pods are in it
    assert world.ledger.due(world.now) is None
    world.now += 301
    assert world.ledger.take(world.now) is not None


def test_where_the_node_s_namespace_is_forbidden_nothing_is_tried_without_end(
    world: World,
) -> None:
    world.hear(*(of(number) for number in range(100)))
    requests = 0
    while (due := world.ledger.take(world.now)) is not None and requests < 100:
        requests += 1
        if due.notice.subject == NODE:
            world.ledger.forbidden(world.now, due)
        else:
            world.ledger.told(world.now, due, 1)
    assert requests == 21


def test_what_the_server_forgot_is_told_as_if_for_the_first_time(world: World) -> None:
    world.passes(2700, of(1))
    world.hear(of(1))
    due = world.ledger.take(world.now)
    assert due is not None
    assert due.again
    world.ledger.forgotten(due)
    (again,) = world.send()
    assert not again.again


def test_what_the_server_refuses_waits_as_long_as_if_it_had_been_told(world: World) -> None:
    world.hear(of(1))
    due = world.ledger.take(world.now)
    assert due is not None
    world.ledger.refused(world.now, due)
    assert world.passes(2600, of(1)) == []


def test_what_is_remembered_is_bounded_over_a_day_of_ever_new_faults(world: World) -> None:
    number = 0
    end = world.now + 24 * HOUR
    while world.now < end:
        number += 50
        world.hear(*(of(number + n) for n in range(50)))
        world.send()
        world.now += 60
    kept = vars(world.ledger)
    sizes = {name: len(value) for name, value in kept.items() if isinstance(value, dict)}
    assert sizes["_told"] <= HOUR / 10 + 30
    assert sizes["_lasting"] == 50
    assert len(world.told) <= 24 * HOUR / 10 + 24 * HOUR / 300 + 21


def test_due_never_says_now_where_nothing_can_be_taken(world: World) -> None:
    world.hear(*(of(1, message=str(n), key=str(n)) for n in range(12)))
    world.send()
    wait = world.ledger.due(world.now)
    assert wait is not None
    assert wait >= 1.0
    assert FAULT.lasting


def test_a_fault_is_due_once_it_has_lasted_long_enough_whether_or_not_a_pass_comes(
    world: World,
) -> None:
    world.hear(of(1, PATIENT))
    assert world.send() == []
    assert world.ledger.due(world.now) == 60.0
    world.now += 60
    assert world.ledger.due(world.now) == 0
    assert len(world.send()) == 1
    assert world.ledger.due(world.now) is None


def test_a_fault_that_a_pass_found_no_more_is_due_no_more(world: World) -> None:
    world.hear(of(1, PATIENT))
    world.now += 30
    world.hear()
    assert world.ledger.due(world.now) is None


def test_a_fault_that_must_last_is_due_after_the_pause_that_a_failure_makes(world: World) -> None:
    world.hear(of(1), of(2, replace(PATIENT, patience=5.0)))
    due = world.ledger.take(world.now)
    assert due is not None
    world.ledger.told(world.now, due, 1)
    world.ledger.failed(world.now, retry_after=120.0)
    assert world.ledger.due(world.now) == 120.0
