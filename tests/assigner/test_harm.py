"""What a pod that runs must not lose, and what one pod must not cost the others."""

from dataclasses import replace

import pytest

from numa_agent.core.accounting.amounts import Amount, NodeAccount
from numa_agent.core.assigner import Mode, Setting
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demands
from tests.assigner.scene import (
    GIB,
    SIXTEEN,
    Scene,
    asks,
    cpus,
    demand,
    granted,
    told,
    v1,
    v2,
)
from tests.core.cpusets.scene import own, static
from tests.machine_tree import container, uid


def mixed(whole: int, millis: int, number: int = 1) -> Pod:
    """A container with CPUs of its own, and one that shares."""
    return asks(number, demands=[demand("a", whole * 1000), demand("b", millis)])


def two(a: int, b: int) -> Pod:
    return asks(1, demands=[demand("a", a * 1000), demand("b", b * 1000)])


def as_a_whole(count: int, *demands: tuple[str, int]) -> Pod:
    return replace(
        asks(1),
        demands=Demands(
            containers=tuple(demand(name, cpu) for name, cpu in demands),
            pod={"cpu": count * 1000},
            pod_limits={"cpu": count * 1000},
        ),
    )


# Resized in place.


def test_a_pod_that_grows_is_not_moved_away_from_its_gpus() -> None:
    scene = Scene(answer=granted(p1=["GPU-0"], p2=[]))
    scene.take(asks(1, 4, gpus=1), asks(2, 2))
    before = scene.kept[uid(1)]
    outcome = scene.take(asks(1, 6, gpus=1), asks(2, 2))
    assert scene.kept[uid(1)] == before
    assert outcome.unplaced[uid(1)][1].startswith("it keeps CPUs")


def test_a_pod_that_grows_while_kubelet_is_silent_stays_on_its_nodes() -> None:
    scene = Scene(answer=granted(p1=["GPU-0"], p2=[]))
    scene.take(asks(1, 4, gpus=1), asks(2, 2))
    scene.answer = None
    scene.take(asks(1, 6, gpus=1), asks(2, 2))
    assert scene.has(1) == "1-2,9-10"


def test_a_pod_that_grows_does_not_go_where_its_memory_does_not_fit() -> None:
    accounts = [
        NodeAccount(
            node=node,
            resources={
                "memory": Amount(capacity=64 * GIB, allocatable=64 * GIB, available=free * GIB)
            },
        )
        for node, free in zip(SIXTEEN.nodes, (24, 8), strict=True)
    ]

    def big(count: int) -> Pod:
        one = demand("c1", count * 1000)
        amounts = {**one.requests, "memory": 40 * GIB}
        return asks(1, demands=[replace(one, requests=amounts, limits=amounts)])

    scene = Scene(accounts=accounts)
    scene.accounts = [replace(each, resources={}) for each in accounts]
    scene.take(big(4), asks(2, 2))
    scene.accounts = accounts
    scene.take(big(6), asks(2, 2))
    assert scene.has(1) == "1-2,9-10"
    scene.take(big(6))
    assert scene.has(1) == "1-3,9-11"


@pytest.mark.parametrize("millis", [500, 1500, 2500])
def test_a_pod_always_gets_fewer_cpus_where_it_is(millis: int) -> None:
    scene = Scene()
    scene.take(mixed(4, millis))
    before = cpus(scene.has(1))
    scene.take(mixed(2, millis))
    assert len(cpus(scene.has(1))) == 2
    assert cpus(scene.has(1)) < before


def test_a_pod_that_is_left_with_none_shares_on_the_node_that_it_has() -> None:
    scene = Scene(answer=granted(p1=["GPU-2"]))
    scene.take(asks(1, 4, gpus=1))
    shares = replace(asks(1, gpus=1), demands=Demands(containers=(demand("c1", 3500),)))
    scene.take(shares)
    kept = scene.kept[uid(1)]
    assert (kept.cpus, kept.nodes, kept.sharing) == (frozenset(), frozenset({1}), ("c1",))


def test_pods_of_the_other_kind_that_came_since_do_not_keep_one_from_its_size() -> None:
    scene = Scene()
    scene.take(asks(1, 4, exclusive="Required"))
    scene.said[2] = own("3,11,4,12")
    scene.take(asks(1, 2, exclusive="Required"), asks(2, 4, None))
    assert scene.has(1) in ("1,9", "2,10")


def test_a_pod_over_several_nodes_gets_fewer_and_more_where_it_is() -> None:
    scene = Scene()
    scene.take(asks(1, 12, "Restricted"))
    before = cpus(scene.has(1))
    scene.take(asks(1, 10, "Restricted"))
    assert (len(cpus(scene.has(1))), cpus(scene.has(1)) < before) == (10, True)
    less = cpus(scene.has(1))
    scene.take(asks(1, 14, "Restricted"))
    assert cpus(scene.has(1)) > less


