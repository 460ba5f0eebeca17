"""Pods that somebody else binds, or nobody shall."""

from dataclasses import replace

import pytest

from numa_agent.core.cpusets import Desired, LeftAlone, Options
from numa_agent.core.kubelet import CpuManagerState
from tests.core.cpusets.scene import (
    NO_MEMS,
    codes,
    given,
    own,
    refusal,
    static,
    target,
    v1,
    v2,
    wanted,
)
from tests.machine_tree import container, container_id, cpus, pod, uid


def only(answer: Desired) -> LeftAlone:
    (found,) = answer.left_alone
    return found


@pytest.mark.parametrize(
    ("annotation", "value", "code"),
    [
        ("numa-agent.io/bind", "off", "opted-out"),
        ("cpu-load-balancing.crio.io", "disable", "crio"),
        ("cpu-quota.crio.io", "disable", "crio"),
        ("irq-load-balancing.crio.io", "disable", "crio"),
        ("irq-load-balancing.crio.io", "housekeeping", "crio"),
        ("cpu-shared.crio.io/app", "enable-it", "crio"),
    ],
)
def test_a_pod_whose_annotation_says_so_is_left_as_it_is(
    annotation: str, value: str, code: str
) -> None:
    theirs = pod(1, annotations={annotation: value})
    answer = wanted(theirs, pod(2))
    assert only(answer).code == code
    assert annotation in only(answer).message
    assert given(answer) == {"p2": "0,1,2,3,4,5,6,7"}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("numa-agent.io/bind", "on"),
        ("cpu-quota.crio.io", "enable"),
        ("cpu-quota.crio.io.example.com", "disable"),
    ],
)
def test_other_annotations_keep_no_pod_from_being_bound(annotation: str, value: str) -> None:
    assert wanted(pod(1, annotations={annotation: value})).left_alone == ()


@pytest.mark.parametrize(("runtime", "alone"), [("cri-o", True), ("containerd", False)])
def test_crio_s_annotations_count_where_the_runtime_is_crio(runtime: str, alone: bool) -> None:
    # The pod itself has no container yet: the node's others tell.
    theirs = pod(1, annotations={"cpu-quota.crio.io": "disable"}, containers=())
    other = pod(2, containers=(replace(container(2), runtime=runtime),))
    assert bool(wanted(theirs, other).left_alone) is alone


def test_a_pod_that_is_left_alone_holds_what_was_decided_for_it() -> None:
    theirs = pod(1, annotations={"numa-agent.io/bind": "off"})
    answer = wanted(theirs, pod(2), pod(3), said={1: own("0-3"), 2: own("3-4")})
    assert refusal(answer).code == "cpus-taken"
    assert given(answer)["p3"] == "4,5,6,7"
    assert answer.assigned == {uid(1): cpus("0-3")}


def test_a_pod_that_opted_out_is_not_told_that_its_words_are_refused() -> None:
    theirs = pod(1, annotations={"numa-agent.io/bind": "off"})
    answer = wanted(theirs, said={1: own("0-9")})
    assert (answer.refusals, only(answer).code) == ((), "opted-out")


@pytest.mark.parametrize("name", ["kata", "kata-qemu", "gvisor"])
def test_the_containers_of_another_kernel_are_left_as_they_are(name: str) -> None:
    answer = wanted(replace(pod(1), runtime_class=name))
    assert only(answer).code == "runtime-class"
    assert f"its RuntimeClass is {name};" in only(answer).message


@pytest.mark.parametrize("name", [None, "runc", "crun", "nvidia"])
def test_the_containers_of_runtimes_like_runc_are_bound(name: str | None) -> None:
    assert wanted(replace(pod(1), runtime_class=name)).left_alone == ()


def test_which_runtime_classes_are_like_runc_can_be_said() -> None:
    options = Options(mems=NO_MEMS.mems, runtime_classes=frozenset({"gold"}))
    pods = (replace(pod(1), runtime_class="gold"), replace(pod(2), runtime_class="runc"))
    assert [each.pod.name for each in wanted(*pods, options=options).left_alone] == ["p2"]


