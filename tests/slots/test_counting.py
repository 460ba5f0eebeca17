"""Slots are pods that the assigner would place, one after the other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.assigner.asking import BIND_POLICY
from numa_agent.core.assigner.holdings import room_left
from numa_agent.core.assigner.situation import Situation
from numa_agent.core.cpusets import Inputs, claimed
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Pod
from numa_agent.core.shape import Shape
from numa_agent.core.slots import GpuRoom, ShapeSlots, count
from tests.assigner.scene import GIB, SIXTEEN, Scene, asks, granted
from tests.machine_tree import machine, numa_node, uid

NAME = "aliyun.com/gpu"
NODE_OF_GPU = {0: 0, 1: 0, 2: 1, 3: 1}
WHOLE = {BIND_POLICY: "FullPCPUsOnly"}


def accounts(free: Mapping[int, int]) -> tuple[NodeAccount, ...]:
    """Memory of nodes, of which so many GiB are free of 8."""
    return tuple(
        NodeAccount(
            node=node,
            resources={
                "memory": Amount(
                    capacity=8 * GIB, allocatable=8 * GIB, available=free[node.id] * GIB
                )
            },
        )
        for node in SIXTEEN.cpu_nodes
    )


def counted(
    scene: Scene,
    pods: Sequence[Pod],
    shape: Shape,
    gpus: Sequence[int],
    labels: Mapping[str, str] | None = None,
) -> ShapeSlots:
    """The slots where the scene's pods have what they have and these GPUs are free."""
    inputs = Inputs(
        pods=pods,
        decisions={uid(number): each for number, each in scene.said.items()},
        topology=scene.topology,
        reserved=scene.reserved,
    )
    theirs, alone = claimed(inputs)
    situation = Situation(
        inputs=inputs,
        theirs=theirs,
        alone=alone,
        accounts=lambda: scene.accounts,
        holders=Holders(scene.topology, scene.answer, "kubelet isn't there"),
        known={},
        now=0.0,
    )
    free = Counter(NODE_OF_GPU[gpu] for gpu in gpus)
    room = GpuRoom(resource=NAME, free=free, ever={0: 2, 1: 2})
    return count(shape, room_left(situation, scene.kept), room, labels=labels)


def newcomers(
    shape: Shape, found: ShapeSlots, gpus: Sequence[int]
) -> tuple[list[Pod], dict[str, list[str]]]:
    """On each node one pod more than there are slots, as far as there are GPUs for it."""
    pods: list[Pod] = []
    has: dict[str, list[str]] = {}
    left = list(gpus)
    for node in found.nodes:
        for _ in range(node.slots + 1):
            number = 100 + len(pods)
            here = [gpu for gpu in left if NODE_OF_GPU[gpu] == node.node_id][: shape.gpus]
            if len(here) < shape.gpus:
                break
            left = [gpu for gpu in left if gpu not in here]
            has[f"p{number}"] = [f"GPU-{gpu}" for gpu in here]
            pod = asks(number, shape.cpus or None, gpus=shape.gpus, exclusive="Required")
            memory = {"memory": shape.memory} if shape.memory else {}
            demand = replace(
                pod.demands.containers[0],
                requests={**pod.demands.containers[0].requests, **memory},
            )
            pods.append(replace(pod, demands=replace(pod.demands, containers=(demand,))))
    return pods, has


@settings(max_examples=300, deadline=None)
@given(
    before=st.lists(
        st.tuples(
            st.integers(1, 5),
            st.sampled_from(["SingleNUMANode", "Restricted", "BestEffort", None]),
        ),
        max_size=4,
    ),
    reserved=st.sets(st.integers(0, 15), min_size=1, max_size=5),
    isolated=st.sets(st.integers(0, 15), max_size=3),
    gpus=st.sets(st.integers(0, 3)),
    memory=st.tuples(st.integers(0, 8), st.integers(0, 8)),
    shape=st.builds(
        Shape,
        cpus=st.integers(1, 5),
        gpus=st.integers(0, 2),
        memory=st.sampled_from([0, GIB, 3 * GIB]),
    ),
    labels=st.sampled_from([{}, WHOLE, {BIND_POLICY: "SpreadByPCPUs"}]),
)
def test_slots_are_how_many_pods_the_assigner_places(
    before: list[tuple[int, str | None]],
    reserved: set[int],
    isolated: set[int],
    gpus: set[int],
    memory: tuple[int, int],
    shape: Shape,
    labels: dict[str, str],
) -> None:
    scene = Scene(
        topology=replace(SIXTEEN, isolated=frozenset(isolated)), reserved=frozenset(reserved)
    )
    old = [asks(number, number_of, policy) for number, (number_of, policy) in enumerate(before)]
    scene.take(*old)
    scene.accounts = accounts({0: memory[0], 1: memory[1]})
    found = counted(scene, old, shape, sorted(gpus), labels)
    new, has = newcomers(shape, found, sorted(gpus))
    scene.answer = granted(**{f"p{number}": [] for number in range(len(old))}, **has)
    kept = scene.take(*old, *new, labels=labels).kept
    placed = Counter(min(kept[pod.uid].nodes) for pod in new if pod.uid in kept)
    assert {node.node_id: node.slots for node in found.nodes} == {
        node.node_id: placed[node.node_id] for node in found.nodes
    }


