"""When containers are looked at again, in simulated time."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.verifying import AFTER_START, EVERY, EVERY_TOLD, Looks

KEYS = st.sampled_from(["a", "b", "c"])


@dataclass
class Watchman:
    """Sleeps as long as he is told to, and notes when he looked at what."""

    looks: Looks = field(default_factory=Looks)
    now: float = 0.0
    seen: list[tuple[float, str]] = field(default_factory=list)
    woken: int = 0

    def run_to(self, end: float) -> None:
        while (wait := self.looks.next(self.now)) is not None and self.now + wait <= end:
            # A sleep ends a little late, never early.
            self.now += wait + 1e-6
            self.woken += 1
            self.seen += [(round(self.now, 3), key) for key in self.looks.due(self.now)]
        self.now = max(self.now, end)

    def when(self, key: str) -> list[float]:
        return [moment for moment, seen in self.seen if seen == key]


def test_a_container_is_looked_at_soon_after_its_start_and_then_from_time_to_time() -> None:
    watchman = Watchman()
    watchman.looks.started(0.0, "a")
    watchman.run_to(95)
    assert watchman.when("a") == [0.2, 1.0, 10.0, 30.0, 60.0, 90.0]
    assert watchman.woken == 6


def test_without_containers_nobody_wakes() -> None:
    looks = Looks()
    assert looks.next(0) is None
    looks.started(0, "a")
    looks.ended("a")
    assert looks.next(1_000) is None
    assert looks.due(1_000) == []


def test_the_first_container_after_a_quiet_time_is_not_looked_at_early() -> None:
    watchman = Watchman()
    watchman.looks.started(0, "a")
    watchman.looks.ended("a")
    watchman.run_to(1_000)
    watchman.looks.started(1_000, "b")
    watchman.run_to(1_031)
    assert watchman.when("b") == [1_000.2, 1_001.0, 1_010.0, 1_030.0]


def test_the_periodic_look_is_at_all_at_once_however_many() -> None:
    watchman = Watchman()
    for number in range(1_000):
        watchman.looks.started(0, f"{number:03}")
    watchman.run_to(95)
    assert watchman.woken == 6
    assert len(watchman.seen) == 6_000
    assert [key for moment, key in watchman.seen if moment == 30.0] == [
        f"{number:03}" for number in range(1_000)
    ]


def test_a_look_that_comes_late_counts_for_those_that_it_is_late_for() -> None:
    looks = Looks()
    looks.started(0, "a")
    assert looks.due(5) == ["a"]
    assert looks.due(5) == []
    assert looks.next(5) == 5
    assert looks.due(100) == ["a"]
    assert looks.next(100) == EVERY


def test_a_container_that_starts_again_begins_anew() -> None:
    watchman = Watchman()
    watchman.looks.started(0, "a")
    watchman.run_to(0.5)
    watchman.looks.started(0.5, "a")
    watchman.run_to(12)
    assert watchman.when("a") == [0.2, 0.7, 1.5, 10.5]


def test_one_that_ended_is_looked_at_no_more_and_the_others_are() -> None:
    watchman = Watchman()
    for key in ("a", "b", "c"):
        watchman.looks.started(0, key)
    watchman.looks.ended("a")
    watchman.looks.ended("never started")
    watchman.looks.keep({"b", "never started"})
    watchman.run_to(31)
    assert {key for _, key in watchman.seen} == {"b"}


ACTS = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from(["start", "end", "pass"]), KEYS), max_size=30
)


@given(acts=ACTS)
def test_every_container_gets_each_look_in_time_and_none_before_its_start_or_after_its_end(
    acts: list[tuple[int, str, str]],
) -> None:
    watchman = Watchman()
    running: dict[str, float] = {}
    for tenths, act, key in (*acts, (1_000, "pass", "a")):
        before = len(watchman.seen)
        watchman.run_to(watchman.now + tenths / 10)
        assert {seen for _, seen in watchman.seen[before:]} <= set(running)
        if act == "start":
            running[key] = watchman.now
            watchman.looks.started(watchman.now, key)
        elif act == "end":
            running.pop(key, None)
            watchman.looks.ended(key)
    for key, start in running.items():
        looks = [moment - start for moment in watchman.when(key) if moment > start]
        own = [look for look in looks if any(abs(look - after) < 0.01 for after in AFTER_START)]
        assert len(own) >= len(AFTER_START)
        periods = (watchman.now - start) / EVERY
        assert periods - 1 <= len(looks) - len(AFTER_START) <= periods + 1


def test_what_a_pass_has_looked_at_waits_from_then_on() -> None:
    looks = Looks()
    looks.started(0, "a")
    assert looks.due(20) == ["a"]
    looks.all_seen(20, EVERY)
    assert looks.next(20) == EVERY
    looks.all_seen(49, EVERY_TOLD)
    assert looks.next(49) == EVERY_TOLD
    assert looks.due(49 + EVERY_TOLD - 1) == []
    assert looks.due(49 + EVERY_TOLD) == ["a"]
    assert looks.next(49 + EVERY_TOLD) == EVERY_TOLD


def test_a_pass_puts_off_no_look_at_a_container_that_has_just_started() -> None:
    looks = Looks()
    looks.started(0, "a")
    looks.all_seen(0.1, EVERY_TOLD)
    assert looks.next(0.1) == 0.1
    assert looks.due(0.2) == ["a"]


def test_a_pass_over_nothing_wakes_nobody() -> None:
    looks = Looks()
    looks.all_seen(0, EVERY)
    assert looks.next(1_000) is None
