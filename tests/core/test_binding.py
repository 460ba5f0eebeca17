"""Which CPUs each container shall have, whose words are refused, and the writes that follow."""

import pytest

from numa_agent.core.binding import Cgroup, Desired, Refusal, Step, Target, desired, steps
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.pods import Container, Pod
from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS
from tests.machine_tree import (
    TWO_NODES,
    container,
    container_id,
    cpus,
    machine,
    numa_node,
    pod,
    uid,
)


def wanted(*pods: Pod, kubelet: dict[str, CpuSet] | None = None) -> Desired:
    return desired(pods, TWO_NODES, kubelet or {})


def refusal(answer: Desired) -> Refusal:
    (only,) = answer.refusals
    return only


def given_to(answer: Desired) -> dict[str, CpuSet]:
    return {target.container.name: target.cpus for target in answer.targets}


def test_each_running_container_of_an_assigned_pod_gets_the_pod_s_cpus() -> None:
    assigned = pod(1, "0-3", containers=(container(1), container(2)))
    answer = wanted(assigned, pod(2))
    assert answer == Desired(
        targets=tuple(
            Target(
                pod=assigned,
                container=assigned.containers[number - 1],
                container_id=container_id(number),
                cpus=cpus("0-3"),
            )
            for number in (1, 2)
        ),
        assigned={uid(1): cpus("0-3")},
        refusals=(),
    )


def test_a_sidecar_is_bound_and_a_finished_init_container_is_not() -> None:
    # Case 10: i1 has finished, s1 runs on beside the app, w has no cgroup yet.
    containers = (
        container(1, name="i1", running=False),
        container(2, name="s1"),
        container(3, name="app"),
        Container(name="w", id=None, running=False),
    )
    answer = wanted(pod(1, "2-5", containers=containers))
    assert given_to(answer) == {"s1": cpus("2-5"), "app": cpus("2-5")}


def test_pods_with_cpus_of_their_own_are_all_bound() -> None:
    answer = wanted(pod(1, "0-1"), pod(2, "2-3"), pod(3))
    assert given_to(answer) == {"c1": cpus("0-1"), "c2": cpus("2-3")}
    assert answer.assigned == {uid(1): cpus("0-1"), uid(2): cpus("2-3")}


def test_an_empty_set_binds_nothing_and_is_no_fault() -> None:
    # Case 02.
    assert wanted(pod(1, "")) == Desired(targets=(), assigned={}, refusals=())


def test_a_pod_that_has_not_started_any_container_holds_its_cpus_already() -> None:
    answer = wanted(pod(1, "0-1", containers=()), pod(2, "1-2"))
    assert answer.assigned == {uid(1): cpus("0-1")}
    assert refusal(answer).code == "cpus-taken"


@pytest.mark.parametrize("cpuset", ["all", "3-1", "0-4294967295"])
def test_words_that_can_t_be_read_are_refused(cpuset: str) -> None:
    answer = wanted(pod(1, cpuset), pod(2, "0"))
    assert refusal(answer).code == "malformed"
    assert RESOURCE_STATUS in refusal(answer).message
    assert given_to(answer) == {"c2": cpus("0")}


def test_a_cpu_that_isn_t_online_refuses_the_whole_assignment() -> None:
    answer = wanted(pod(1, "6-9"))
    assert refusal(answer).code == "cpus-not-online"
    assert "gives CPUs 6-9, of which 8-9 aren't online (online: 0-7)" in refusal(answer).message
    assert (answer.targets, answer.assigned) == ((), {})


def test_the_first_holder_of_a_cpu_keeps_it() -> None:
    answer = wanted(pod(1, "0-3"), pod(2, "3-5"), pod(3, "4-5"))
    assert (refusal(answer).pod.name, refusal(answer).code) == ("p2", "cpus-taken")
    assert "gives CPUs 3-5, of which 3 belong to pod shop/p1" in refusal(answer).message
    assert given_to(answer) == {"c1": cpus("0-3"), "c3": cpus("4-5")}
    assert answer.assigned == {uid(1): cpus("0-3"), uid(3): cpus("4-5")}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_holds_nothing(phase: str) -> None:
    answer = wanted(pod(1, "0-3", phase=phase), pod(2, "0-3"))
    assert given_to(answer) == {"c2": cpus("0-3")}
    assert answer.refusals == ()