def test_cores_of_two_sizes_are_counted_as_the_assigner_takes_them() -> None:
    hybrid = replace(
        machine(numa_node(0, "0-9")),
        cores=(*map(frozenset, ([0, 1], [2, 3], [4, 5])), *map(frozenset, ([6], [7], [8], [9]))),
    )
    scene = Scene(topology=hybrid, reserved=frozenset({9}))
    inputs = Inputs(pods=(), decisions={}, topology=hybrid, reserved=scene.reserved)
    situation = Situation(
        inputs=inputs,
        theirs={},
        alone=frozenset(),
        accounts=tuple,
        holders=Holders(hybrid, None, ""),
        known={},
        now=0.0,
    )
    found = count(Shape(cpus=3), room_left(situation, {}), GpuRoom(), labels=WHOLE)
    scene.accounts = ()
    new = [asks(number, 3) for number in range(5)]
    assert found.total == 3
    assert len(scene.take(*new, labels=WHOLE).kept) == 3


@pytest.fixture
def idle() -> Scene:
    return Scene()


def test_what_the_next_pod_lacks_is_told(idle: Scene) -> None:
    idle.accounts = accounts({0: 8, 1: 2})
    four = counted(idle, [], Shape(cpus=2, gpus=1, memory=2 * GIB), [0, 1, 2, 3])
    assert [(node.slots, node.short) for node in four.nodes] == [(2, "gpus"), (1, "memory")]
    assert [node.short for node in counted(idle, [], Shape(cpus=7), []).nodes] == ["cpus", "cpus"]
    several = asks(0, 2, "BestEffort")
    idle.take(several)
    found = counted(idle, [several], Shape(cpus=1), [])
    assert [(node.slots, node.short) for node in found.nodes if node.short == "in-use"] == [
        (0, "in-use")
    ]


def test_nothing_is_lost_where_nothing_is_free_and_all_where_no_node_has_enough(
    idle: Scene,
) -> None:
    # 6 CPUs are free on node 0 and 8 on node 1.
    assert counted(idle, [], Shape(cpus=2), []).fragmentation == 0
    assert counted(idle, [], Shape(cpus=7), []).fragmentation == pytest.approx(1 / 2)
    assert counted(idle, [], Shape(cpus=3), []).fragmentation == 0
    one = [asks(number, 3) for number in range(3)]
    idle.take(*one)
    halves = counted(idle, one, Shape(cpus=6), [])
    assert (halves.total, halves.together, halves.fragmentation) == (0, 0, 0.0)
    assert counted(idle, [], Shape(cpus=1, gpus=2), [0, 2]).fragmentation == 1
    assert counted(idle, [], Shape(cpus=1, gpus=2), []).fragmentation == 0


def test_what_is_on_nodes_in_use_isn_t_lost_to_fragments(idle: Scene) -> None:
    several = [asks(number, 2, "BestEffort") for number in range(2)]
    idle.take(*several)
    found = counted(idle, several, Shape(cpus=5), [])
    nodes = {node.node_id: node.short for node in found.nodes if node.short == "in-use"}
    assert nodes
    free = next(node.slots for node in found.nodes if node.node_id not in nodes)
    assert (found.total, found.together, found.fragmentation) == (free, free, 0.0)


def test_a_shape_that_no_node_could_ever_hold_has_no_fragmentation(idle: Scene) -> None:
    for shape in (Shape(cpus=9), Shape(cpus=1, gpus=3)):
        found = counted(idle, [], shape, [0, 1, 2, 3])
        assert (found.ever, found.fragmentation, found.total) == (False, None, 0)
    busy = [asks(0, 6), asks(1, 8)]
    idle.take(*busy)
    held = counted(idle, busy, Shape(cpus=8), [])
    assert (held.ever, held.total, held.fragmentation) == (True, 0, 0.0)


def test_memory_counts_only_where_it_is_told(idle: Scene) -> None:
    shape = Shape(cpus=2, memory=100 * GIB)
    assert counted(idle, [], shape, []).total == 7
    idle.accounts = accounts({0: 8, 1: 8})
    found = counted(idle, [], shape, [])
    assert (found.total, found.ever) == (0, False)
