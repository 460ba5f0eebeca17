"""What the assigner decides from pass to pass: who keeps what, who gets what, who yields."""

from dataclasses import replace

import pytest

from numa_agent.core.accounting.amounts import Amount, NodeAccount
from numa_agent.core.assigner import Mode, Setting
from numa_agent.core.assigner.kept import ASSIGNER
from numa_agent.core.requests import Demands
from tests.assigner.scene import (
    GIB,
    SIXTEEN,
    SPEC,
    Scene,
    asks,
    cpus,
    demand,
    granted,
    told,
    v1,
    v2,
)
from tests.core.cpusets.scene import bad, own, static
from tests.machine_tree import uid


def test_a_pod_gets_whole_cores_of_the_node_of_its_gpus() -> None:
    scene = Scene(answer=granted(p1=["GPU-2", "GPU-3"]))
    outcome = scene.take(asks(1, gpus=2))
    assert scene.has(1) == "4-5,12-13"
    assert told(outcome) == [("assigner-assigned", "shop/p1")]
    said = scene.kept[uid(1)].assignment(SIXTEEN)
    assert (said.source, said.cpus) == (ASSIGNER, cpus("4-5,12-13"))
    assert said.of("c1").mems == frozenset({1})


def test_what_was_decided_stays_whoever_comes_and_goes() -> None:
    scene = Scene()
    scene.take(asks(1), asks(2))
    before = dict(scene.kept)
    quiet = scene.take(asks(1), asks(2))
    assert (dict(scene.kept), told(quiet), quiet.waiting) == (before, [], None)
    scene.take(asks(2), asks(3), asks(4))
    assert scene.kept[uid(2)] == before[uid(2)]
    assert scene.has(4) == "1-2,9-10", "what a pod leaves is free at once"
    assert uid(1) not in scene.kept


def test_a_finished_pod_has_nothing() -> None:
    scene = Scene()
    scene.take(asks(1))
    scene.take(replace(asks(1), phase="Succeeded"))
    assert scene.kept == {}


def test_a_pod_that_cannot_be_read_now_keeps_its_cpus() -> None:
    scene = Scene()
    scene.take(asks(1))
    held = scene.has(1)
    scene.take(asks(2), told=False)
    assert scene.has(1) == held
    assert not cpus(scene.has(2)) & cpus(held)


def test_nothing_new_is_decided_by_what_is_not_of_now() -> None:
    scene = Scene()
    scene.take(asks(1))
    scene.take(asks(1), asks(2), settled=False)
    assert list(scene.kept) == [uid(1)]


def test_a_scheduler_has_the_grace_time_to_decide() -> None:
    scene = Scene(setting=Setting(grace=5.0), known=2.0)
    outcome = scene.take(asks(1))
    assert (scene.kept, outcome.waiting) == ({}, 3.0)
    scene.known = 5.0
    scene.take(asks(1))
    assert scene.has(1) != ""


def test_always_waits_for_nobody_and_serves_those_that_do_not_ask() -> None:
    scene = Scene(setting=Setting(mode=Mode.ALWAYS, grace=5.0), known=0.0)
    scene.take(asks(1, policy=None))
    assert scene.has(1) != ""


def test_off_decides_nothing_new_and_moves_nobody() -> None:
    scene = Scene()
    scene.take(asks(1))
    held, scene.setting = scene.has(1), Setting(mode=Mode.OFF)
    scene.take(asks(1), asks(2))
    assert (scene.has(1), scene.has(2)) == (held, "")


def test_a_pod_that_a_scheduler_decided_for_is_left_to_it() -> None:
    scene = Scene(said={1: own("4-7")})
    scene.take(asks(1))
    assert scene.kept == {}


def test_a_scheduler_that_decides_later_has_the_word() -> None:
    scene = Scene()
    scene.take(asks(1))
    scene.said[1] = own("4-7")
    outcome = scene.take(asks(1))
    assert (scene.kept, told(outcome)) == ({}, [("assigner-yields", "shop/p1")])


def test_a_scheduler_that_gives_another_pod_what_one_has_makes_it_move() -> None:
    scene = Scene()
    scene.take(asks(1))
    assert scene.has(1) == "1-2,9-10"
    scene.said[2] = own("2-3,10-11")
    outcome = scene.take(asks(1), asks(2, policy=None))
    assert scene.has(1) == "4-5,12-13"
    assert told(outcome) == [("assigner-assigned", "shop/p1"), ("assigner-yields", "shop/p1")]
    assert "from CPUs 1-2,9-10" in outcome.conditions[1].message


def test_one_that_has_nowhere_to_move_shares_what_is_left() -> None:
    scene = Scene()
    scene.take(asks(1))
    scene.said[2] = own("1-7,9-15")
    outcome = scene.take(asks(1), asks(2, policy=None))
    assert scene.kept == {}
    assert told(outcome) == [("assigner-unplaced", "shop/p1"), ("assigner-yields", "shop/p1")]


