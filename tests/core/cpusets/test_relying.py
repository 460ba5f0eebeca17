"""Which of a pod's steps stand where some of its files can't be written."""

from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.cgroups import File
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Step, beside, parted, standing
from tests.machine_tree import cpus

POD = "kubepods/pod"
ONE, TWO = f"{POD}/1", f"{POD}/2"


def to(path: str, before: str, after: str, file: File = "cpus") -> Step:
    return Step(
        path=path,
        file=file,
        before=cpus(before),
        after=cpus(after),
        pod="shop/p",
        container="",
        reason="it was decided",
    )


def taken(*own: Step, stuck: str, file: File = "cpus") -> list[str]:
    """The steps that stand while one file is stuck, as `place file=list`."""
    found, left = standing(own, {(stuck, file)})
    assert sorted([*found, *left], key=own.index) == list(own)
    return [
        f"{step.path.removeprefix(POD) or 'pod'} {step.file}={render(step.after)}"
        for step in found
    ]


def test_where_nothing_is_stuck_all_stand() -> None:
    own = (to(POD, "0-3", "0-7"), to(ONE, "0-3", "4-7"), to(POD, "0-7", "4-7"))
    assert standing(own, ()) == (own, ())


def test_what_is_beside_a_stuck_file_stands() -> None:
    # Containers on cgroup v1: nothing above them is written.
    assert taken(to(ONE, "0-7", "4-7"), to(TWO, "0-7", "4-7"), stuck=ONE) == ["/2 cpus=4-7"]
    # A name that begins alike is no part of the tree.
    assert taken(to(ONE, "0-7", "4"), to(f"{ONE}0", "0-7", "4"), stuck=ONE) == ["/10 cpus=4"]


def test_below_a_stuck_file_a_set_that_lies_within_it_stands() -> None:
    own = (to(ONE, "", "2"), to(TWO, "", "5"), to(POD, "0-3", "2-5"))
    assert taken(*own, stuck=POD) == ["/1 cpus=2"]


def test_below_one_that_has_all_that_is_around_it_any_set_stands() -> None:
    assert taken(to(ONE, "", "2"), to(POD, "", "2-5"), stuck=POD) == ["/1 cpus=2"]


def test_above_a_stuck_file_a_set_is_narrowed_and_never_moved_or_widened() -> None:
    # Whoever is left in the stuck one mustn't stay on what is another pod's by now.
    assert taken(to(ONE, "0-7", "1"), to(POD, "0-7", "0-3"), stuck=ONE) == ["pod cpus=0-3"]
    assert taken(to(ONE, "0-7", "1"), to(POD, "", "0-3"), stuck=ONE) == ["pod cpus=0-3"]
    assert taken(to(POD, "0-3", "0-5"), to(ONE, "3", "5"), stuck=ONE) == []
    moved = (to(POD, "0-3", "0-7"), to(ONE, "3", "5"), to(POD, "0-7", "4-7"))
    assert taken(*moved, stuck=ONE) == []


def test_what_relies_on_a_step_that_isn_t_taken_isn_t_taken_either() -> None:
    own = (
        to(POD, "0-3", "0-7"),
        to(ONE, "3", "5"),
        to(TWO, "2", "6"),
        to(POD, "0-7", "4-7"),
    )
    assert taken(*own, stuck=ONE) == []
    # What lies within what the pod has anyway does not.
    assert taken(*own[:2], to(TWO, "2-3", "2"), stuck=ONE) == ["/2 cpus=2"]


def test_memory_nodes_wait_for_the_cpus_of_their_cgroup_and_of_those_above() -> None:
    own = (to(POD, "0-7", "0-3"), to(POD, "", "0", "mems"), to(ONE, "", "0", "mems"))
    assert taken(*own, stuck=POD) == []
    both = (to(ONE, "0-7", "4"), *own[1:])
    assert taken(*both, stuck=ONE) == ["pod mems=0"]


def test_cpus_wait_for_no_memory_nodes() -> None:
    own = (to(POD, "0-7", "0-3"), to(POD, "", "0", "mems"))
    assert taken(*own, stuck=POD, file="mems") == ["pod cpus=0-3"]


def test_memory_nodes_that_say_what_is_in_force_stay_before_their_cpus() -> None:
    spelt, narrow = to(POD, "", "0-1", "mems"), to(POD, "0-7", "0-3")
    moved = to(POD, "0-1", "0", "mems")
    assert parted((spelt, narrow, moved)) == ((spelt, narrow), (moved,))
    assert parted((moved,)) == ((), (moved,))
    assert parted((narrow,)) == ((narrow,), ())
    # A fight about the nodes keeps no CPUs from a kernel before 6.1.
    assert standing((spelt, narrow), ()) == ((spelt, narrow), ())
    # CPUs that are stuck need none.
    assert standing((spelt, narrow, moved), {(POD, "cpus")})[0] == ()


def test_what_relies_on_nothing_of_a_refused_step_goes_on() -> None:
    own = (to(ONE, "0-7", "1"), to(TWO, "0-7", "2"), to(f"{ONE}/x", "", "1"))
    assert beside(own[0], own[1:], own) == (own[1],)
    # Under a directory that is written too, they rely on each other.
    above = (*own, to(POD, "0-7", "1-2"))
    assert beside(own[0], above[1:], above) == ()


PLACES = st.sampled_from([POD, ONE, TWO, f"{ONE}/x", f"{ONE}/y", "kubepods/other"])
SETS = st.frozensets(st.integers(0, 3), min_size=1).map(render)
STEPS = st.builds(to, PLACES, SETS, SETS, st.sampled_from(["cpus", "mems"]))


@given(own=st.lists(STEPS, max_size=8), stuck=st.sets(PLACES, max_size=2))
def test_no_step_writes_a_stuck_file_nor_widens_anything_around_one(
    own: list[Step], stuck: set[str]
) -> None:
    found, left = standing(own, {(path, "cpus") for path in stuck})
    assert len(found) + len(left) == len(own)
    held = {(step.path, step.file): step.before for step in reversed(own)}
    for step in found:
        assert step.file == "mems" or step.path not in stuck
        inside = any(path.startswith(f"{step.path}/") for path in stuck)
        if step.file == "cpus" and inside:
            assert step.after <= held[step.path, "cpus"]
        held[step.path, step.file] = step.after
