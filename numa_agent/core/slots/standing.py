"""The slots of a machine as a pass finds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.assigner import Kept, Situation
from numa_agent.core.assigner.holdings import room_left
from numa_agent.core.grants import Offer
from numa_agent.core.shape import Shape
from numa_agent.core.slots.counting import count
from numa_agent.core.slots.gpus import GpuRoom, gpu_resource, gpu_room
from numa_agent.core.slots.shapes import Origin, shapes_of
from numa_agent.core.slots.values import ShapeSlots


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsNow:
    """The slots of each shape, where the shapes are from, and what isn't known, in sentences.

    `gpus` is the resource that GPUs are counted as.
    """

    shapes: tuple[ShapeSlots, ...] = ()
    origin: Origin = Origin.NAMED
    gpus: str | None = None
    notes: tuple[str, ...] = ()


NO_SLOTS = SlotsNow()
"""Where nobody has counted."""


def slots_now(
    situation: Situation,
    kept: Mapping[str, Kept],
    offer: Offer | None,
    named: Sequence[Shape] = (),
    *,
    exclusive: bool = True,
) -> SlotsNow:
    """What still fits besides what pods hold by `kept` and everybody else's word.

    `offer` is what kubelet may give out. Nothing is counted while nobody says which CPUs are
    reserved, since nothing is placed either.
    """
    inputs = situation.inputs
    if inputs.reserved is None:
        why = "neither the Node nor kubelet's settings say so far which CPUs are reserved"
        return SlotsNow(notes=(f"nothing is counted: {why}",))
    room = room_left(situation, kept)
    resource = gpu_resource(inputs.topology, offer)
    gpus = gpu_room(resource, situation.accounts())
    shapes = shapes_of(named, inputs, room, gpus)
    return SlotsNow(
        shapes=tuple(
            count(shape, room, gpus, labels=situation.labels, exclusive=exclusive)
            for shape in shapes.shapes
        ),
        origin=shapes.origin,
        gpus=gpus.resource,
        notes=_notes(situation, shapes.shapes, resource, gpus),
    )


def _notes(
    situation: Situation, shapes: Sequence[Shape], resource: str | None, gpus: GpuRoom
) -> tuple[str, ...]:
    notes = []
    if any(shape.gpus for shape in shapes) and gpus.resource is None:
        notes.append(
            "kubelet is offered no GPUs"
            if resource is None
            else f"the NUMA nodes of all {resource} aren't known: no GPU counts as free"
        )
    if any(shape.memory for shape in shapes) and not situation.accounts():
        notes.append("what is free of memory isn't known: it isn't counted")
    if situation.inputs.kubelet_static:
        notes.append("CPUs of pods' own are kubelet's static CPU manager's to give out here")
    return tuple(notes)