def test_words_of_a_scheduler_that_cannot_be_read_cost_nobody_their_cpus() -> None:
    scene = Scene()
    scene.take(asks(1), asks(2))
    before = dict(scene.kept)
    scene.said = {1: bad(), 2: own("99")}
    scene.take(asks(1), asks(2))
    assert scene.kept.get(uid(1)) == before[uid(1)]


def test_what_kubelet_gave_out_is_nobody_else_s() -> None:
    scene = Scene(kubelet=static("0-15", p2="1-3,9-11"))
    scene.take(asks(1, policy="SingleNUMANode"), asks(2, policy=None))
    assert scene.kept[uid(1)].cpus == frozenset(), "beside a static kubelet CPUs are shared"
    assert scene.kept[uid(1)].nodes == frozenset({1}) or scene.kept[uid(1)].nodes


def test_a_pod_that_kubelet_gave_cpus_yields_to_it() -> None:
    scene = Scene()
    scene.take(asks(1))
    scene.kubelet = static("0-15", p1="4-7")
    outcome = scene.take(asks(1))
    assert (scene.kept, told(outcome)) == ({}, [("assigner-yields", "shop/p1")])


def test_reserved_and_isolated_cpus_are_never_given_out() -> None:
    scene = Scene(topology=replace(SIXTEEN, isolated=cpus("2,10")), reserved=cpus("0-1,8-9"))
    scene.take(asks(1, 4, "SingleNUMANode"), asks(2, 8, "SingleNUMANode"))
    assert not (cpus(scene.has(1)) | cpus(scene.has(2))) & cpus("0-2,8-10")


def test_while_nobody_knows_what_is_reserved_nothing_is_given_out() -> None:
    scene = Scene(reserved=None)
    outcome = scene.take(asks(1))
    assert scene.kept == {}
    assert outcome.unplaced[uid(1)][0] == "reserved-unknown"


def test_without_reserved_cpus_those_that_share_are_left_a_core() -> None:
    scene = Scene(reserved=frozenset())
    scene.take(asks(1, 14, "BestEffort"), asks(2, 2, "BestEffort"))
    assert scene.has(1) == "1-7,9-15"
    assert scene.has(2) == ""


def test_devices_on_two_nodes_are_refused_where_one_is_asked_for() -> None:
    scene = Scene(answer=granted(p1=["GPU-0", "GPU-2"]))
    outcome = scene.take(asks(1, gpus=2))
    assert outcome.unplaced[uid(1)][0] == "devices-apart"
    assert told(outcome) == [("assigner-unplaced", "shop/p1")]


def test_a_pod_waits_until_kubelet_tells_its_devices_and_no_longer_than_it_must() -> None:
    scene = Scene(answer=granted(), known=0.1)
    outcome = scene.take(asks(1, gpus=1))
    assert scene.kept == {}
    assert outcome.waiting is not None
    assert outcome.waiting <= 1.0
    scene.known = 31.0
    assert scene.take(asks(1, gpus=1)).unplaced[uid(1)][0] == "devices-unplaced"
    scene.take(asks(1, gpus=1, policy="BestEffort"))
    assert scene.has(1) != "", "the best that there is, is known"


def test_a_device_that_nobody_can_place_is_named() -> None:
    unknown = replace(SIXTEEN.pci_devices[2], node=None, nodes=())
    topology = replace(
        SIXTEEN,
        pci_devices=(*SIXTEEN.pci_devices[:2], unknown, SIXTEEN.pci_devices[3]),
        gpus=(
            *SIXTEEN.gpus[:2],
            replace(SIXTEEN.gpus[2], device=unknown),
            SIXTEEN.gpus[3],
        ),
    )
    scene = Scene(topology=topology, answer=granted(p1=["GPU-2"]))
    code, message = scene.take(asks(1, gpus=1)).unplaced[uid(1)]
    assert code == "devices-unplaced"
    assert "GPU-2" in message


def test_what_asks_wrongly_is_told_and_keeps_what_it_has() -> None:
    scene = Scene()
    scene.take(asks(1))
    held = scene.has(1)
    wrong = asks(1, policy=None, annotations={SPEC: "{,}"})
    outcome = scene.take(wrong)
    assert (scene.has(1), told(outcome)) == (held, [("assigner-unplaced", "shop/p1")])


def test_who_takes_the_annotations_away_is_unbound() -> None:
    scene = Scene()
    scene.take(asks(1))
    scene.take(asks(1, policy=None))
    assert scene.kept == {}


def test_a_pod_that_opted_out_is_left_as_it_is() -> None:
    scene = Scene()
    off = {"numa-agent.io/bind": "off"}
    scene.take(asks(1, annotations=off))
    assert scene.kept == {}


