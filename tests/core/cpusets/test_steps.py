"""The writes for one pod, in the order in which they are made."""

from dataclasses import replace

import pytest

from numa_agent.core.cgroups import Group, PodGroups
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import ContainerTarget, PodTarget, Step, steps
from tests.core.cpusets.scene import path, v1, v2
from tests.machine_tree import container, container_id, cpus, pod


def to(
    text: str | None,
    mems: str | None = None,
    *,
    containers: dict[int, str] | None = None,
    pod_level_only: bool = False,
) -> PodTarget:
    def ids(said: str | None) -> CpuSet | None:
        return None if said is None else cpus(said)

    return PodTarget(
        pod=pod(1, containers=(container(1), container(2))),
        cpus=ids(text),
        mems=ids(mems),
        reason="asked for",
        containers={
            container_id(number): ContainerTarget(
                name=f"c{number}", cpus=cpus(each), mems=None, reason="its own"
            )
            for number, each in (containers or {}).items()
        },
        pod_level_only=pod_level_only,
    )


def writes(target: PodTarget, groups: PodGroups) -> list[str]:
    """The steps as `place file=list`."""
    return [
        f"{_short(step.path)} {step.file}={render(step.after)}" for step in steps(target, groups)
    ]


def _short(where: str) -> str:
    for number in (1, 2):
        where = where.replace(path(1, number), f"c{number}")
    return where.replace(path(1), "pod")


def test_on_v2_one_write_to_the_pod_s_directory_binds_all_that_is_and_comes_in_it() -> None:
    (step,) = steps(to("0-3"), v2(1, containers={1: "", 2: ""}))
    assert step == Step(
        path=path(1),
        file="cpus",
        before=CpuSet(),
        after=cpus("0-3"),
        pod="shop/p1",
        container="",
        reason="asked for",
    )


def test_on_v2_a_pod_s_directory_is_written_before_it_has_any_container() -> None:
    assert writes(to("0-3"), v2(1, containers={})) == ["pod cpus=0-3"]


def test_on_v1_only_the_containers_directories_are_written() -> None:
    # Case 05: the runtime could start no container in a pod that is narrower than its own list.
    assert writes(to("0-3"), v1(1, {1: "0-7", 2: "0-7"})) == ["c1 cpus=0-3", "c2 cpus=0-3"]


def test_a_set_that_is_there_costs_no_write() -> None:
    # Case 30.
    assert writes(to("0-3", "0"), v2(1, "0-3", mems="0")) == []
    assert writes(to("0-3"), v1(1, {1: "0-3"})) == []


def test_what_is_configured_decides_about_a_write_and_not_what_is_in_force() -> None:
    # Case 49: writing the same set again wouldn't change what an ancestor limits.
    assert writes(to("0-3"), v2(1, "0-3", above="0-1")) == []


def test_a_pod_that_inherits_just_what_it_shall_have_is_not_written() -> None:
    assert writes(to("0-7"), v2(1)) == []
    assert writes(to("0-7"), v2(1, "0-3")) == ["pod cpus=0-7"]


def test_a_container_that_needs_less_than_its_pod_has_a_set_of_its_own() -> None:
    target = to("0-3", containers={1: "2"})
    assert writes(target, v2(1, containers={1: "", 2: ""})) == ["c1 cpus=2", "pod cpus=0-3"]
    assert writes(target, v1(1, {1: "0-7", 2: "0-7"})) == ["c1 cpus=2", "c2 cpus=0-3"]
    (first, _) = steps(target, v2(1, containers={1: "", 2: ""}))
    assert (first.container, first.reason) == ("c1", "its own")


def test_a_sandbox_is_named_by_its_id() -> None:
    (step,) = steps(to("0-3"), v1(1, {7: "0-7"}))
    assert step.container == container_id(7)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("0-1", "0-3", ["c1 cpus=0-3", "c1/a cpus=0-3"]),
        ("0-3", "0-1", ["c1/a cpus=0-1", "c1 cpus=0-1"]),
        ("0-1", "1-2", ["c1 cpus=0-2", "c1/a cpus=1-2", "c1 cpus=1-2"]),
        ("0-1", "4-5", ["c1 cpus=0-1,4-5", "c1/a cpus=4-5", "c1 cpus=4-5"]),
    ],
)
def test_a_tree_widens_from_its_root_and_narrows_from_its_leaves(
    old: str, new: str, expected: list[str]
) -> None:
    # Case 06, with a cgroup that the container made inside.
    assert writes(to(new), v1(1, {1: old}, nested={"/a": old})) == expected


