"""The churn that two agents are compared in is the same for both."""

from collections import Counter
from itertools import pairwise

import pytest

from benchmarks.churn.plan import KINDS, LANES, PART_SECONDS, Life, plan
from numa_agent.core.cpulist import parse

PODS = 24


def test_a_seed_decides_everything() -> None:
    assert plan(3, PODS) == plan(3, PODS)
    assert plan(3, PODS) != plan(4, PODS)


@pytest.mark.parametrize("seed", range(5))
def test_no_cpu_is_given_out_by_two_lanes(seed: int) -> None:
    for lane, (cpus, node) in zip(plan(seed, PODS), LANES, strict=False):
        given = [cpus_of for life in lane for cpus_of in _given(life)]
        assert given
        assert all(parse(each) <= parse(cpus) for each in given)
        assert {life.mems for life in lane} <= {"", str(node)}


@pytest.mark.parametrize("seed", range(5))
def test_each_kind_comes_in_its_share(seed: int) -> None:
    *own, plain = plan(seed, PODS)
    names = {life.name: life.kind for lane in own for life in lane}
    rounds = PODS // len(KINDS)
    assert Counter(names.values()) == {kind: rounds * KINDS.count(kind) for kind in set(KINDS)}
    assert {life.kind for life in plain} == {"plain"}
    assert len(plain) == PODS // len(LANES)


@pytest.mark.parametrize("seed", range(5))
def test_what_happens_to_each_kind(seed: int) -> None:
    lives = [life for lane in plan(seed, PODS) for life in lane]
    for life in lives:
        assert bool(life.cpus) == (life.kind not in ("later", "plain"))
        assert (life.exits_after is not None) == (life.kind == "restart")
        whats = [act.what for act in life.acts]
        expected = {"later": ["assign"], "moved": ["assign"], "drift": ["foreign"]}
        assert whats == expected.get(life.kind, [])
        assert life.lasts >= PART_SECONDS[0]
        assert life.kind != "moved" or life.acts[0].cpus != life.cpus


@pytest.mark.parametrize("seed", range(5))
def test_a_name_that_comes_again_has_other_cpus_and_follows_at_once(seed: int) -> None:
    for lane in plan(seed, PODS):
        again = [life for life in lane if life.kind == "again"]
        for name in {life.name for life in again}:
            one, other = (life for life in again if life.name == name)
            assert one.cpus != other.cpus
            assert (one, other) in pairwise(lane)


def _given(life: Life) -> list[str]:
    return [each for each in (life.cpus, *(act.cpus for act in life.acts)) if each]
