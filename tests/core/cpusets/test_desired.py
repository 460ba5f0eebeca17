"""Which pods get CPUs of their own, and which of two pods that want one gets it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Desired, Options, PodTarget, desired, steps
from numa_agent.core.cpusets.values import Inputs
from numa_agent.core.pods import Container, Pod
from tests.core.cpusets.scene import (
    NO_MEMS,
    SANDBOX,
    bad,
    codes,
    given,
    on_nodes,
    own,
    path,
    refusal,
    static,
    target,
    v1,
    v2,
    wanted,
)
from tests.machine_tree import TWO_NODES, container, container_id, cpus, pod, uid

ALONE = Options(mems=NO_MEMS.mems, share=False)
"""Binds pods with CPUs of their own only."""


def written(answer: Desired, number: int, groups: PodGroups) -> dict[str, str]:
    """What the steps of one pod end in, by path."""
    found = target(answer, number)
    assert found is not None
    return {step.path: render(step.after) for step in steps(found, groups)}


def test_a_pod_gets_the_cpus_that_were_decided_for_it_and_the_others_share_the_rest() -> None:
    assigned = pod(1, containers=(container(1), container(2)))
    answer = wanted(assigned, pod(2), said={1: own("0-3")})
    assert answer == Desired(
        targets=(
            PodTarget(
                pod=assigned,
                cpus=cpus("0-3"),
                mems=None,
                reason="the scheduler gives it CPUs 0-3",
                exclusive=True,
            ),
            PodTarget(
                pod=pod(2),
                cpus=cpus("4-7"),
                mems=None,
                reason="it shares the CPUs that are nobody's own",
            ),
        ),
        assigned={uid(1): cpus("0-3")},
        refusals=(),
        left_alone=(),
        conditions=(),
    )


def test_all_containers_that_run_are_bound_and_finished_init_containers_are_not() -> None:
    # Case 10: i1 has finished and has no cgroup, s1 runs on beside the app, w isn't made yet.
    containers = (
        container(1, name="i1", running=False),
        container(2, name="s1"),
        container(3, name="app"),
        Container(name="w", id=None, running=False),
    )
    groups = v1(1, {2: "0-7", 3: "0-7", SANDBOX: "0-7"})
    answer = wanted(pod(1, containers=containers), said={1: own("2-5")}, seen={1: groups})
    assert written(answer, 1, groups) == {path(1, each): "2-5" for each in (2, 3, SANDBOX)}


def test_containers_with_cpus_of_their_own_get_those_and_the_pod_all_of_them() -> None:
    containers = (container(1), container(2), container(3))
    groups = v2(1, containers={1: "", 2: "", 3: ""})
    said = own("0-1", c1="4", c2="5-6")
    answer = wanted(pod(1, containers=containers), said={1: said}, seen={1: groups})
    assert written(answer, 1, groups) == {
        path(1): "0-1,4-6",
        path(1, 1): "4",
        path(1, 2): "5-6",
        path(1, 3): "0-1",
    }
    assert answer.assigned == {uid(1): cpus("0-1,4-6")}


def test_a_container_without_cpus_of_its_own_shares_beside_one_that_has_some() -> None:
    containers = (container(1), container(2))
    groups = v2(1, containers={1: "", 2: ""})
    only = Assignment(source="the scheduler", containers={"c1": Placement(cpus=cpus("0-3"))})
    bound = pod(1, containers=containers)
    answer = wanted(bound, said={1: only}, seen={1: groups})
    assert written(answer, 1, groups) == {
        path(1): "0-7",
        path(1, 1): "0-3",
        path(1, 2): "4-7",
    }
    answer = wanted(bound, said={1: only}, seen={1: groups}, options=ALONE)
    assert written(answer, 1, groups) == {path(1, 1): "0-3"}


def test_pods_without_cpus_of_their_own_are_left_as_they_are_where_that_is_chosen() -> None:
    answer = wanted(pod(1), pod(2), said={1: own("0-3")}, options=ALONE)
    assert given(answer) == {"p1": "0,1,2,3"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_holds_nothing_and_is_not_refused_however_odd_its_words(phase: str) -> None:
    answer = wanted(
        pod(1, phase=phase),
        pod(2),
        pod(3, phase=phase),
        said={1: own("0-3"), 2: own("0-3"), 3: bad()},
    )
    assert given(answer) == {"p2": "0,1,2,3"}
    assert answer.refusals == ()


def test_a_pod_that_has_no_cgroup_yet_holds_its_cpus_already() -> None:
    answer = wanted(pod(1, containers=()), pod(2), said={1: own("0-1"), 2: own("1-2")})
    assert answer.assigned == {uid(1): cpus("0-1")}
    assert refusal(answer).code == "cpus-taken"


def test_the_pod_that_started_first_keeps_a_cpu_that_two_were_given() -> None:
    answer = wanted(pod(1), pod(2), pod(3), said={1: own("0-3"), 2: own("3-5"), 3: own("4-5")})
    assert (refusal(answer).pod.name, refusal(answer).code) == ("p2", "cpus-taken")
    assert "gives CPUs 3-5, of which 3 belong to pod shop/p1" in refusal(answer).message
    assert given(answer) == {"p1": "0,1,2,3", "p2": "6,7", "p3": "4,5"}


def test_a_pod_that_the_kernel_holds_to_its_cpus_keeps_them_whoever_started_first() -> None:
    for seen in (v2(2, "3-5"), v1(2, {2: "3-5"})):
        answer = wanted(pod(1), pod(2), said={1: own("0-3"), 2: own("3-5")}, seen={2: seen})
        assert refusal(answer).pod.name == "p1"
        assert answer.assigned == {uid(2): cpus("3-5")}


def test_a_pod_that_was_given_its_cpus_in_the_pass_before_keeps_them() -> None:
    # It may have no cgroup yet; the other started earlier and was given them later.
    said = {1: own("0-3"), 2: own("3-5")}
    answer = wanted(pod(1), pod(2), said=said, before={uid(2): cpus("3-5")})
    assert refusal(answer).pod.name == "p1"
    assert answer.assigned == {uid(2): cpus("3-5")}


def test_of_two_pods_that_are_bound_to_one_cpu_the_first_to_start_keeps_it() -> None:
    # An older agent, or somebody's hand; the other is moved away, and it is said.
    seen = {1: v2(1, "0-3"), 2: v2(2, "3-5")}
    answer = wanted(pod(1), pod(2), said={1: own("0-3"), 2: own("3-5")}, seen=seen)
    assert refusal(answer).pod.name == "p2"
    assert given(answer) == {"p1": "0,1,2,3", "p2": "4,5,6,7"}


def test_pods_that_started_at_once_are_told_apart_by_their_uids() -> None:
    one, two = (replace(pod(number), started="2026-03-02T08:10:00Z") for number in (1, 2))
    said = {1: own("0-3"), 2: own("3-5")}
    assert wanted(one, two, said=said).assigned == wanted(two, one, said=said).assigned
    assert refusal(wanted(two, one, said=said)).pod.name == "p2"


def test_a_pod_that_is_made_again_under_its_name_is_another_one() -> None:
    # Failure mode 26: the uid tells them apart.
    first, again = pod(1), replace(pod(2), name="p1")
    answer = wanted(first, again, said={1: own("0-1"), 2: own("2-3")})
    assert answer.assigned == {uid(1): cpus("0-1"), uid(2): cpus("2-3")}


def test_words_that_can_t_be_read_cost_that_pod_alone() -> None:
    answer = wanted(pod(1), pod(2), said={1: bad("cpuset 'all': no list"), 2: own("0")})
    assert (refusal(answer).code, refusal(answer).message) == (
        "malformed",
        "cpuset 'all': no list",
    )
    assert given(answer)["p2"] == "0"


def test_the_code_of_words_that_aren_t_believed_is_their_own() -> None:
    assert refusal(wanted(pod(1), said={1: bad(code="untrusted")})).code == "untrusted"


@pytest.mark.parametrize("before", [None, {uid(1): cpus("0-3")}])
@pytest.mark.parametrize("seen", [v2(1, "0-3"), v1(1, {1: "0-3"})], ids=["v2", "v1"])
def test_a_bad_annotation_does_not_clear_a_binding_that_is_in_force(
    seen: PodGroups, before: dict[str, frozenset[int]] | None
) -> None:
    # Failure mode 12, before and after a restart.
    answer = wanted(
        pod(1),
        pod(2),
        pod(3),
        said={1: bad(), 2: own("3-4")},
        seen={1: seen, 3: v2(3, "4-7")},
        before=before,
    )
    assert [each.code for each in answer.refusals] == ["malformed", "cpus-taken"]
    assert answer.assigned == {uid(1): cpus("0-3")}
    assert given(answer) == {"p1": "0,1,2,3", "p2": "4,5,6,7", "p3": "4,5,6,7"}
    assert written_or_none(answer, 1, seen) == {}


def test_a_bad_annotation_keeps_no_cpu_that_kubelet_gave_to_somebody_else() -> None:
    state = static("0-1,4-7", p2="2-3")
    answer = wanted(pod(1), pod(2), said={1: bad()}, seen={1: v2(1, "0-3")}, kubelet=state)
    assert answer.assigned == {}
    assert given(answer) == {"p1": "0,1,4,5,6,7"}


def written_or_none(answer: Desired, number: int, groups: PodGroups) -> dict[str, str]:
    return {} if target(answer, number) is None else written(answer, number, groups)


def test_a_container_that_comes_to_a_pod_with_a_bad_annotation_is_bound_like_the_others() -> None:
    seen = v1(1, {1: "0-1", 2: "2-3", 3: "0-7"})
    answer = wanted(pod(1), said={1: bad()}, seen={1: seen})
    assert written(answer, 1, seen) == {path(1, 3): "0-3"}


@pytest.mark.parametrize("version", [v1, v2])
def test_a_container_that_was_left_with_all_cpus_isn_t_taken_for_one_that_has_just_come(
    version: Callable[..., PodGroups],
) -> None:
    seen = version(1, containers={1: "0-1", 2: "0-7"})
    answer = wanted(pod(1), said={1: bad()}, seen={1: seen}, options=ALONE)
    assert (answer.targets, answer.assigned) == ((), {uid(1): cpus("0-1")})


def test_an_assignment_that_changes_to_a_bad_one_leaves_the_older_in_force() -> None:
    answer = wanted(pod(1), pod(2), said={1: own("4-9"), 2: own("2-3")}, seen={1: v2(1, "0-3")})
    assert [each.code for each in answer.refusals] == ["cpus-not-online", "cpus-taken"]
    assert answer.assigned == {uid(1): cpus("0-3")}


@pytest.mark.parametrize("before", [None, {uid(1): cpus("0-3")}])
def test_an_assignment_that_changes_to_nodes_that_aren_t_there_leaves_the_older_in_force(
    before: dict[str, frozenset[int]] | None,
) -> None:
    seen = {1: v2(1, "0-3"), 2: v2(2, "4-7")}
    answer = wanted(pod(1), pod(2), said={1: on_nodes("7")}, seen=seen, before=before)
    assert refusal(answer).code == "node-unknown"
    assert given(answer) == {"p1": "0,1,2,3", "p2": "4,5,6,7"}


def test_an_assignment_that_changes_to_a_good_one_is_followed() -> None:
    seen = v2(1, "0-3")
    answer = wanted(pod(1), pod(2), said={1: own("4-5"), 2: own("0-1")}, seen={1: seen})
    assert answer.assigned == {uid(1): cpus("4-5"), uid(2): cpus("0-1")}
    assert written(answer, 1, seen) == {path(1): "4-5"}


def test_what_a_pod_leaves_goes_to_the_pod_that_it_was_given_to_in_the_same_pass() -> None:
    # Whichever started first, nobody is refused what is being left.
    seen = {2: v2(2, "0-1"), 3: v2(3, "2-3")}
    said = {1: own("0-1"), 2: own("2-3"), 3: own("4-5")}
    answer = wanted(pod(1), pod(2), pod(3), said=said, seen=seen)
    assert answer.refusals == ()
    assert given(answer) == {"p1": "0,1", "p2": "2,3", "p3": "4,5"}


def test_a_pod_that_shares_and_gets_a_bad_annotation_holds_nothing() -> None:
    # What it shares isn't its own, though the kernel holds it to that.
    seen = {number: v2(number, "4-7") for number in (2, 3)}
    answer = wanted(pod(1), pod(2), pod(3), said={1: own("0-3"), 2: bad()}, seen=seen)
    assert answer.assigned == {uid(1): cpus("0-3")}
    alone = wanted(pod(1), pod(2), said={1: own("0-3"), 2: bad()}, seen=seen, before={})
    assert alone.assigned == {uid(1): cpus("0-3")}


def test_the_only_pod_that_shares_isnt_taken_for_one_with_cpus_of_its_own() -> None:
    # After a restart: what it is held to is what the others leave, and nobody else shares it.
    seen = {1: v2(1, "0-3"), 2: v2(2, "4-7")}
    answer = wanted(pod(1), pod(2), said={1: own("0-3"), 2: bad()}, seen=seen)
    assert answer.assigned == {uid(1): cpus("0-3")}
    assert refusal(answer).code == "malformed"


def test_a_pod_whose_assignment_is_gone_shares_like_the_others() -> None:
    seen = v2(1, "0-3")
    answer = wanted(pod(1), seen={1: seen})
    assert written(answer, 1, seen) == {path(1): "0-7"}


def offline(*gone: int) -> object:
    online = TWO_NODES.online - set(gone)
    nodes = tuple(replace(node, cpus=(node.cpus or cpus("")) & online) for node in TWO_NODES.nodes)
    return replace(TWO_NODES, online=online, nodes=nodes)


def test_a_pod_that_runs_keeps_its_binding_when_one_of_its_cpus_goes_offline() -> None:
    # Case 30 and failure mode 11: v2 keeps the list, and the CPU is back when it is online again.
    seen = v2(1, "2-3", above="0-2,4-7")
    answer = wanted(
        pod(1), pod(2), said={1: own("2-3"), 2: own("2")}, seen={1: seen}, topology=offline(3)
    )
    assert codes(answer) == ["degraded"]
    assert "gives CPUs 2-3, of which 3 aren't online" in answer.conditions[0].message
    assert refusal(answer).code == "cpus-taken"
    assert written_or_none(answer, 1, seen) == {}


def test_a_pod_all_of_whose_cpus_went_offline_is_not_written_on_v2() -> None:
    seen = v2(1, "3", above="0-2,4-7")
    answer = wanted(pod(1), said={1: own("3")}, seen={1: seen}, topology=offline(3))
    assert codes(answer) == ["degraded"]
    assert written_or_none(answer, 1, seen) == {}


def test_on_v1_a_pod_gets_a_cpu_back_that_went_offline_and_returned() -> None:
    gone = v1(1, {1: "2"}, held="0-2,4-7")
    answer = wanted(pod(1), said={1: own("2-3")}, seen={1: gone}, topology=offline(3))
    assert codes(answer) == ["degraded"]
    assert written_or_none(answer, 1, gone) == {}
    back = v1(1, {1: "2"}, held="0-7")
    answer = wanted(pod(1), said={1: own("2-3")}, seen={1: back})
    assert written(answer, 1, back) == {path(1, 1): "2-3"}


def test_a_pod_that_does_not_run_there_yet_is_refused_an_offline_cpu() -> None:
    answer = wanted(pod(1), said={1: own("2-3")}, topology=offline(3))
    assert refusal(answer).code == "cpus-not-online"


def test_after_a_restart_with_nothing_changed_there_is_nothing_to_write() -> None:
    # Case 30.
    seen = {1: v2(1, "0-3"), 2: v2(2, "4-7")}
    answer = wanted(pod(1), pod(2), said={1: own("0-3")}, seen=seen)
    assert [
        step for each in answer.targets for step in steps(each, seen[int(each.pod.name[1:])])
    ] == []


def test_what_is_wanted_depends_on_what_is_known_alone() -> None:
    inputs = Inputs(
        pods=[pod(1), pod(2), pod(3)],
        decisions={uid(1): own("0-3"), uid(2): own("2-4"), uid(3): bad()},
        topology=TWO_NODES,
    )
    assert desired(inputs) == desired(inputs)
    again = replace(inputs, decisions=dict(reversed(list(inputs.decisions.items()))))
    assert desired(again) == desired(inputs)


def test_kubelet_s_exclusive_cpus_are_taken_whoever_started_first() -> None:
    answer = wanted(pod(1), pod(2), said={1: own("3-4")}, kubelet=static("0-3,6-7", p2="4-5"))
    assert refusal(answer).code == "cpus-taken"
    said = refusal(answer).message
    assert "of which 4 belong to kubelet's CPU manager, for pod shop/p2" in said


def test_exclusive_cpus_of_a_pod_that_is_not_listed_are_taken() -> None:
    # It may have come after the list was read, or be ending; kubelet clears the dead ones away.
    answer = wanted(pod(1), said={1: own("2-3")}, kubelet=static("0-1,4-7", p9="2-3"))
    assert refusal(answer).code == "cpus-taken"
    assert uid(9) in refusal(answer).message


HASH = "0123456789abcdef" * 2
STATIC_POD = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}


def given_to_hash(key: str) -> object:
    return replace(static("0-1,4-7"), entries={key: {"c": cpus("2-3")}})


def test_a_static_pod_s_exclusive_cpus_are_taken() -> None:
    # Case 12: kubelet knows it by its config's hash.
    state = given_to_hash(HASH)
    answer = wanted(pod(1), pod(2, annotations=STATIC_POD), said={1: own("2-3")}, kubelet=state)
    assert "pod shop/p2" in refusal(answer).message
    assert [each.pod.name for each in answer.left_alone] == ["p2"]


def test_a_mirror_pod_shares_like_any_other() -> None:
    answer = wanted(pod(1), pod(2, annotations=STATIC_POD), said={1: own("0-3")})
    assert given(answer)["p2"] == "4,5,6,7"


def test_a_hash_on_a_pod_that_is_no_mirror_of_a_static_one_means_nothing() -> None:
    # Anybody may write it, and could so take another pod's place.
    victim = pod(2)
    thief = pod(3, phase="Succeeded", annotations={"kubernetes.io/config.hash": victim.uid})
    state = given_to_hash(victim.uid)
    answer = wanted(pod(1), victim, thief, said={1: own("2-3")}, kubelet=state)
    assert refusal(answer).code == "cpus-taken"


def test_a_pod_whose_containers_aren_t_known_yet_is_bound_by_its_directory() -> None:
    unborn: Pod = pod(1, containers=())
    groups = v2(1, containers={})
    answer = wanted(unborn, said={1: own("0-3")}, seen={1: groups})
    assert written(answer, 1, groups) == {path(1): "0-3"}
    assert container_id(1) not in {each.id for each in groups.containers}
