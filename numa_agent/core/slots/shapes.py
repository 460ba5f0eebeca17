"""Which shapes are looked at: those that the admin names, else those seen, else fractions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core.assigner.asking import asking
from numa_agent.core.assigner.values import Room
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpusets import Inputs
from numa_agent.core.pods import Pod
from numa_agent.core.shape import MOST_SHAPES, Shape
from numa_agent.core.slots.gpus import GpuRoom


class Origin(StrEnum):
    """Where the shapes are from."""

    NAMED = "named"
    SEEN = "seen"
    """Of the pods that run here."""
    FRACTIONS = "fractions"
    """Of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The shapes, largest first, but for those that were named: these are in their order."""

    shapes: tuple[Shape, ...]
    origin: Origin


def shapes_of(named: Sequence[Shape], inputs: Inputs, room: Room, gpus: GpuRoom) -> Shapes:
    """At most MOST_SHAPES shapes, each once."""
    if named:
        return Shapes(shapes=tuple(dict.fromkeys(named))[:MOST_SHAPES], origin=Origin.NAMED)
    seen = _seen(inputs, gpus)
    if seen:
        return Shapes(shapes=seen, origin=Origin.SEEN)
    return Shapes(shapes=_fractions(room, gpus), origin=Origin.FRACTIONS)


def _seen(inputs: Inputs, gpus: GpuRoom) -> tuple[Shape, ...]:
    """Those that most pods have; of pods that differ in memory alone, the one with the most."""
    found = [shape for pod in inputs.pods for shape in _of_pod(pod, inputs, gpus)]
    often = Counter((shape.cpus, shape.gpus) for shape in found)
    memory: dict[tuple[int, int], int] = {}
    for shape in found:
        key = shape.cpus, shape.gpus
        memory[key] = max(memory.get(key, 0), shape.memory)
    most = sorted(often, key=lambda key: (-often[key], -key[1], -key[0]))[:MOST_SHAPES]
    return _largest_first(Shape(cpus=c, gpus=g, memory=memory[c, g]) for c, g in most)


def _of_pod(pod: Pod, inputs: Inputs, gpus: GpuRoom) -> Iterable[Shape]:
    """The shape of a pod that asks for whole CPUs or has some; none of another."""
    if pod.finished:
        return
    said = inputs.decisions.get(pod.uid)
    given = len(said.cpus) if isinstance(said, Assignment) else 0
    try:
        asked = asking(pod, everyone=True)
    except AssignmentError:
        asked = None
    cpus = given if asked is None else asked.wish.cpus or given
    needs = pod.demands.effective()
    cards = needs.get(gpus.resource, 0) if gpus.resource is not None else 0
    if cpus or (cards and asked is not None):
        yield Shape(cpus=cpus, gpus=cards, memory=needs.get("memory", 0))


def _fractions(room: Room, gpus: GpuRoom) -> tuple[Shape, ...]:
    """A node's GPUs, half of them and so on to one, each with its part of the node's CPUs; where
    no node has GPUs, a node's CPUs, half and a quarter of them. The smallest node counts."""
    cards = [node for node in room.nodes if gpus.ever.get(node.id, 0)]
    nodes = cards or [node for node in room.nodes if node.usable]
    if not nodes:
        return ()
    least = min(nodes, key=lambda node: (len(node.usable), node.id))
    cpus = len(least.usable)
    threads = max((len(core & least.usable) for core in room.cores), default=1) or 1
    most = gpus.ever.get(least.id, 0)
    parts = _halves(most) if most else [4, 2, 1]
    whole = most or 4
    shapes = [
        Shape(cpus=_of_whole_cores(cpus * part // whole, threads), gpus=part if most else 0)
        for part in parts
    ]
    return _largest_first({shape for shape in shapes if shape.cpus or shape.gpus})


def _halves(number: int) -> list[int]:
    found = []
    while number:
        found.append(number)
        number //= 2
    return found[:MOST_SHAPES]


def _of_whole_cores(cpus: int, threads: int) -> int:
    return cpus // threads * threads or cpus


def _largest_first(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    return tuple(sorted(shapes, key=lambda each: (-each.gpus, -each.cpus, -each.memory)))