def test_between_sets_that_have_nothing_in_common_a_tree_moves_through_their_union() -> None:
    # The outermost can't lose what the inner ones still have, nor they get what it still lacks.
    groups = v2(1, "0-1", containers={1: "0"}, nested={"/a": "0"})
    assert writes(to("4-5"), groups) == [
        "pod cpus=0-1,4-5",
        "c1 cpus=0,4-5",
        "c1/a cpus=4-5",
        "c1 cpus=4-5",
        "pod cpus=4-5",
    ]


def test_a_cgroup_with_no_bound_one_inside_moves_at_once() -> None:
    # Each write ends the affinities that its tasks chose, before Linux 6.2.
    assert writes(to("4-5"), v2(1, "0-1")) == ["pod cpus=4-5"]
    assert writes(to("4-5"), v1(1, {1: "0-1"})) == ["c1 cpus=4-5"]


def test_a_nested_cgroup_that_took_a_part_keeps_a_part() -> None:
    groups = v1(1, {1: "0-3"}, nested={"/a": "0-1", "/b": "2-3", "/b/c": "3"})
    assert writes(to("1-2"), groups) == [
        "c1/a cpus=1",
        "c1/b/c cpus=2",
        "c1/b cpus=2",
        "c1 cpus=1-2",
    ]


def test_a_nested_cgroup_that_is_empty_has_no_tasks_and_is_left_to_its_maker() -> None:
    assert writes(to("0-1"), v1(1, {1: "0-3"}, nested={"/a": ""})) == ["c1 cpus=0-1"]


def test_a_container_that_somebody_gave_a_wider_set_is_narrowed_before_its_pod() -> None:
    # Linux 5.10 refuses to narrow a parent below what a child has configured.
    assert writes(to("0-3"), v2(1, containers={1: "0-7"})) == ["c1 cpus=0-3", "pod cpus=0-3"]


def test_a_container_s_wider_set_that_its_pod_bounds_already_is_left() -> None:
    assert writes(to("0-3"), v2(1, "0-3", containers={1: "0-7"})) == []


def test_a_container_that_is_bound_to_less_than_its_pod_shares_is_widened() -> None:
    groups = v2(1, "0-3", containers={1: "0-3"})
    assert writes(to("0-5"), groups) == ["pod cpus=0-5", "c1 cpus=0-5"]


def test_beside_kubelet_s_static_policy_the_containers_directories_are_kubelet_s() -> None:
    groups = v2(1, containers={1: "0-5", 2: "0-5"})
    assert writes(to("0-3", pod_level_only=True), groups) == ["pod cpus=0-3"]


def test_cpus_come_before_memory_nodes() -> None:
    assert writes(to("4-7", "1"), v2(1, "0-3", mems="0")) == ["pod cpus=4-7", "pod mems=1"]
    assert writes(to("4-7", "1"), v1(1, {1: "0-3"})) == ["c1 cpus=4-7", "c1 mems=1"]


def test_what_nothing_is_wanted_of_is_left_as_it_is() -> None:
    assert writes(to(None), v2(1, "0-3", containers={1: "0-1"})) == []
    assert writes(to(None, "1"), v2(1, "0-3", containers={1: "0-1"})) == ["pod mems=1"]


@pytest.mark.parametrize("above", ["4-7", "5"])
def test_a_set_that_its_parent_has_nothing_of_is_not_written(above: str) -> None:
    # The kernel would take it, and put all that the parent has in force.
    assert writes(to("0-3"), v2(1, above=above)) == []


def test_on_v1_no_container_gets_what_its_pod_lacks() -> None:
    assert writes(to("0-5"), v1(1, {1: "0-1"}, held="0-3")) == ["c1 cpus=0-3"]
    assert writes(to("4-5"), v1(1, {1: "0-1"}, held="0-3")) == []


def unreadable(group: Group) -> Group:
    return replace(group, cpus=None, effective_cpus=None)


def test_a_cgroup_that_can_t_be_read_is_not_written_nor_is_any_inside() -> None:
    groups = v2(1, containers={1: "0-7", 2: "0-7"}, nested={"/a": "0-7"})
    first, second = groups.containers
    partly = replace(groups, containers=(replace(first, group=unreadable(first.group)), second))
    assert writes(to("0-3"), partly) == ["c2/a cpus=0-3", "c2 cpus=0-3", "pod cpus=0-3"]
    assert writes(to("0-3"), replace(groups, group=unreadable(groups.group))) == []


def test_what_lies_in_the_pod_s_directory_and_is_no_container_is_not_written() -> None:
    groups = replace(v2(1, containers={}), left_out=(f"{path(1)}/crio-conmon-1",))
    assert writes(to("0-3"), groups) == ["pod cpus=0-3"]