def test_a_finished_pod_is_not_refused_however_odd_its_words() -> None:
    assert wanted(pod(1, "all", phase="Failed")).refusals == ()


def test_a_pod_that_kubelet_gave_cpus_to_keeps_those() -> None:
    # Case 04: two writers of one file is a fault to report, not a fight to win.
    answer = wanted(pod(1, "0-1"), kubelet={uid(1): cpus("4-5")})
    assert refusal(answer).code == "kubelet-exclusive"
    assert "kubelet's static CPU manager gave it 4-5 and keeps them" in refusal(answer).message
    assert answer.targets == ()


def test_cpus_that_kubelet_gave_to_a_living_pod_are_taken_even_if_that_started_later() -> None:
    answer = wanted(pod(1, "3-4"), pod(2), kubelet={uid(2): cpus("4-5")})
    assert refusal(answer).code == "cpus-taken"
    said = refusal(answer).message
    assert "of which 4 belong to kubelet's CPU manager, for pod shop/p2" in said


def holds(configured: str | None, effective: str | None = "0-7", path: str = "p") -> Cgroup:
    return Cgroup(
        path=path,
        cpus=None if configured is None else cpus(configured),
        effective=None if effective is None else cpus(effective),
    )


def test_a_container_with_another_set_is_written_once_in_its_own_directory() -> None:
    # Case 06: no directory above it is written, so none can be narrower than what is in it.
    targets = wanted(pod(1, "0-3"), pod(2, "4-5")).targets
    observed = {
        container_id(1): holds("0-7", path="one"),
        container_id(2): holds(None, None, path="two"),
    }
    assert steps(targets, observed) == (
        Step(target=targets[0], path="one", before=cpus("0-7"), cpus=cpus("0-3")),
        Step(target=targets[1], path="two", before=None, cpus=cpus("4-5")),
    )


def test_a_container_that_has_its_set_already_costs_no_write() -> None:
    targets = wanted(pod(1, "0-3")).targets
    assert steps(targets, {container_id(1): holds("0-3")}) == ()


def test_what_is_configured_decides_about_a_write_and_not_what_is_in_force() -> None:
    # Case 49: writing the same set again wouldn't change what an ancestor limits.
    targets = wanted(pod(1, "0-3")).targets
    assert steps(targets, {container_id(1): holds("0-3", effective="0-1")}) == ()
    assert len(steps(targets, {container_id(1): holds("", effective="0-3")})) == 1


def test_a_container_whose_cgroup_isn_t_there_costs_no_write() -> None:
    targets = wanted(pod(1, "0-3")).targets
    assert steps(targets, {container_id(2): holds("0-7")}) == ()


HASH = "0123456789abcdef" * 2
STATIC = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}


def test_a_static_pod_s_exclusive_cpus_are_taken() -> None:
    # Case 12: kubelet knows it by its config's hash.
    static = pod(2, annotations=STATIC)
    answer = desired([pod(1, "2-3"), static], TWO_NODES, {HASH: cpus("2-3")})
    assert [refusal.code for refusal in answer.refusals] == ["cpus-taken"]


def test_exclusive_cpus_of_a_pod_that_is_not_listed_are_taken() -> None:
    # It may have come after the list was read, or be ending; kubelet clears the dead ones away.
    answer = desired([pod(1, "2-3")], TWO_NODES, {uid(9): cpus("2-3")})
    assert [refusal.code for refusal in answer.refusals] == ["cpus-taken"]
    assert uid(9) in answer.refusals[0].message


def test_a_hash_on_a_pod_that_is_no_mirror_of_a_static_one_means_nothing() -> None:
    # Anybody may write it, and could so take another pod's place.
    victim = pod(2)
    thief = pod(3, phase="Succeeded", annotations={"kubernetes.io/config.hash": victim.uid})
    assert thief.cgroup_uid == thief.uid
    answer = desired([pod(1, "2-3"), victim, thief], TWO_NODES, {victim.uid: cpus("2-3")})
    assert [refusal.code for refusal in answer.refusals] == ["cpus-taken"]


def test_cpus_that_are_in_no_node_are_not_given_out() -> None:
    partial = machine(numa_node(0, "0-3"), numa_node(1, None), online="0-7")
    answer = desired([pod(1, "3-4")], partial, {})
    assert [refusal.code for refusal in answer.refusals] == ["cpus-without-node"]
    assert "of which 4 are in no known NUMA node" in answer.refusals[0].message
