"""What holds for one file whatever others do to it, and whenever it is looked at."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.drift import Action, Do, Drift, Fight

PATHS = ("a", "b")
SETS: list[CpuSet] = [frozenset({0}), frozenset({1}), frozenset({0, 1})]
MOMENTS = st.integers(0, 400).map(lambda eighths: eighths / 8)
FIGHTS = st.builds(
    Fight,
    cap=st.integers(1, 4),
    window=st.sampled_from([8.0, 60.0]),
    first=st.sampled_from([0.125, 1.0]),
    most=st.sampled_from([1.0, 16.0]),
    quiet=st.sampled_from([4.0, 60.0]),
)


@dataclass
class Life:
    """One agent's look at two files, and what it was told to do."""

    drift: Drift
    now: float = 0.0
    holds: dict[str, CpuSet] = field(default_factory=lambda: dict.fromkeys(PATHS, SETS[2]))
    wanted: dict[str, CpuSet] = field(default_factory=lambda: dict.fromkeys(PATHS, SETS[0]))
    reapplied: dict[str, list[float]] = field(default_factory=lambda: {path: [] for path in PATHS})
    told: dict[str, Action] = field(default_factory=dict)
    latched: set[str] = field(default_factory=set)


Act = tuple[str, Callable[[Life, str], None]]


def look(life: Life, path: str) -> None:
    seen, wanted = life.holds[path], life.wanted[path]
    action = life.drift.observe(life.now, path, wanted, seen)
    life.told[path] = action
    if seen == wanted:
        assert action.do is Do.NOTHING
    else:
        assert action.do is not Do.NOTHING
    if path in life.latched:
        assert action.do in (Do.NOTHING, Do.CONFLICT)
    if action.do is Do.CONFLICT:
        life.latched.add(path)
    if action.do is Do.WAIT:
        assert action.until is not None
        assert action.until > life.now
    if action.do is Do.REAPPLY:
        life.reapplied[path].append(life.now)
    if action.do in (Do.APPLY, Do.REAPPLY):
        life.holds[path] = wanted


def pass_time(seconds: float) -> Callable[[Life, str], None]:
    def act(life: Life, _path: str) -> None:
        life.now += seconds

    return act


def others_write(cpus: CpuSet) -> Callable[[Life, str], None]:
    def act(life: Life, path: str) -> None:
        life.holds[path] = cpus
        look(life, path)

    return act


def assign(cpus: CpuSet) -> Callable[[Life, str], None]:
    def act(life: Life, path: str) -> None:
        if life.wanted[path] != cpus:
            life.latched.discard(path)
        life.wanted[path] = cpus
        look(life, path)

    return act


def unread(life: Life, path: str) -> None:
    assert life.drift.observe(life.now, path, life.wanted[path], None).do is Do.NOTHING


def refuse(life: Life, path: str) -> None:
    """Let the write that was told last be one that the kernel refused: it was none then."""
    told = life.told.pop(path, None)
    if told is None or told.do not in (Do.APPLY, Do.REAPPLY):
        return
    if told.do is Do.REAPPLY:
        life.reapplied[path].pop()
    life.holds[path] = SETS[1]
    life.drift.refused(path)


def wait_out(life: Life, path: str) -> None:
    """Look when the last answer says, with the file drifted again."""
    told = life.told.get(path)
    if told is not None and told.until is not None:
        life.now = max(life.now, told.until)
    others_write(SETS[2])(life, path)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(PATHS),
        st.one_of(
            MOMENTS.map(pass_time),
            st.sampled_from(SETS).map(others_write),
            st.sampled_from(SETS[:2]).map(assign),
            st.sampled_from([look, unread, refuse, wait_out, wait_out, wait_out]),
        ),
    ),
    max_size=60,
)
CHANCES = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=8)


def lived(fight: Fight, chances: list[float], acts: list[Act]) -> Life:
    draws = iter(chances * 60)
    life = Life(drift=Drift(lambda: next(draws), fight))
    for path, act in acts:
        act(life, path)
    return life


@given(fight=FIGHTS, chances=CHANCES, acts=ACTS)
def test_no_window_sees_more_re_applications_than_the_cap(
    fight: Fight, chances: list[float], acts: list[Act]
) -> None:
    life = lived(fight, chances, acts)
    for moments in life.reapplied.values():
        for start in moments:
            within = [moment for moment in moments if 0 <= moment - start < fight.window]
            assert len(within) <= fight.cap


@given(fight=FIGHTS, chances=CHANCES, acts=ACTS)
def test_what_is_in_conflict_is_what_was_told_so_and_not_assigned_anew(
    fight: Fight, chances: list[float], acts: list[Act]
) -> None:
    life = lived(fight, chances, acts)
    assert set(life.drift.conflicts) == life.latched


@given(fight=FIGHTS, chances=CHANCES, acts=ACTS)
def test_after_any_life_a_quiet_file_is_never_written(
    fight: Fight, chances: list[float], acts: list[Act]
) -> None:
    life = lived(fight, chances, acts)
    counts = life.drift.counts
    for path in PATHS:
        life.holds[path] = life.wanted[path]
        for _ in range(3):
            life.now += 100
            look(life, path)
            assert life.told[path] == Action(do=Do.NOTHING)
    assert life.drift.counts == counts


@given(fight=FIGHTS, chances=CHANCES, acts=ACTS)
def test_after_any_life_a_reset_gives_a_file_all_its_rounds(
    fight: Fight, chances: list[float], acts: list[Act]
) -> None:
    life = lived(fight, chances, acts)
    life.drift.reset("a")
    life.latched.discard("a")
    life.holds["a"] = SETS[2]
    before = len(life.reapplied["a"])
    look(life, "a")
    assert life.told["a"].do is Do.APPLY
    for _ in range(20):
        wait_out(life, "a")
    assert len(life.reapplied["a"]) - before >= fight.cap
