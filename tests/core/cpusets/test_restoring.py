"""What is bound and given back: everything that is in force around the pod, and nothing less."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import PodTarget, restore_steps, steps
from numa_agent.core.cpusets.sides import around
from tests.core.cpusets.kernel import (
    ABOVE,
    EVERY_CPU,
    EVERY_NODE,
    FILES,
    POD,
    Kernel,
    Rules,
    kernels,
    targets,
)
from tests.core.cpusets.scene import path, v1, v2
from tests.core.cpusets.test_steps_laws import ALL_RULES, after, in_force, states, writable
from tests.machine_tree import container, cpus, pod


def restored(
    groups: PodGroups, whole: str = "0-7", nodes: str = "0-1"
) -> list[tuple[str, str, str]]:
    bound = pod(1, containers=(container(1), container(2)))
    return [
        (step.path, step.file, render(step.after))
        for step in restore_steps(bound, groups, cpus=cpus(whole), mems=cpus(nodes))
    ]


def test_what_is_in_force_around_the_pod_is_written_out() -> None:
    # The kernel refuses an empty list while there are tasks.
    assert restored(v2(1, "0-3", mems="0")) == [
        (path(1), "cpus", "0-7"),
        (path(1), "mems", "0-1"),
    ]
    assert restored(v1(1, {1: "0-3"}, mems={1: "0"})) == [
        (path(1, 1), "cpus", "0-7"),
        (path(1, 1), "mems", "0-1"),
    ]


def test_what_was_never_bound_is_not_written() -> None:
    assert restored(v2(1, containers={1: "", 2: ""})) == []
    assert restored(v1(1)) == []


def test_a_pod_is_widened_before_its_containers_and_those_before_what_is_in_them() -> None:
    groups = v2(1, "0-3", containers={1: "0-1"}, nested={"/a": "0-1", "/a/b": "0-1"})
    assert [where for where, _, _ in restored(groups)] == [
        path(1),
        path(1, 1),
        path(1, 1, "/a"),
        path(1, 1, "/a/b"),
    ]


def test_a_nested_cgroup_that_took_a_part_keeps_it() -> None:
    groups = v2(1, "0-3", nested={"/a": "0", "/a/b": "0"})
    assert restored(groups) == [(path(1), "cpus", "0-7")]


def test_a_cpu_that_is_offline_stays_configured() -> None:
    assert restored(v2(1, "2-3", above="0-2"), whole="0-2") == [(path(1), "cpus", "0-3")]


def test_what_can_t_be_read_is_not_written_and_what_isn_t_known_asks_for_nothing() -> None:
    groups = v2(1, "0-3", nested={"/a": "0-3"})
    (first,) = groups.containers
    blind = replace(groups, containers=(replace(first, group=replace(first.group, cpus=None)),))
    assert restored(blind) == [(path(1), "cpus", "0-7")]
    assert restored(groups, whole="", nodes="") == []


@st.composite
def bound(draw: st.DrawFn, rules: Rules) -> Kernel:
    """A pod that some target was written to."""
    kernel = draw(kernels(rules))
    target = draw(targets(kernel))
    everything = PodTarget(pod=pod(1), cpus=EVERY_CPU, mems=EVERY_NODE, reason="")
    assume(rules is not Rules.V2_5_10 or writable(kernel, target))
    done = after(kernel, steps(target, kernel.pod_groups()))
    assume(rules is not Rules.V2_5_10 or writable(done, everything))
    return done


@ALL_RULES
@given(data=st.data())
def test_restoring_takes_nothing_away_and_leaves_nothing_to_restore(
    rules: Rules, data: st.DataObject
) -> None:
    kernel = data.draw(bound(rules))
    groups = kernel.pod_groups()
    cpu_set, mem_set = (around(groups, file) or frozenset() for file in FILES)
    planned = restore_steps(pod(1), groups, cpus=cpu_set, mems=mem_set)
    seen = states(kernel, planned)
    for state in seen:
        for key, ids in state.items():
            assert seen[0][key] & seen[-1][key] <= ids <= seen[0][key] | seen[-1][key]
    done = after(kernel, planned)
    limit = kernel.sets[POD if rules is Rules.V1 else ABOVE]
    for where in kernel.children(POD):
        for file in FILES:
            assert in_force(done)[where, file] == limit[file]
    assert restore_steps(pod(1), done.pod_groups(), cpus=cpu_set, mems=mem_set) == ()
