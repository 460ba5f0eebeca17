"""What holds of the steps for every pod, target and kernel, after each single write."""

from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from numa_agent.core.cpusets.steps import steps
from numa_agent.core.cpusets.values import PodTarget, Step
from tests.core.cpusets.kernel import (
    ABOVE,
    FILES,
    POD,
    Ids,
    Kernel,
    Rules,
    kernels,
    parent,
    targets,
)

Force = dict[tuple[str, str], Ids]


@st.composite
def moves(draw: st.DrawFn, rules: Rules) -> tuple[Kernel, PodTarget]:
    kernel = draw(kernels(rules))
    target = draw(targets(kernel))
    assume(rules is not Rules.V2_5_10 or writable(kernel, target))
    return kernel, target


def writable(kernel: Kernel, target: PodTarget) -> bool:
    """Whether 5.10 lets the memory nodes be written at all.

    It refuses both files of a cgroup that lacks in one of them what a child has. Where the CPUs
    are steered as well the steps see to that, unless the cgroup has no set that could hold it.
    """
    return target.mems is None or all(
        held["cpus"] <= kernel.sets[parent(path)]["cpus"]
        or (target.cpus is not None and kernel.sets[parent(path)]["cpus"])
        for path, held in kernel.sets.items()
        if path not in (ABOVE, POD)
    )


def in_force(kernel: Kernel) -> Force:
    return {
        (path, file): kernel.effective(path, file)
        for path in kernel.sets
        if kernel.rules is not Rules.V1 or path not in (ABOVE, POD)
        for file in FILES
    }


def states(kernel: Kernel, planned: tuple[Step, ...]) -> list[Force]:
    """What is in force before the first step and after each; fails where the kernel refuses."""
    kernel = kernel.copy()
    found = [in_force(kernel)]
    for step in planned:
        kernel.take([step])
        found.append(in_force(kernel))
    return found


def after(kernel: Kernel, planned: tuple[Step, ...]) -> Kernel:
    done = kernel.copy()
    done.take(planned)
    return done


ALL_RULES = pytest.mark.parametrize("rules", list(Rules), ids=lambda rules: rules.value)


@ALL_RULES
@given(data=st.data())
def test_every_task_keeps_what_it_keeps_and_sees_nothing_but_what_it_had_or_gets(
    rules: Rules, data: st.DataObject
) -> None:
    kernel, target = data.draw(moves(rules))
    seen = states(kernel, steps(target, kernel.pod_groups()))
    event(f"{min(len(seen) - 1, 6)} steps")
    old, new = seen[0], seen[-1]
    for state in seen:
        for key, ids in state.items():
            assert ids
            assert old[key] & new[key] <= ids <= old[key] | new[key]


@ALL_RULES
@given(data=st.data())
def test_after_all_steps_each_container_has_what_was_wanted(
    rules: Rules, data: st.DataObject
) -> None:
    kernel, target = data.draw(moves(rules))
    done = after(kernel, steps(target, kernel.pod_groups()))
    for path in kernel.children(POD):
        own = target.containers.get(path.rpartition("/")[2])
        for file in FILES:
            asked: Any = (own and getattr(own, file)) or getattr(target, file)
            if asked is None:
                assert done.effective(path, file) == kernel.effective(path, file)
            elif rules is not Rules.V1:
                assert done.effective(path, file) == asked
            elif asked & kernel.sets[POD][file]:
                assert done.effective(path, file) == asked & kernel.sets[POD][file]


@ALL_RULES
@given(data=st.data())
def test_a_second_pass_has_nothing_to_write(rules: Rules, data: st.DataObject) -> None:
    kernel, target = data.draw(moves(rules))
    done = after(kernel, steps(target, kernel.pod_groups()))
    assert steps(target, done.pod_groups()) == ()


@ALL_RULES
@given(data=st.data())
def test_a_pass_that_ended_anywhere_is_finished_by_the_next(
    rules: Rules, data: st.DataObject
) -> None:
    kernel, target = data.draw(moves(rules))
    planned = steps(target, kernel.pod_groups())
    whole = after(kernel, planned)
    half = after(kernel, planned[: data.draw(st.integers(0, len(planned)))])
    resumed = after(half, steps(target, half.pod_groups()))
    assert steps(target, resumed.pod_groups()) == ()
    for path in (POD, *kernel.children(POD)):
        for file in FILES:
            assert resumed.effective(path, file) == whole.effective(path, file)


@ALL_RULES
@given(data=st.data())
def test_nothing_above_the_pod_is_written_and_nothing_empty_or_equal(
    rules: Rules, data: st.DataObject
) -> None:
    kernel, target = data.draw(moves(rules))
    lowest = f"{POD}/" if rules is Rules.V1 else POD
    for step in steps(target, kernel.pod_groups()):
        assert step.path.startswith(lowest)
        assert step.after
        assert step.after != step.before
