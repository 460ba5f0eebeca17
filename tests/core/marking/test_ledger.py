"""What is written on pods and when, what is tried again, and what is left alone."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.marking import NONE, Ledger, Limits, Marks, Step, Young, marks_on, wanted
from numa_agent.core.pods import Pod
from tests.machine_tree import pod, uid

LIMITS = Limits()
TEXT = '{"version": 1, "cpus": "0-3"}'
WHY = ("no-room", "node 0 lacks 2 CPUs")
YOUNG = Young(seconds=300, since="2026-03-02T08:00:00Z", until="2026-03-02T09:00:00Z")


def web(number: int, marks: Marks = NONE, of: str = "ReplicaSet/web") -> Pod:
    return replace(pod(number, annotations=marks.annotations), controller=of)


def ledger() -> Ledger:
    """One of an agent that has run for long."""
    return Ledger(lambda: 0.5, Limits(fresh=0.0))


def taken(found: Ledger, now: float, *, do: bool = True) -> list[Step]:
    """Everything that is to be done now, done at once."""
    steps = []
    while (step := found.take(now)) is not None:
        steps.append(step)
        if do:
            found.done(now, step)
    return steps


def test_what_a_pod_lacks_is_written_and_what_it_has_is_not() -> None:
    found = ledger()
    marks = wanted(TEXT, None)
    found.hear(0, [web(1), web(2, marks), web(3)], {uid(1): TEXT, uid(2): TEXT}, None)
    assert found.due(0) == 0
    (step,) = taken(found, 0)
    assert (step.pod.uid, step.marks, step.before, step.evicts) == (uid(1), marks, NONE, False)
    assert found.due(0) is None


def test_a_restart_writes_nothing() -> None:
    marks = wanted(TEXT, WHY)
    found = ledger()
    found.hear(0, [web(1, marks)], {uid(1): TEXT}, {uid(1): WHY})
    assert found.due(0) is None


def test_a_watch_that_is_late_makes_no_second_write() -> None:
    found = ledger()
    for now in range(0, 300, 10):
        found.hear(now, [web(1)], {uid(1): TEXT}, None)
        assert len(taken(found, now)) == (1 if now == 0 else 0)


def test_a_pass_in_between_makes_no_second_write() -> None:
    found = ledger()
    found.hear(0, [web(1)], {uid(1): TEXT}, None)
    step = found.take(0)
    assert step is not None
    found.hear(0, [web(1)], {uid(1): TEXT}, None)
    found.done(0, step)
    assert found.take(0) is None


def test_another_decision_is_written_at_once_and_other_words_later() -> None:
    found = ledger()
    found.hear(0, [web(1)], None, {uid(1): WHY})
    taken(found, 0)
    has = web(1, wanted(None, WHY))
    other_words = {uid(1): ("no-room", "node 0 lacks 3 CPUs")}
    found.hear(10, [has], None, other_words)
    assert found.due(10) is None
    found.hear(LIMITS.again, [has], None, other_words)
    assert len(taken(found, LIMITS.again)) == 1
    found.hear(LIMITS.again + 1, [has], None, {uid(1): ("never-fits", "x")})
    assert found.due(LIMITS.again + 1) == LIMITS.least - 1
    assert len(taken(found, LIMITS.again + LIMITS.least)) == 1


def test_two_decisions_that_take_turns_are_not_written_each_time() -> None:
    """Each mark comes back by the watch, and the next pass says the other thing."""
    found, now, written = ledger(), 0.0, 0
    has = NONE
    while now < 600:
        why = ("no-room", "x") if written % 2 else ("devices-apart", "x")
        found.hear(now, [web(1, has)], None, {uid(1): why})
        for step in taken(found, now):
            has, written = step.marks, written + 1
        now += 0.5
    assert 100 < written <= 600 / LIMITS.least + 1


def test_a_mark_that_holds_no_more_goes() -> None:
    found = ledger()
    found.hear(0, [web(1, wanted(TEXT, WHY))], {}, {})
    (step,) = taken(found, 0)
    assert step.marks == NONE
    found.hear(1, [web(1)], {}, {})
    assert found.due(1) is None


def test_who_takes_marks_away_is_not_fought() -> None:
    found = ledger()
    writes = []
    for now in range(0, 7201, 60):
        found.hear(now, [web(1)], {uid(1): TEXT}, None)
        writes += [now for _ in taken(found, now)]
    assert writes == [0, 3600, 7200]


def test_a_mark_of_somebody_else_that_can_not_be_taken_away_is_left() -> None:
    forged = web(1, wanted("forged", None))
    found = ledger()
    writes = []
    for now in range(0, 3600, 60):
        found.hear(now, [forged], {}, None)
        writes += [now for _ in taken(found, now)]
    assert writes == [0]


def test_switched_off_it_writes_nothing_and_takes_away_what_it_wrote() -> None:
    before = wanted(TEXT, None)
    found = ledger()
    found.hear(0, [web(1, before), web(2)], None, None)
    assert found.due(0) is None
    found.hear(1, [web(2)], {uid(2): TEXT}, None)
    taken(found, 1)
    found.hear(2, [web(1, before), web(2, before)], None, None)
    (step,) = taken(found, 1 + LIMITS.least)
    assert (step.pod.uid, step.marks) == (uid(2), NONE)


def test_a_finished_pod_and_one_that_is_gone_are_left_alone() -> None:
    found = ledger()
    found.hear(0, [replace(web(1), phase="Succeeded")], {uid(1): TEXT, uid(2): TEXT}, None)
    assert found.due(0) is None
    found.hear(0, [web(3)], {uid(3): TEXT}, None)
    step = found.take(0)
    assert step is not None
    found.hear(1, [], {}, None)
    found.failed(1, step, None)
    assert found.due(1) is None


def test_what_the_server_refuses_is_not_tried_again_until_it_is_another() -> None:
    found = ledger()
    found.hear(0, [web(1)], {uid(1): TEXT}, None)
    step = found.take(0)
    assert step is not None
    found.refused(step)
    found.hear(5000, [web(1)], {uid(1): TEXT}, None)
    assert found.due(5000) is None
    found.hear(5001, [web(1)], {uid(1): "{}"}, None)
    assert found.due(5001) == 0


def test_what_is_forbidden_in_a_namespace_waits_there_and_nowhere_else() -> None:
    found = ledger()
    elsewhere = replace(web(2), namespace="other")
    told = {uid(1): TEXT, uid(2): TEXT}
    found.hear(0, [web(1), elsewhere], told, None)
    step = found.take(0)
    assert step is not None
    found.forbidden(0, step)
    (other,) = taken(found, 0)
    assert {step.pod.uid, other.pod.uid} == {uid(1), uid(2)}
    found.hear(LIMITS.forbidden, [web(1), elsewhere], told, None)
    assert [each.pod.uid for each in taken(found, LIMITS.forbidden)] == [step.pod.uid]


def test_a_server_that_is_ill_is_left_alone_for_longer_and_longer() -> None:
    found = ledger()
    found.hear(0, [web(1)], {uid(1): TEXT}, None)
    now, rests = 0.0, []
    for _ in range(8):
        step = found.take(now)
        assert step is not None
        found.failed(now, step, None)
        rest = found.due(now)
        assert rest is not None
        assert found.take(now) is None
        rests.append(rest)
        now += rest
    assert rests == [7.5, 15, 30, 60, 120, 225, 225, 225]
    step = found.take(now)
    assert step is not None
    found.failed(now, step, 100.0)
    assert found.due(now) == 225


def test_a_busy_server_is_obeyed() -> None:
    found = ledger()
    found.hear(0, [web(1)], {uid(1): TEXT}, None)
    step = found.take(0)
    assert step is not None
    found.failed(0, step, 60.0)
    assert found.due(0) == 65


def test_many_marks_at_once_take_their_time() -> None:
    pods = [web(number) for number in range(1, 101)]
    found = ledger()
    found.hear(0, pods, {each.uid: TEXT for each in pods}, None)
    assert len(taken(found, 0)) == 20
    assert found.due(0) == pytest.approx(1)
    assert len(taken(found, 10)) == 10


def unplaced(*numbers: int) -> Mapping[str, tuple[str, str]]:
    return {uid(number): WHY for number in numbers}


def marked(number: int, of: str = "ReplicaSet/web") -> Pod:
    return web(number, wanted(None, WHY), of)


def test_nobody_is_evicted_by_default() -> None:
    found = ledger()
    for now in range(0, 3600, 60):
        found.hear(now, [marked(1)], None, unplaced(1))
        assert found.due(now) is None


def test_a_pod_is_evicted_once_it_has_its_mark_and_some_time() -> None:
    found = ledger()
    found.hear(0, [web(1)], None, unplaced(1), YOUNG)
    assert [each.evicts for each in taken(found, 100)] == [False]
    assert found.due(100) is None
    found.hear(101, [marked(1)], None, unplaced(1), YOUNG)
    assert [each.evicts for each in taken(found, 101)] == [True]
    found.hear(200, [marked(1)], None, unplaced(1), YOUNG)
    assert found.due(200) is None


def test_a_pod_that_is_placed_meanwhile_stays_and_begins_anew() -> None:
    found = ledger()
    found.hear(0, [marked(1)], None, unplaced(1), YOUNG)
    assert found.due(0) == LIMITS.settle
    found.hear(20, [marked(1)], None, {}, YOUNG)
    taken(found, 20)
    found.hear(40, [marked(1)], None, unplaced(1), YOUNG)
    assert found.due(40) == LIMITS.settle


def test_a_mark_with_another_code_is_no_leave_to_evict() -> None:
    found = ledger()
    other = web(1, wanted(None, ("devices-apart", "x")))
    found.hear(0, [other], None, unplaced(1), YOUNG)
    assert [each.evicts for each in taken(found, 50)] == [False]


def test_one_pod_a_minute_is_evicted() -> None:
    pods = [marked(number, f"ReplicaSet/{number}") for number in range(1, 5)]
    found = ledger()
    moments = []
    for now in range(0, 290, 5):
        found.hear(now, pods, None, unplaced(1, 2, 3, 4), YOUNG)
        moments += [now for _ in taken(found, now)]
    assert moments == [30, 90, 150, 210]


def test_a_refused_eviction_holds_nobody_else_up() -> None:
    pods = [marked(1, "ReplicaSet/a"), marked(2, "ReplicaSet/b")]
    found = ledger()
    tried = []
    for now in range(0, 300, 10):
        found.hear(now, pods, None, unplaced(1, 2), YOUNG)
        for step in taken(found, now, do=False):
            found.refused(step)
            tried.append((now, step.pod.uid))
    assert [now for now, _ in tried] == [30, 90, 150, 210, 270]
    assert [each for _, each in tried] == [uid(1), uid(2), uid(1), uid(2), uid(1)]


def test_a_controller_whose_pods_always_come_back_is_given_up_on() -> None:
    found = ledger()
    evicted = []
    for number, now in enumerate(range(0, 3500, 100), 1):
        found.hear(now, [marked(number % 60)], None, unplaced(number % 60), YOUNG)
        later = now + LIMITS.settle
        found.hear(later, [marked(number % 60)], None, unplaced(number % 60), YOUNG)
        evicted += [now for _ in taken(found, later)]
    assert evicted == [0, 100, 200]
    found.hear(3700, [marked(1)], None, unplaced(1), YOUNG)
    assert found.due(3700) == LIMITS.settle


def test_an_agent_that_starts_again_and_again_evicts_no_more_than_one_that_runs() -> None:
    """What it did before isn't known to it: each start would begin with three evictions."""
    for life in (60.0, 600.0, 1300.0, 2500.0, 4000.0):
        now, evicted = 0.0, []
        while now < 6 * 3600:
            found, end, number = Ledger(lambda: 0.5), now + life, 0
            while now < end:
                number += 1
                pod = marked(number % 60)
                for later in (now, now + LIMITS.settle):
                    found.hear(later, [pod], None, {pod.uid: WHY}, YOUNG)
                    evicted += [later for _ in taken(found, later)]
                now += LIMITS.settle + 10
        assert len(evicted) <= 6 * 3600 / LIMITS.fresh + 1, life
        hours = [[each for each in evicted if begin <= each < begin + 3600] for begin in evicted]
        assert max(map(len, hours), default=0) <= 5, life


