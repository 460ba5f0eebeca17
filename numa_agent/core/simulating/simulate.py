"""What would become of pods on a machine, one after the other: decided, and nothing done."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from numa_agent.core.assigner import Mode, Situation, asking
from numa_agent.core.assigner.beside import beside
from numa_agent.core.assigner.holdings import room_left
from numa_agent.core.assignment import AssignmentError
from numa_agent.core.pods import Pod
from numa_agent.core.simulating.arriving import Arriving
from numa_agent.core.simulating.comparing import Contest, compared
from numa_agent.core.simulating.granting import Grants
from numa_agent.core.simulating.values import Fate, Placed, Simulation, Start
from numa_agent.core.slots import GpuRoom, Shape, SlotsNow, count, gpu_room, shapes_of, slots_now

_LONG_AGO = 1e9
"""Seconds since a pod was first seen: nobody is waited for."""


def simulate(
    start: Start, pods: Sequence[Pod], named: Sequence[Shape] = (), *, compare: bool = False
) -> Simulation:
    """Let these pods arrive in order; one that the node has no room for waits, the next go on.

    The slots are of the `named` shapes, else of those that the pods here and these have.
    """
    before = _slots(start, pods, named)
    arriving = Arriving(start)
    placed = tuple([arriving.arrive(pod) for pod in pods])
    after = arriving.situation
    gpus = _gpus_after(start, placed)
    room = room_left(after, arriving.kept)
    return Simulation(
        pods=placed,
        before=before,
        after=tuple(count(each.shape, room, gpus, labels=after.labels) for each in before.shapes),
        gpus_after=gpus,
        compared=compared(_contest(start, after, placed, gpus, before)) if compare else (),
        notes=_notes(start),
    )


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
    grants = Grants(start.situation.inputs.topology, start.node, start.granted, start.gpus)
    taken = Counter(grants.node_of(unit) for each in placed for unit in each.devices)
    free = {node: max(0, number - taken[node]) for node, number in before.free.items()}
    return replace(before, free=free)


def _contest(
    start: Start, after: Situation, placed: Sequence[Placed], gpus: GpuRoom, before: SlotsNow
) -> Contest:
    room = room_left(start.situation, start.kept)
    return Contest(
        topology=start.situation.inputs.topology,
        room=room,
        gpus=gpus,
        shapes=tuple(each.shape for each in before.shapes),
        labels=after.labels,
        pods=tuple(
            (each, wanted, beside(each.pod, after.holders))
            for each in placed
            if each.fate is not Fate.WAITING and (wanted := _wanted(each.pod, start)) > 0
        ),
    )


def _wanted(pod: Pod, start: Start) -> int:
    """The CPUs of its own that a pod asks for."""
    try:
        asked = asking(pod, everyone=start.mode is Mode.ALWAYS)
    except AssignmentError:
        return 0
    return 0 if asked is None else asked.wish.cpus


def _notes(start: Start) -> tuple[str, ...]:
    notes = []
    if start.mode is Mode.OFF:
        notes.append("the assigner is off in the settings: this is what it would do")
    if start.situation.inputs.kubelet_static:
        notes.append(
            "kubelet's static CPU manager gives out CPUs here, which isn't simulated: pods are"
            " shown with the NUMA nodes that they would share"
        )
    return tuple(notes)