def test_containers_have_their_own_parts_and_the_others_share_the_node() -> None:
    pod = asks(1, demands=[demand("a", 2000), demand("b", 1000), demand("c", 500, 1000)])
    scene = Scene()
    scene.take(pod)
    kept = scene.kept[uid(1)]
    said = kept.assignment(SIXTEEN)
    a, b = said.of("a").cpus, said.of("b").cpus
    assert (len(a), len(b), a & b, a | b) == (2, 1, frozenset(), kept.cpus)
    assert a in SIXTEEN.cores, "the larger part keeps whole cores"  # type: ignore[operator]
    assert said.of("c").nodes == kept.nodes
    assert said.of("c").cpus == frozenset()
    assert said.of("an ephemeral one").cpus == kept.cpus


@pytest.mark.parametrize(("count", "left"), [(2, True), (6, True)])
def test_a_pod_resized_in_place_keeps_what_it_can(count: int, left: bool) -> None:
    scene = Scene()
    scene.take(asks(1, 4))
    before = cpus(scene.has(1))
    outcome = scene.take(asks(1, count))
    after = cpus(scene.has(1))
    assert len(after) == count
    assert (after < before or after > before) is left
    assert SIXTEEN.nodes_of(after) == SIXTEEN.nodes_of(before)
    assert told(outcome)[-1] == ("assigner-moves", "shop/p1")


def test_a_resize_that_does_not_fit_leaves_what_is_there() -> None:
    scene = Scene()
    scene.take(asks(1, 4))
    before = scene.has(1)
    outcome = scene.take(asks(1, 12))
    assert scene.has(1) == before
    assert outcome.unplaced[uid(1)][1].startswith("it keeps CPUs")


def test_a_node_without_the_memory_is_passed_over() -> None:
    accounts = [
        NodeAccount(
            node=node, resources={"memory": Amount(capacity=9, allocatable=8, available=free)}
        )
        for node, free in zip(SIXTEEN.nodes, (2 * GIB, 64 * GIB), strict=True)
    ]
    accounts = [
        replace(
            each,
            resources={
                "memory": replace(
                    each.resources["memory"], capacity=64 * GIB, allocatable=64 * GIB
                )
            },
        )
        for each in accounts
    ]
    one = demand("c1", 4000)
    amounts = {**one.requests, "memory": 40 * GIB}
    big = asks(1, demands=[replace(one, requests=amounts, limits=amounts)])
    scene = Scene(accounts=accounts)
    scene.take(big, replace(big, name="p2", uid=uid(2)))
    assert scene.has(1) == "4-5,12-13"
    assert scene.has(2) == "", "the first one's memory is promised"


def test_without_a_file_what_the_kernel_holds_pods_to_is_theirs() -> None:
    scene = Scene(seen={1: v2(1, "5,13,6,14"), 2: v2(2, "0-4,7-12,15")})
    outcome = scene.take(asks(1), asks(2, None, policy=None), lost=True)
    assert scene.has(1) == "5-6,13-14"
    assert told(outcome) == [("assigner-adopted", "shop/p1")]


def test_on_cgroup_v1_containers_tell_what_their_pod_has() -> None:
    scene = Scene(seen={1: v1(1, {1: "5,13,6,14"}), 2: v1(2, {2: "0-4,7-12,15"})})
    scene.take(asks(1), asks(2, None, policy=None), lost=True)
    assert scene.has(1) == "5-6,13-14"


@pytest.mark.parametrize("held", ["5,13,6", "5-6,13-15", "2-3,10-11", "0-1,8-9"])
def test_a_set_of_another_size_or_of_others_is_not_taken_for_its_own(held: str) -> None:
    scene = Scene(seen={1: v2(1, held), 2: v2(2, "2,3,10,11")})
    outcome = scene.take(asks(1), asks(2, None, policy=None), lost=True)
    assert told(outcome) == [("assigner-assigned", "shop/p1")]


def test_the_order_of_pods_is_that_of_their_starts() -> None:
    one, two = asks(1, 12, "BestEffort"), asks(2, 12, "BestEffort")
    scene = Scene()
    outcome = scene.take(one, two)
    assert scene.has(1) != ""
    assert outcome.unplaced.keys() == {uid(2)}


def test_a_pod_without_requests_is_held_to_a_node_and_shares_there() -> None:
    pod = replace(asks(1), demands=Demands())
    scene = Scene()
    scene.take(pod)
    assert scene.kept[uid(1)].cpus == frozenset()
    assert len(scene.kept[uid(1)].nodes) == 1


@pytest.mark.parametrize(("cpus_of_it", "placed"), [("4-5,12-13", True), ("3-4", False)])
def test_a_pod_without_words_is_of_one_node_or_of_several_as_its_scheduler_put_it(
    cpus_of_it: str, placed: bool
) -> None:
    scene = Scene(said={2: own(cpus_of_it)}, reserved=cpus("0-2,8-10"))
    scene.take(asks(1, 4, exclusive="Required"), asks(2, policy=None))
    assert (scene.has(1) != "") is placed