def test_containers_that_trade_cpus_are_given_theirs() -> None:
    scene = Scene()
    scene.take(two(2, 4))
    before = scene.has(1)
    outcome = scene.take(two(4, 2))
    kept = scene.kept[uid(1)]
    assert {name: len(part) for name, part in kept.containers.items()} == {"a": 4, "b": 2}
    assert scene.has(1) == before
    assert told(outcome) == [("assigner-moves", "shop/p1")]
    assert told(scene.take(two(4, 2))) == []


# A pod that asks as a whole (https://kubernetes.io/docs/concepts/workloads/pods/pod-level-resources/).


def test_containers_of_a_pod_with_cpus_as_a_whole_run_on_those() -> None:
    scene = Scene()
    scene.take(as_a_whole(6, ("a", 0), ("b", 0)))
    said = scene.kept[uid(1)].assignment(SIXTEEN)
    assert len(said.cpus) == 6
    assert said.of("a").cpus == said.of("b").cpus == said.cpus
    assert not said.of("a").nodes


def test_a_container_with_its_own_of_such_a_pod_has_them_alone() -> None:
    scene = Scene()
    scene.take(as_a_whole(6, ("a", 2000), ("b", 0), ("c", 500)))
    said = scene.kept[uid(1)].assignment(SIXTEEN)
    assert (len(said.cpus), len(said.of("a").cpus)) == (6, 2)
    assert said.of("b").cpus == said.of("c").cpus == said.cpus - said.of("a").cpus
    assert told(scene.take(as_a_whole(6, ("a", 2000), ("b", 0), ("c", 500)))) == []


def test_such_a_pod_whose_containers_have_all_of_it_leaves_the_rest_on_all() -> None:
    scene = Scene()
    scene.take(as_a_whole(4, ("a", 4000), ("b", 0)))
    said = scene.kept[uid(1)].assignment(SIXTEEN)
    assert said.of("b").cpus == said.cpus
    assert told(scene.take(as_a_whole(4, ("a", 4000), ("b", 0)))) == []


def test_such_a_pod_is_served_with_everybody() -> None:
    scene = Scene(setting=Setting(mode=Mode.ALWAYS))
    scene.take(replace(as_a_whole(4, ("a", 0)), annotations={}))
    assert len(cpus(scene.has(1))) == 4


# Those that share.


@pytest.mark.parametrize("reserved", ["", "0,8"])
def test_those_that_share_have_a_core_where_the_first_ones_are_isolated(reserved: str) -> None:
    isolated = replace(SIXTEEN, isolated=cpus("0,8"))
    scene = Scene(topology=isolated, reserved=cpus(reserved) if reserved else frozenset())
    scene.take(asks(1, 14, "BestEffort"), asks(2, 12, "BestEffort"))
    assert scene.has(1) == ""
    assert scene.has(2) == "2-7,10-15"


def test_what_pods_that_share_were_promised_is_not_given_away() -> None:
    shares = asks(1, demands=[demand("b", 6000, 8000)])
    scene = Scene()
    scene.take(shares, asks(2, 6), asks(3, 1))
    home = scene.kept[uid(1)].nodes
    assert scene.kept[uid(2)].nodes.isdisjoint(home)
    assert scene.kept[uid(3)].nodes.isdisjoint(home)


def test_pods_that_share_are_spread_over_the_nodes_beside_kubelet_s_static_policy() -> None:
    scene = Scene(kubelet=static("0-15"))
    pods = [asks(number, 3) for number in range(1, 5)]
    scene.take(*pods)
    homes = [min(scene.kept[pod.uid].nodes) for pod in pods]
    assert sorted(homes) == [0, 0, 1, 1]
    assert scene.take(*pods, asks(5, 3)).unplaced.keys() == {uid(5)}


def test_little_that_is_shared_costs_no_cpu() -> None:
    scene = Scene()
    scene.take(mixed(3, 100), asks(2, 3), asks(3, 8))
    assert [len(cpus(scene.has(number))) for number in (1, 2, 3)] == [3, 3, 8]


# What comes and goes: sources, settings, kubelet's policy, the machine.


def test_who_was_served_with_everybody_keeps_it_when_no_longer_everybody_is() -> None:
    scene = Scene(setting=Setting(mode=Mode.ALWAYS))
    scene.take(asks(1, policy=None))
    held, scene.setting = scene.has(1), Setting(mode=Mode.FALLBACK)
    outcome = scene.take(asks(1, policy=None), asks(2, policy=None))
    assert (scene.has(1), scene.has(2), told(outcome)) == (held, "", [])


@pytest.mark.parametrize("policy", ["SingleNUMANode", "Restricted", "BestEffort"])
def test_a_pod_that_must_move_while_kubelet_is_silent_stays_beside_its_gpus(policy: str) -> None:
    scene = Scene(answer=granted(p1=["GPU-2"]))
    scene.take(asks(1, 2, policy, gpus=1))
    assert scene.has(1) == "4,12"
    scene.answer = None
    scene.said[2] = own("4-5,12")
    scene.take(asks(1, 2, policy, gpus=1), asks(2, 3, None))
    assert scene.has(1) == "6,14"


