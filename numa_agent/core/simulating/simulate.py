"""What would become of pods on a machine, one after the other: decided, and nothing done."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from numa_agent.core.accounting import Sources
from numa_agent.core.accounting.units import placed_units
from numa_agent.core.assigner import Mode
from numa_agent.core.assigner.beside import beside
from numa_agent.core.assigner.holdings import room_left
from numa_agent.core.assigner.values import Policy
from numa_agent.core.cpulist import render
from numa_agent.core.pods import Pod
from numa_agent.core.simulating.arriving import Arriving
from numa_agent.core.simulating.comparing import (
    ASSIGNER,
    Contest,
    Entrant,
    as_placed,
    compared,
    with_policy,
)
from numa_agent.core.simulating.values import Compared, Fate, Placed, Simulation, Start
from numa_agent.core.slots import (
    GpuRoom,
    Shape,
    ShapeSlots,
    SlotsNow,
    count,
    gpu_room,
    shapes_of,
    slots_now,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Pods that have come, in their order, and the GPUs that are free after them."""

    arriving: Arriving
    placed: tuple[Placed, ...]
    gpus: GpuRoom


def simulate(
    start: Start, pods: Sequence[Pod], named: Sequence[Shape] = (), *, compare: bool = False
) -> Simulation:
    """Let these pods arrive in order; one that the node has no room for waits, the next go on.

    The slots are of the `named` shapes, else of those that the pods here and these have.
    """
    before = _slots(start, pods, named)
    run = _run(start, pods)
    after = run.arriving.situation
    room = room_left(after, run.arriving.kept)
    left = tuple(count(each.shape, room, run.gpus, labels=after.labels) for each in before.shapes)
    return Simulation(
        pods=run.placed,
        before=before,
        after=left,
        gpus_after=run.gpus,
        compared=tuple(_compared(start, pods, run, before)) if compare else (),
        notes=tuple(_notes(start, left)),
    )


def _run(start: Start, pods: Sequence[Pod]) -> _Run:
    arriving = Arriving(start)
    for pod in pods:
        arriving.arrive(pod)
    arriving.settle()
    placed = tuple(map(arriving.told, pods))
    return _Run(arriving=arriving, placed=placed, gpus=_gpus_after(start, placed))


def _slots(start: Start, pods: Sequence[Pod], named: Sequence[Shape]) -> SlotsNow:
    situation = start.situation
    offer = None if start.granted is None else start.granted.offer
    if not named and situation.inputs.reserved is not None:
        gpus = gpu_room(start.gpus, situation.accounts())
        inputs = replace(situation.inputs, pods=[*situation.inputs.pods, *pods])
        named = shapes_of((), inputs, room_left(situation, start.kept), gpus).shapes
    return slots_now(situation, start.kept, offer, named)


def _gpus_after(start: Start, placed: Sequence[Placed]) -> GpuRoom:
    """The GPUs that are free once these pods have theirs."""
    before = gpu_room(start.gpus, start.situation.accounts())
    sources = Sources(
        topology=start.situation.inputs.topology, node=start.node, granted=start.granted
    )
    # As they were counted: a GPU on a node without CPUs is the nearest one's.
    places = placed_units(sources, []).get(start.gpus or "", {})
    taken = Counter(places.get(unit) for each in placed for unit in each.devices)
    free = {node: max(0, number - taken[node]) for node, number in before.free.items()}
    return replace(before, free=free)


def _compared(
    start: Start, pods: Sequence[Pod], run: _Run, before: SlotsNow
) -> Iterator[Compared]:
    """The same pods by other ways to choose CPUs; then had all that ask asked by one policy."""
    shapes = tuple(each.shape for each in before.shapes)
    yield from compared(_contest(start, run, shapes))
    for policy in Policy:
        other = [_by(policy, pod, run.arriving) for pod in pods]
        yield as_placed(f"{ASSIGNER}, all {policy}", _contest(start, _run(start, other), shapes))


def _by(policy: Policy, pod: Pod, arriving: Arriving) -> Pod:
    asked = arriving.asked(pod)
    return pod if asked is None or not asked.source else with_policy(pod, asked.wish, policy)


def _contest(start: Start, run: _Run, shapes: tuple[Shape, ...]) -> Contest:
    arriving = run.arriving
    wanted = [(each, arriving.asked(each.pod)) for each in run.placed]
    return Contest(
        topology=start.situation.inputs.topology,
        room=room_left(start.situation, start.kept),
        gpus=run.gpus,
        shapes=shapes,
        labels=start.situation.labels,
        pods=tuple(
            Entrant(
                placed=each,
                cpus=asked.wish.cpus,
                there=beside(each.pod, arriving.situation.holders),
                fewest=arriving.fewest(each.pod, asked.wish.cpus),
            )
            for each, asked in wanted
            if each.fate is not Fate.WAITING and asked is not None and asked.wish.cpus
        ),
    )


def _notes(start: Start, left: Sequence[ShapeSlots]) -> Iterator[str]:
    if start.mode is Mode.OFF:
        yield "the assigner is off in the settings: this is what it would do"
    if start.situation.inputs.kubelet_static:
        yield (
            "kubelet's static CPU manager gives out CPUs here, which isn't simulated: pods are"
            " shown with the NUMA nodes that they would share"
        )
    used = {node.node_id for each in left for node in each.nodes if node.short == "in-use"}
    if used:
        yield (
            f"pods that may span nodes are on node{'s' if len(used) > 1 else ''} {render(used)}:"
            " no slot counts there for pods with singleNUMANodeExclusive Required, the default"
        )