def test_it_is_said_why_a_pod_is_kept() -> None:
    found = ledger()
    found.hear(0, [marked(1, "Job/x"), marked(2)], None, unplaced(1, 2), YOUNG)
    assert found.kept.keys() == {uid(1)}
    found.hear(0, [marked(1, "Job/x")], None, unplaced(1))
    assert found.kept == {}


def test_a_clock_that_was_set_back_makes_no_pod_young() -> None:
    found = ledger()
    found.hear(0, [marked(1)], None, unplaced(1))
    found.hear(301, [marked(1)], None, unplaced(1), YOUNG)
    assert found.due(301) is None
    assert "too long" in found.kept[uid(1)]


_ACTS = st.lists(
    st.tuples(
        st.floats(0, 120),
        st.frozensets(st.integers(1, 4)),
        st.frozensets(st.integers(1, 4)),
        st.sampled_from(["done", "refused", "gone", "forbidden", "failed"]),
        st.booleans(),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(_ACTS)
def test_whatever_happens_evictions_are_rare_and_nothing_hangs(
    acts: list[tuple[float, frozenset[int], frozenset[int], str, bool]],
) -> None:
    found, now, tried, done = ledger(), 0.0, [], []
    has: dict[int, Marks] = {}
    for passed, here, wants, outcome, evicts in acts:
        now += passed
        pods = [web(number, has.get(number, NONE)) for number in here]
        found.hear(now, pods, {}, unplaced(*wants), YOUNG if evicts else None)
        for _ in range(50):
            step = found.take(now)
            if step is None:
                break
            number = int(step.pod.name[1:])
            assert number in here
            if step.evicts:
                assert evicts
                assert number in wants
                assert marks_on(step.pod).code == "no-room"
                tried.append(now)
                done += [now] if outcome == "done" else []
            elif outcome == "done":
                has[number] = step.marks
            match outcome:
                case "done":
                    found.done(now, step)
                case "refused":
                    found.refused(step)
                case "gone":
                    found.gone(step)
                case "forbidden":
                    found.forbidden(now, step)
                case _:
                    found.failed(now, step, None)
        else:
            raise AssertionError("it takes no end")
        due = found.due(now)
        assert due is None or due > 0
    assert all(later - sooner >= 60 for sooner, later in pairwise(tried))
    assert all(later - sooner >= 3600 for sooner, later in zip(done, done[3:], strict=False))