def test_a_pod_is_not_placed_anywhere_while_kubelet_is_silent_for_a_moment() -> None:
    scene = Scene()
    outcome = scene.take(asks(1, 4, "BestEffort", gpus=1), silent=3.0)
    assert scene.kept == {}
    assert outcome.waiting == 1.0
    scene.take(asks(1, 4, "BestEffort", gpus=1), silent=31.0)
    assert scene.has(1) != ""


def test_kubelet_s_static_policy_that_is_switched_on_is_named_and_takes_over() -> None:
    for pod in (asks(1), mixed(4, 2500)):
        scene = Scene()
        scene.take(pod)
        scene.kubelet = static("0-15")
        outcome = scene.take(pod)
        assert scene.kept[uid(1)].cpus == frozenset()
        (said,) = (each for each in outcome.conditions if each.code == "assigner-yields")
        assert "kubelet's static CPU manager" in said.message


def test_only_cpus_in_force_above_pods_are_given_out() -> None:
    """systemd's AllowedCPUs= on kubelet's slice, or a partition beside it, bounds all pods."""
    scene = Scene(seen={1: v2(1, "", above="4-7,12-15")})
    scene.take(asks(1, 4))
    assert scene.has(1) == "5-6,13-14"


def test_cpus_that_no_pod_can_be_held_to_are_exchanged_and_those_in_force_are_not() -> None:
    scene = Scene()
    scene.take(asks(1))
    assert scene.has(1) == "1-2,9-10"
    scene.reserved = cpus("0-1,8-9")
    scene.seen = {1: v2(1, "1-2,9-10")}
    assert told(scene.take(asks(1))) == [], "the kernel holds it there"
    scene.seen = {1: v2(1, "")}
    outcome = scene.take(asks(1))
    assert scene.has(1) == "2-3,10-11"
    assert told(outcome) == [("assigner-assigned", "shop/p1"), ("assigner-moves", "shop/p1")]


def test_a_cpu_that_is_offline_for_a_pass_moves_nobody() -> None:
    scene = Scene(seen={1: v2(1, "1-2,9-10")})
    scene.take(asks(1))
    before = dict(scene.kept)
    nodes = (replace(SIXTEEN.nodes[0], cpus=cpus("0,2-3,8-11")), SIXTEEN.nodes[1])
    scene.topology = replace(SIXTEEN, online=cpus("0,2-15"), nodes=nodes)
    assert told(scene.take(asks(1))) == []
    scene.topology = SIXTEEN
    assert told(scene.take(asks(1))) == []
    assert scene.kept == before


def test_a_running_pod_is_told_what_it_keeps_when_its_words_become_nonsense() -> None:
    scene = Scene()
    scene.take(asks(1))
    outcome = scene.take(asks(1, annotations={"numa-agent.io/cpu-kind": "quantum"}))
    assert outcome.unplaced[uid(1)][1].startswith("it keeps CPUs 1-2,9-10")


# Lost files.


def test_without_a_file_a_pod_of_which_a_container_shares_keeps_its_own() -> None:
    pod = mixed(4, 500)
    pod = replace(pod, containers=(container(1, name="a"), container(2, name="b")))
    for seen in (
        v2(1, "0-1,3-7,9,11-15", {1: "5-6,13-14", 2: "0-1,3-4,7,9,11-12,15"}),
        v1(1, {1: "5-6,13-14", 2: "0-1,3-4,7,9,11-12,15"}),
    ):
        scene = Scene(seen={1: seen})
        outcome = scene.take(pod, lost=True)
        assert scene.has(1) == "5-6,13-14"
        assert told(outcome) == [("assigner-adopted", "shop/p1")]


def test_a_set_over_two_nodes_is_not_that_of_a_pod_of_one() -> None:
    scene = Scene(topology=replace(SIXTEEN, isolated=cpus("0,8")), reserved=cpus("1,9"))
    scene.seen = {1: v2(1, "2-7,10-15")}
    scene.take(asks(1, 12), lost=True)
    assert scene.has(1) == ""


@pytest.mark.parametrize("facts", [{"settled": False}, {}])
def test_what_is_in_force_is_kept_whatever_else_is_unknown(facts: dict[str, bool]) -> None:
    scene = Scene(seen={1: v2(1, "5-6,13-14")}, reserved=None)
    scene.take(asks(1), lost=True, **facts)
    assert scene.has(1) == "5-6,13-14"


def test_what_a_process_leaves_is_nobody_s_until_it_ends() -> None:
    scene = Scene()
    scene.take(asks(1, 6), asks(2, 6))
    held = scene.has(1)
    scene.take(asks(2, 6), asks(3, 6), ending=frozenset({uid(1)}))
    assert (scene.has(1), scene.has(3)) == (held, "")
    scene.take(asks(2, 6), asks(3, 6))
    assert scene.has(3) == held
