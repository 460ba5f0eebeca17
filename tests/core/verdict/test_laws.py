"""What holds for every verdict, whatever was measured."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.topology import Topology
from numa_agent.core.verdict import (
    AS_DECIDED,
    CODES,
    Alignment,
    Aspect,
    Facts,
    HeldDevice,
    judge,
)
from tests.machine_tree import machine, numa_node
from tests.serve.reports import gpu
from tests.verdicts import device, facts, memory

NODES = 5
WITH_CPUS = 3
GPU_MEMORY = 4
CPUS = range(6)
MACHINE = machine(
    numa_node(0, "0-1"),
    numa_node(1, "2-3"),
    numa_node(2, "4-5"),
    numa_node(3, "", near=(0,)),
    numa_node(GPU_MEMORY, "", near=(1,)),
    online="0-5",
)
WITH_DEVICES = replace(MACHINE, gpus=(replace(gpu("0000:01:00.0"), memory_node=GPU_MEMORY),))

sets = st.frozensets(st.sampled_from(CPUS))
node_ids = st.frozensets(st.integers(0, NODES - 1))
amounts = st.dictionaries(st.integers(0, NODES - 1), st.sampled_from([0, 1, 15, 64, 4096]))
places = st.frozensets(st.integers(0, WITH_CPUS - 1), max_size=2)
devices = st.lists(st.tuples(places, st.sampled_from([None, GPU_MEMORY])), max_size=3).map(
    lambda held: tuple(
        device(f"g{n}", *sorted(place), memory_node=memory_node)
        for n, (place, memory_node) in enumerate(held)
    )
)


@st.composite
def measured(draw: st.DrawFn) -> Facts:
    """Anything that may be measured of a container whose tasks weren't looked at."""
    return facts(
        draw(st.none() | sets.filter(bool)),
        draw(st.none() | sets),
        memory=draw(st.none() | st.builds(memory, amounts, amounts)),
        devices=draw(devices),
        devices_unseen=draw(st.none() | st.just("kubelet didn't answer")),
        hugepages_unseen=draw(st.booleans()),
        devices_asked=draw(st.booleans()),
        decided_mems=draw(node_ids),
        effective_mems=draw(st.none() | node_ids),
    )


def _less(known: Facts) -> list[Facts]:
    """The same with one thing less known."""
    blinder = [replace(known, effective=None), replace(known, memory=None)]
    blinder += [replace(known, devices_unseen="kubelet didn't answer")]
    blinder += [replace(known, hugepages_unseen=True)]
    for number, each in enumerate(known.devices):
        others = (*known.devices[:number], replace(each, nodes=()), *known.devices[number + 1 :])
        blinder.append(replace(known, devices=others))
        without = (*known.devices[:number], *known.devices[number + 1 :])
        blinder.append(replace(known, devices=without, devices_unseen="some weren't told"))
        unsure = replace(each, memory_node=None, memory_may_be=(GPU_MEMORY,))
        others = (*known.devices[:number], unsure, *known.devices[number + 1 :])
        blinder.append(replace(known, devices=others))
    return blinder


def _without_places(topology: Topology) -> list[Topology]:
    """The same machine, of which one node's CPUs or distances aren't known, or a node at all."""
    nodes = topology.nodes
    blinder = [
        (*nodes[:n], other, *nodes[n + 1 :])
        for n, node in enumerate(nodes)
        for other in (
            replace(node, cpus=None, kind=None),
            replace(node, nearest_cpu_nodes=() if not node.cpus else node.nearest_cpu_nodes),
        )
    ]
    blinder += [(*nodes[:n], *nodes[n + 1 :]) for n in range(len(nodes))]
    return [replace(topology, nodes=each) for each in blinder]


@given(measured())
def test_less_knowledge_never_makes_anything_aligned(known: Facts) -> None:
    if judge(known, WITH_DEVICES).alignment is Alignment.ALIGNED:
        return
    for blinder in _less(known):
        assert judge(blinder, WITH_DEVICES).alignment is not Alignment.ALIGNED
    for machine_seen in _without_places(WITH_DEVICES):
        assert judge(known, machine_seen).alignment is not Alignment.ALIGNED


@given(measured(), st.permutations(range(NODES)), st.permutations(CPUS))
def test_the_numbers_of_nodes_and_cpus_do_not_matter(
    known: Facts, nodes: list[int], cpus: list[int]
) -> None:
    there = replace(
        WITH_DEVICES,
        nodes=tuple(
            sorted(
                (
                    replace(
                        node,
                        id=nodes[node.id],
                        cpus=frozenset(cpus[cpu] for cpu in node.cpus or ()),
                        nearest_cpu_nodes=tuple(sorted(nodes[n] for n in node.nearest_cpu_nodes)),
                    )
                    for node in MACHINE.nodes
                ),
                key=lambda node: node.id,
            )
        ),
        gpus=tuple(replace(each, memory_node=nodes[GPU_MEMORY]) for each in WITH_DEVICES.gpus),
    )
    assert _codes(_renamed(known, nodes, cpus), there) == _codes(known, WITH_DEVICES)


def _renamed(known: Facts, nodes: list[int], cpus: list[int]) -> Facts:
    def ids(of: frozenset[int] | None, names: list[int]) -> frozenset[int] | None:
        return None if of is None else frozenset(names[each] for each in of)

    def moved(each: HeldDevice) -> HeldDevice:
        places = tuple(sorted(nodes[node] for node in each.nodes))
        memory_node = None if each.memory_node is None else nodes[each.memory_node]
        return replace(each, nodes=places, memory_node=memory_node)

    used = known.memory
    return replace(
        known,
        decided=ids(known.decided, cpus),
        effective=ids(known.effective, cpus),
        decided_mems=ids(known.decided_mems, nodes) or frozenset(),
        effective_mems=ids(known.effective_mems, nodes),
        memory=None
        if used is None
        else replace(
            used,
            own={nodes[node]: size for node, size in used.own.items()},
            cache={nodes[node]: size for node, size in used.cache.items()},
        ),
        devices=tuple(moved(each) for each in known.devices),
    )


def _codes(known: Facts, topology: Topology) -> tuple[Alignment, list[tuple[str, str | None]]]:
    found = judge(known, topology)
    return found.alignment, [
        (each.code, None if each.cause is None else each.cause.code) for each in found.reasons
    ]


BAD = {Alignment.SPLIT, Alignment.REMOTE}


@given(measured())
def test_a_verdict_has_a_reason_and_kept_means_nothing_bad(known: Facts) -> None:
    found = judge(known, WITH_DEVICES)
    assert any(each.leads_to is found.alignment for each in found.reasons)
    assert {each.code for each in found.reasons} <= CODES.keys()
    if found.kept:
        bad = {each for each in found.reasons if each.leads_to in BAD}
        assert all(each.cause and each.cause.code == AS_DECIDED for each in bad)
        assert {each.about for each in bad} <= {Aspect.MEMORY}
        assert found.effective == found.decided