def test_a_pod_that_kubelet_gave_cpus_to_is_not_touched_and_others_share_kubelet_s_pool() -> None:
    # Case 04: two writers of one file is a fault to report, not a fight to win.
    state = static("0-3,6-7", p1="4-5")
    seen = {1: v2(1, containers={1: "4-5"}), 2: v2(2, containers={2: "0-3,6-7"})}
    answer = wanted(pod(1), pod(2), seen=seen, kubelet=state)
    assert only(answer).code == "kubelet-exclusive"
    assert "kubelet's static CPU manager gave it 4-5" in only(answer).message
    assert given(answer) == {"p2": "0,1,2,3,6,7"}


def test_what_a_scheduler_decides_for_a_pod_of_kubelet_s_is_refused() -> None:
    answer = wanted(pod(1), said={1: own("0-1")}, kubelet=static("0-3,6-7", p1="4-5"))
    assert refusal(answer).code == "kubelet-exclusive"
    assert "kubelet's static CPU manager gave it 4-5 and keeps them" in refusal(answer).message
    assert (answer.targets, answer.left_alone, answer.assigned) == ((), (), {})


def test_a_pod_of_kubelet_s_that_happens_to_have_what_was_decided_is_still_kubelet_s() -> None:
    seen = {1: v2(1, containers={1: "4-5"})}
    state = static("0-3,6-7", p1="4-5")
    answer = wanted(pod(1), said={1: own("4-5")}, seen=seen, kubelet=state)
    assert refusal(answer).code == "kubelet-exclusive"
    seen = {1: v1(1, {1: "0-1"})}
    answer = wanted(pod(1), said={1: own("0-1")}, seen=seen, kubelet=static("0-7"))
    assert (refusal(answer).code, answer.assigned) == ("kubelet-static", {})


def test_a_pod_is_known_as_kubelet_s_by_its_container_s_id_as_well() -> None:
    # kubelet up to 1.17 wrote only those.
    old = CpuManagerState(
        policy="static",
        shared=cpus("0-3,6-7"),
        entries={container_id(1): {container_id(1): cpus("4-5")}},
    )
    assert only(wanted(pod(1), kubelet=old)).code == "kubelet-exclusive"


def test_beside_kubelet_s_static_policy_pods_are_bound_on_v2_by_their_directory_alone() -> None:
    seen = {number: v2(number) for number in (1, 2)}
    answer = wanted(pod(1), pod(2), said={1: own("0-1")}, seen=seen, kubelet=static("0-7"))
    assert given(answer) == {"p1": "0,1", "p2": "2,3,4,5,6,7"}
    assert all(each.pod_level_only for each in answer.targets)


def test_beside_kubelet_s_static_policy_containers_can_t_have_less_than_their_pod() -> None:
    answer = wanted(pod(1), said={1: own("0-1", c1="4")}, kubelet=static("0-7"))
    bound = target(answer, 1)
    assert bound is not None
    assert (bound.cpus, bound.containers) == (cpus("0-1,4"), {})
    assert codes(answer) == ["containers-left-to-kubelet"]
    whole = wanted(pod(1), said={1: own("", c1="4")}, kubelet=static("0-7"))
    assert codes(whole) == []


def test_beside_kubelet_s_static_policy_nothing_is_written_on_v1() -> None:
    seen = {number: v1(number) for number in (1, 2)}
    answer = wanted(pod(1), pod(2), said={1: own("0-1")}, seen=seen, kubelet=static("0-7"))
    assert answer.targets == ()
    assert refusal(answer).code == "kubelet-static"
    assert only(answer).code == "kubelet-static"
    assert answer.assigned == {}


def test_what_kubelet_s_static_policy_keeps_out_of_its_pool_is_given_to_no_pod() -> None:
    # With strict-cpu-reservation the reserved CPUs aren't in it.
    answer = wanted(pod(1), pod(2), said={1: own("0-3")}, kubelet=static("2-7"))
    assert refusal(answer).code == "cpus-reserved"
    assert "of which 0-1 aren't among those that kubelet's static" in refusal(answer).message
    assert given(answer) == {"p1": "2,3,4,5,6,7", "p2": "2,3,4,5,6,7"}
