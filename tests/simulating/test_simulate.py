"""What becomes of pods that arrive one after the other."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from numa_agent.core.assigner import Kept, Mode
from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.documents import items, mapping
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod, QosClass
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.shape import Shape
from numa_agent.core.simulating import Fate, Placed, simulate, simulation_json
from numa_agent.core.simulating.comparing import ASSIGNER, FIRST_FIT, KUBELET
from tests.assigner.scene import GIB, SIXTEEN, cpus, demand
from tests.machine_tree import uid
from tests.simulating.machines import NAME, NODE, NODE_OF, accounts_of, asks, start


def waits(number: int, **more: object) -> Pod:
    return replace(asks(number, **more), phase="Pending", started="")  # type: ignore[arg-type]


def fates(*placed: Placed) -> list[tuple[str, str, str]]:
    return [(each.fate.value, render(each.cpus), each.code) for each in placed]


def test_a_pod_gets_gpus_of_one_node_and_cpus_beside_them() -> None:
    (only,) = simulate(start(), [waits(1, count=6, gpus=2)]).pods
    assert (only.fate, only.beside, only.code) == (Fate.PLACED, True, "")
    assert {NODE_OF[each] for each in only.devices} == only.device_nodes == only.nodes
    assert len(only.cpus) == 6
    assert SIXTEEN.nodes_of(only.cpus) == only.nodes


def test_one_that_the_node_has_no_room_for_waits_and_the_next_ones_go_on() -> None:
    pods = [waits(1, count=6, gpus=3), waits(2, count=2, gpus=2), waits(3, count=8, gpus=1)]
    found = simulate(start(), [*pods, waits(4, count=2)]).pods
    assert [each.fate for each in found] == [
        Fate.UNPLACED,
        Fate.WAITING,
        Fate.PLACED,
        Fate.WAITING,
    ]
    assert found[0].code == "devices-apart"
    assert (len(found[0].devices), found[0].beside) == (3, False)
    assert "aliyun.com/gpu: it asks for 2, of 4 that pods may request 1 are left" in found[1].why
    assert "cpu: it asks for 2, of 14 that pods may request 0 are left" in found[3].why


def test_gpus_that_pods_have_aren_t_given_again_and_count_against_the_rest() -> None:
    there = asks(1, 2, gpus=1)
    now = start([there], held={"p1": ["GPU-0"]})
    found = simulate(now, [waits(2, count=1, gpus=2), waits(3, count=1, gpus=2)])
    first, second = found.pods
    assert {*first.devices} == {"GPU-2", "GPU-3"}
    assert second.fate is Fate.WAITING
    assert dict(found.gpus_after.free) == {}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nvidia.com/gpu", "its GPUs are offered as aliyun.com/gpu (--gpus-as gives them another"),
        ("y.io/fpga", "the node offers no y.io/fpga"),
    ],
)
def test_a_resource_that_isn_t_offered_is_named(name: str, said: str) -> None:
    own = Demand(container="c1", role=Role.APP, requests={name: 1}, limits={name: 1})
    (only,) = simulate(start(), [waits(1, demands=[own])]).pods
    assert only.fate is Fate.WAITING
    assert said in only.why


def test_what_a_scheduler_counts_and_no_plugin_hands_out_is_counted() -> None:
    own = Demand(container="c1", role=Role.APP, requests={"k.io/core": 60}, limits={})
    node = replace(NODE, allocatable={**NODE.allocatable, "k.io/core": 100})
    pods = [waits(number, demands=[own], policy=None) for number in (1, 2)]
    found = simulate(start(node=node), pods).pods
    assert [each.fate for each in found] == [Fate.SHARES, Fate.WAITING]


def test_gpus_are_given_where_the_pod_s_cpus_are_free() -> None:
    # Node 0 has 6 CPUs that can be given out, node 1 has 8; both have 2 GPUs.
    first, second, third = simulate(
        start(), [waits(1, count=5, gpus=1), waits(2, count=8, gpus=1), waits(3, count=1, gpus=1)]
    ).pods
    assert [each.fate for each in (first, second, third)] == [Fate.PLACED] * 3
    assert [{*each.nodes} for each in (first, second, third)] == [{0}, {1}, {0}]


def test_memory_of_pods_that_came_before_is_held() -> None:
    own = Demand(
        container="c1",
        role=Role.APP,
        requests={"cpu": 1000, "memory": 5 * GIB},
        limits={"cpu": 1000, "memory": 5 * GIB},
    )
    found = simulate(
        start(accounts=accounts_of(2, 8)), [waits(n, demands=[own]) for n in (1, 2, 3)]
    )
    assert [each.fate for each in found.pods] == [Fate.PLACED, Fate.PLACED, Fate.UNPLACED]
    assert "memory short" in found.pods[2].why


def test_other_devices_are_given_in_order_and_never_twice() -> None:
    own = Demand(container="c1", role=Role.APP, requests={"x.io/nic": 1}, limits={})
    found = simulate(start(), [waits(n, demands=[own], policy=None) for n in (1, 2, 3)]).pods
    assert [each.devices for each in found] == [("n0",), ("n1",), ()]


def test_an_init_container_s_gpus_are_its_pod_s_next() -> None:
    gpus = {NAME: 2, "cpu": 2000}
    first = Demand(container="i", role=Role.INIT, requests=gpus, limits=gpus)
    main = replace(first, container="c1", role=Role.APP)
    found = simulate(start(), [waits(1, demands=[first, main]), waits(2, count=1, gpus=2)]).pods
    assert [len(each.devices) for each in found] == [2, 2]
    assert found[0].fate is Fate.PLACED, "kubelet tells of the container that has them next"
    assert not {*found[0].devices} & {*found[1].devices}


def test_one_that_asks_for_nothing_shares_unless_everybody_is_served() -> None:
    one = replace(waits(1, count=2, policy=None), qos=QosClass.GUARANTEED)
    assert fates(*simulate(start(), [one]).pods) == [("shares", "", "")]
    assert simulate(start(), [one]).pods[0].beside is None
    (always,) = simulate(start(mode=Mode.ALWAYS), [one]).pods
    assert (always.fate, len(always.cpus)) == (Fate.PLACED, 2)


def test_where_the_assigner_is_off_it_is_shown_what_it_would_do() -> None:
    found = simulate(start(mode=Mode.OFF), [waits(1, count=2)])
    assert found.pods[0].fate is Fate.PLACED
    assert found.notes == ("the assigner is off in the settings: this is what it would do",)


def test_a_pod_without_cpus_of_its_own_shares_its_node() -> None:
    (only,) = simulate(start(), [waits(1, demands=[demand("c1", 1500)])]).pods
    assert (only.fate, only.cpus, len(only.nodes), only.beside) == (
        Fate.PLACED,
        frozenset(),
        1,
        True,
    )


def test_words_that_can_t_be_understood_are_a_refusal() -> None:
    bad = waits(1, annotations={"cpuset-scheduler": "maybe"}, policy=None)
    (only,) = simulate(start(), [bad]).pods
    assert (only.fate, only.code) == (Fate.UNPLACED, "malformed")
    assert "cpuset-scheduler 'maybe'" in only.why


def test_a_decision_that_a_pod_brings_along_is_followed_where_it_can_be() -> None:
    there = asks(1, 2)
    kept = {uid(1): Kept(pod="shop/p1", nodes=frozenset({0}), cpus=cpus("1,9"), single=True)}
    own = {
        uid(number): Assignment(source="test", pod=Placement(cpus=cpus(text)))
        for number, text in ((2, "2,10"), (3, "2-3"), (4, "99"))
    }
    pods = [waits(number, count=2, policy=None) for number in (2, 3, 4)]
    now = replace(start([there], kept=kept), said=own)
    found = simulate(now, pods).pods
    assert [(each.fate, render(each.cpus)) for each in found] == [
        (Fate.PLACED, "2,10"),
        (Fate.UNPLACED, ""),
        (Fate.UNPLACED, ""),
    ]
    assert found[0].why == "test"
    assert (found[1].code, found[2].code) == ("cpus-taken", "cpus-not-online")
    assert "of which 2 belong to pod shop/p2" in found[1].why


def test_slots_are_those_before_and_after_with_the_same_shapes() -> None:
    pods = [waits(1, count=3, gpus=2), waits(2, count=4)]
    found = simulate(start(), pods, [Shape(cpus=3), Shape(cpus=6)])
    before = [(str(each.shape), each.total) for each in found.before.shapes]
    after = [(str(each.shape), each.total) for each in found.after]
    assert before == [("3c", 4), ("6c", 2)]
    assert after == [("3c", 2), ("6c", 0)]
    assert {str(each.shape) for each in simulate(start(), pods).after} == {"3c", "4c"}


def test_what_the_pods_get_of_gpus_and_memory_isn_t_free_after() -> None:
    now = start(accounts=accounts_of(gpus=2, gib=8))
    own = Demand(
        container="c1",
        role=Role.APP,
        requests={"cpu": 2000, NAME: 1, "memory": 3 * GIB},
        limits={"cpu": 2000, NAME: 1, "memory": 3 * GIB},
    )
    found = simulate(
        now, [waits(1, demands=[own])], [Shape(gpus=1), Shape(cpus=1, memory=4 * GIB)]
    )
    assert found.pods[0].fate is Fate.PLACED
    (node,) = found.pods[0].nodes
    assert found.gpus_after.free == {node: 1, 1 - node: 2}
    assert [each.total for each in found.before.shapes] == [4, 4]
    assert [each.total for each in found.after] == [3, 3]


def test_a_refused_pod_s_devices_count_for_the_other_ways() -> None:
    # It asks for one node and has GPUs of both.
    found = simulate(start(), [waits(1, count=2, gpus=3)], compare=True)
    assert found.pods[0].fate is Fate.UNPLACED
    three = found.compared[:3]
    assert [(each.placed, each.aligned) for each in three] == [(0, 0), (1, 1), (1, 1)]


def test_each_way_to_choose_gives_no_cpu_twice() -> None:
    pods = [waits(1, count=8), waits(2, count=6)]
    found = simulate(start(), pods, [Shape(cpus=1)], compare=True)
    assert [(each.placed, each.slots[0].total) for each in found.compared] == [(2, 0)] * 6


def test_nothing_is_placed_while_nobody_says_what_is_reserved() -> None:
    now = start()
    inputs = replace(now.situation.inputs, reserved=None)
    now = replace(now, situation=replace(now.situation, inputs=inputs))
    found = simulate(now, [waits(1, count=2)], compare=True)
    assert found.pods[0].code == "reserved-unknown"
    assert found.before.shapes == found.after == ()
    assert "nothing is counted: " in found.before.notes[0]


def test_the_same_pods_are_compared_by_three_ways_to_choose() -> None:
    # One of each node fills both; what is first by id is on node 0.
    pods = [waits(1, count=2, gpus=2), waits(2, count=2, gpus=2), waits(3, count=20)]
    found = simulate(start(), pods, [Shape(cpus=6)], compare=True)
    by_name = {each.name: (each.placed, each.aligned) for each in found.compared[:3]}
    assert by_name == {ASSIGNER: (2, 2), FIRST_FIT: (2, 1), KUBELET: (2, 1)}
    assert [each.slots[0].total for each in found.compared] == [1] * 6
    told = [mapping(each)["fate"] for each in items(simulation_json(found)["pods"])]
    assert told == ["placed", "placed", "waiting"]


def test_it_changes_nothing_and_says_the_same_again() -> None:
    now = start([asks(9, 2)])
    pods = [waits(number, count=number, gpus=number % 3) for number in range(1, 6)]
    assert simulation_json(simulate(now, pods)) == simulation_json(simulate(now, pods))


class Walk:
    """Pods come and go; each round's newcomers are simulated on what the last one left."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.kept: dict[str, Kept] = {}
        self.held: dict[str, tuple[str, ...]] = {}
        self.pods: dict[int, Pod] = {}
        self.born = 0

    def leave(self) -> None:
        for number in [each for each in self.pods if self.chance.random() < 0.3]:
            pod = self.pods.pop(number)
            self.kept.pop(pod.uid, None)
            self.held.pop(pod.name, None)

    def arrive(self) -> list[Placed]:
        new = []
        for _ in range(self.chance.randint(0, 4)):
            self.born += 1
            policy = self.chance.choice(["SingleNUMANode", "Restricted", "BestEffort", None])
            count = self.chance.choice([None, 1, 2, 3, 5, 7])
            new.append(
                waits(self.born, count=count, policy=policy, gpus=self.chance.randint(0, 3))
            )
        found = simulate(
            start(list(self.pods.values()), kept=self.kept, held=dict(self.held)),
            new,
            compare=True,
        )
        for each in found.pods:
            if each.fate is not Fate.WAITING:
                number = int(each.pod.name[1:])
                self.pods[number] = each.pod
                self.held[each.pod.name] = each.devices
            if each.fate is Fate.PLACED:
                self.kept[each.pod.uid] = Kept(
                    pod=each.pod.full_name,
                    nodes=each.nodes,
                    cpus=each.cpus,
                    single="SingleNUMANode" in str(each.pod.annotations),
                )
        return list(found.pods)

    def check(self, arrived: list[Placed]) -> None:
        gpus = Counter(unit for units in self.held.values() for unit in units)
        assert not [unit for unit, times in gpus.items() if times > 1], "a GPU was given twice"
        own: list[CpuSet] = [kept.cpus for kept in self.kept.values()]
        assert sum(map(len, own)) == len(frozenset[int]().union(*own)), "a CPU was given twice"
        assert not frozenset({0, 8}) & frozenset[int]().union(*own), "a reserved CPU was given"
        for each in arrived:
            asked = each.pod.demands.effective().get(NAME, 0)
            given = len(each.devices)
            assert given == (0 if each.fate is Fate.WAITING else asked)
            assert (each.fate is Fate.PLACED) or not each.cpus
            assert bool(each.why) == (each.fate in (Fate.WAITING, Fate.UNPLACED))


@pytest.mark.parametrize("seed", range(30))
def test_in_a_random_walk_no_gpu_and_no_cpu_is_given_twice(seed: int) -> None:
    walk = Walk(random.Random(seed))
    fates_seen = Counter[Fate]()
    for _ in range(25):
        walk.leave()
        arrived = walk.arrive()
        fates_seen.update(each.fate for each in arrived)
        walk.check(arrived)
    assert fates_seen[Fate.PLACED]
    assert fates_seen[Fate.WAITING] + fates_seen[Fate.UNPLACED]


def test_a_node_that_says_nothing_of_its_resources_is_no_bound() -> None:
    found = simulate(start(node=Node(name="", uid=None)), [waits(1, count=3)])
    assert found.pods[0].fate is Fate.PLACED


def test_a_pod_with_its_own_demands_is_counted_whole() -> None:
    own = Demands(containers=(), pod={"cpu": 20_000})
    (only,) = simulate(start(), [replace(waits(1, count=1), demands=own)]).pods
    assert only.fate is Fate.WAITING
