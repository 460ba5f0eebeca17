"""When a set that somebody changed is written again, in simulated time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.drift import Action, Do, Drift, Fight, Suspect, Writer

PATH = "kubepods/pod1/cpuset.cpus"
OURS = cpulist.parse("2-3")
THEIRS = cpulist.parse("0-7")
OTHER = cpulist.parse("5")
SYSTEMD = Suspect(writer=Writer.SYSTEMD, because="0-7 is what the systemd unit allows")


def systemd(_seen: CpuSet) -> Suspect:
    return SYSTEMD


@dataclass
class File:
    """A file that others write, and an agent that looks at it and does as it is told."""

    drift: Drift
    holds: CpuSet = OURS
    wanted: CpuSet = OURS
    now: float = 0.0
    writes: list[tuple[float, Do]] = field(default_factory=list)

    def look(self) -> Action:
        action = self.drift.observe(self.now, PATH, self.wanted, self.holds, systemd)
        if action.do in (Do.APPLY, Do.REAPPLY):
            self.writes.append((self.now, action.do))
            self.holds = self.wanted
        return action

    def fight(self, seconds: float, every: float = 0.125) -> None:
        """Let somebody write the file after every write of ours, and look at it all the time."""
        end = self.now + seconds
        while self.now < end:
            self.now += every
            self.holds = THEIRS
            self.look()

    @property
    def reapplied(self) -> list[float]:
        return [moment for moment, do in self.writes if do is Do.REAPPLY]


def half() -> float:
    return 0.5


def ours(random: Callable[[], float] = half) -> File:
    """A file that holds what is wanted, as was seen."""
    file = File(drift=Drift(random))
    assert file.look().do is Do.NOTHING
    return file


def test_a_file_that_holds_what_is_wanted_is_left_alone() -> None:
    file = ours()
    file.now = 1e6
    assert file.look() == Action(do=Do.NOTHING)
    assert file.drift.counts == {}


def test_what_is_wanted_for_the_first_time_is_applied_and_is_no_drift() -> None:
    file = File(drift=Drift(half), holds=THEIRS)
    assert file.look() == Action(do=Do.APPLY)
    assert file.look() == Action(do=Do.NOTHING)
    file.wanted = OTHER
    assert file.look() == Action(do=Do.APPLY)
    assert file.drift.counts == {}


def test_a_file_that_somebody_changed_once_is_written_again_at_once() -> None:
    file = ours()
    file.now, file.holds = 100.0, THEIRS
    assert file.look() == Action(do=Do.REAPPLY, suspect=SYSTEMD)
    assert file.look() == Action(do=Do.NOTHING)
    assert file.drift.counts == {Writer.SYSTEMD: 1}


def test_a_file_that_can_t_be_read_is_neither_drifted_nor_fine() -> None:
    file = ours()
    assert file.drift.observe(1, PATH, OURS, None) == Action(do=Do.NOTHING)
    file.holds = THEIRS
    assert file.look().do is Do.REAPPLY


def test_the_second_re_application_waits_and_says_till_when() -> None:
    file = ours()
    file.holds = THEIRS
    file.look()
    file.now, file.holds = 0.25, THEIRS
    assert file.look() == Action(do=Do.WAIT, until=0.75, suspect=SYSTEMD)
    file.now = 0.75
    assert file.look().do is Do.REAPPLY


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.5), (0.5, 0.75), (0.999, 0.9995)])
def test_each_re_application_comes_later_than_the_one_before_till_it_is_a_conflict(
    chance: float, share: float
) -> None:
    file = ours(lambda: chance)
    file.fight(600, every=1 / 64)
    gaps = [later - earlier for earlier, later in pairwise(file.reapplied)]
    assert gaps == [pytest.approx(full * share, abs=1 / 32) for full in (1, 2, 4, 8)]
    assert file.look() == Action(do=Do.CONFLICT, suspect=SYSTEMD)
    assert file.drift.conflicts == {PATH: SYSTEMD}


def test_a_conflict_doesn_t_end_by_waiting_nor_by_a_moment_of_peace() -> None:
    file = ours()
    file.fight(60)
    file.now += 1e6
    assert file.look().do is Do.CONFLICT
    file.holds = OURS
    assert file.look().do is Do.NOTHING
    file.holds = THEIRS
    assert file.look().do is Do.CONFLICT
    assert len(file.reapplied) == 5


def test_a_changed_assignment_ends_a_conflict_and_is_written_once() -> None:
    file = ours()
    file.fight(60)
    file.wanted = OTHER
    assert file.look().do is Do.APPLY
    assert file.drift.conflicts == {}
    assert file.look().do is Do.NOTHING


def test_a_changed_assignment_ends_the_back_off() -> None:
    file = ours()
    for _ in range(3):
        file.now, file.holds = file.now + 5, THEIRS
        assert file.look().do is Do.REAPPLY
    file.wanted = OTHER
    assert file.look().do is Do.APPLY
    file.holds = THEIRS
    assert file.look().do is Do.REAPPLY
    file.holds = THEIRS
    assert file.look() == Action(do=Do.WAIT, until=file.now + 0.75, suspect=SYSTEMD)


def test_who_fought_a_moment_ago_gets_no_more_rounds_for_a_changed_assignment() -> None:
    file = ours()
    file.fight(60)
    file.wanted = OTHER
    file.look()
    file.fight(60)
    assert file.drift.conflicts == {PATH: SYSTEMD}
    assert len(file.reapplied) == 5


def test_an_operator_ends_a_conflict_with_all_its_rounds() -> None:
    file = ours()
    file.fight(60)
    file.drift.reset(PATH)
    assert file.drift.conflicts == {}
    assert file.look().do is Do.APPLY
    file.fight(60)
    assert len(file.reapplied) == 10
    assert file.drift.conflicts == {PATH: SYSTEMD}


def test_a_change_now_and_then_is_put_right_for_ever() -> None:
    file = ours()
    for _ in range(100):
        file.now, file.holds = file.now + 700, THEIRS
        assert file.look().do is Do.REAPPLY
        assert file.look().do is Do.NOTHING
    assert file.drift.counts == {Writer.SYSTEMD: 100}


def test_the_back_off_begins_anew_after_a_quiet_time() -> None:
    file = ours()
    for _ in range(4):
        file.now, file.holds = file.now + 60, THEIRS
        assert file.look().do is Do.REAPPLY
    file.now, file.holds = file.now + 600, THEIRS
    file.look()
    file.holds = THEIRS
    assert file.look() == Action(do=Do.WAIT, until=file.now + 0.75, suspect=SYSTEMD)


def test_one_who_writes_seldom_is_answered_at_most_every_two_minutes_in_the_end() -> None:
    file = File(drift=Drift(lambda: 0.999, Fight(cap=50)))
    file.look()
    file.fight(3600, every=1)
    gaps = [later - earlier for earlier, later in pairwise(file.reapplied)]
    assert max(gaps) == 120
    assert gaps[-5:] == [120] * 5


def test_the_same_set_seen_twice_is_one_change_and_another_set_is_another() -> None:
    file = ours()
    file.holds = THEIRS
    file.look()
    for holds in (THEIRS, THEIRS, OTHER, OTHER, THEIRS):
        file.holds = holds
        assert file.look().do is Do.WAIT
    assert file.drift.counts == {Writer.SYSTEMD: 4}


def test_the_same_set_after_a_moment_of_peace_is_another_change() -> None:
    file = ours()
    file.holds = THEIRS
    file.look()
    for holds in (THEIRS, OURS, THEIRS):
        file.holds = holds
        file.look()
    assert file.drift.counts == {Writer.SYSTEMD: 3}


def test_nobody_is_looked_for_while_nothing_changed() -> None:
    asked: list[CpuSet] = []

    def ask(seen: CpuSet) -> Suspect:
        asked.append(seen)
        return SYSTEMD

    drift = Drift(half)
    for now, seen in enumerate([OURS, THEIRS, THEIRS, THEIRS, OURS]):
        drift.observe(now / 8, PATH, OURS, seen, ask)
    # Once before our write and once after it.
    assert asked == [THEIRS, THEIRS]


def test_without_anybody_to_ask_the_writer_is_unknown() -> None:
    drift = Drift(half)
    for seen in (OURS, THEIRS):
        action = drift.observe(0, PATH, OURS, seen)
    assert action.suspect is not None
    assert action.suspect.writer is Writer.UNKNOWN
    assert drift.counts == {Writer.UNKNOWN: 1}


def test_a_write_that_the_kernel_refused_is_nobody_s_drift() -> None:
    drift = Drift(half)
    for _ in range(20):
        assert drift.observe(0, PATH, OURS, THEIRS, systemd).do is Do.APPLY
        drift.refused(PATH)
    assert drift.counts == {}
    drift.refused("never seen")


def test_a_refusal_doesn_t_end_a_conflict() -> None:
    file = ours()
    file.fight(60)
    file.drift.refused(PATH)
    file.holds = THEIRS
    assert file.look().do is Do.CONFLICT


def test_an_empty_set_is_never_wanted() -> None:
    with pytest.raises(ValueError, match=f"{PATH}: an empty set is never wanted"):
        Drift(half).observe(0, PATH, frozenset(), OURS)


def test_one_file_s_fight_costs_the_others_nothing() -> None:
    file = ours()
    file.fight(60)
    other = "kubepods/pod2/cpuset.cpus"
    seen = [OURS, THEIRS]
    dos = [file.drift.observe(file.now, other, OURS, holds).do for holds in seen]
    assert dos == [Do.NOTHING, Do.REAPPLY]
    assert list(file.drift.conflicts) == [PATH]


def test_files_that_have_gone_are_forgotten() -> None:
    file = ours()
    file.fight(60)
    file.drift.keep([PATH])
    assert list(file.drift.conflicts) == [PATH]
    file.drift.keep([])
    assert file.drift.conflicts == {}
    assert file.look().do is Do.APPLY
