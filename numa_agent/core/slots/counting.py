"""Counting slots: pods of one shape that the assigner would still place, each on one NUMA node.

What a pod may have of a node is the assigner's own word: neither reserved nor isolated CPUs, whole
cores where the Node's label asks for them, no node that pods of several nodes are on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from numa_agent.core.assigner.asking import asking
from numa_agent.core.assigner.choosing import choose
from numa_agent.core.assigner.cpus import eligible
from numa_agent.core.assigner.values import (
    NodeRoom,
    NoRoomError,
    Policy,
    Room,
    Threads,
    Use,
    Wish,
)
from numa_agent.core.pod_keys import SCHEDULER
from numa_agent.core.pods import Pod, QosClass
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.shape import Shape
from numa_agent.core.slots.gpus import GpuRoom
from numa_agent.core.slots.values import NodeSlots, ShapeSlots

_MEMORY = "memory"


def count(
    shape: Shape,
    room: Room,
    gpus: GpuRoom,
    *,
    labels: Mapping[str, str] | None = None,
    exclusive: bool = True,
) -> ShapeSlots:
    """The slots of a shape. `labels` are the Node's; with `exclusive` pods keep off nodes with
    pods that may span nodes, as singleNUMANodeExclusive: Required does."""
    wish = wish_of(shape, labels or {}, exclusive=exclusive)
    told = {kind for node in room.nodes for kind in node.memory}
    counts_memory = shape.memory > 0 and _MEMORY in told
    found: list[NodeSlots] = []
    free = [0, 0, 0]
    for node in room.nodes:
        has = _Has(
            cpus=_times(wish, room, node),
            gpus=gpus.free.get(node.id, 0) // shape.gpus if shape.gpus else None,
            memory=node.memory.get(_MEMORY, 0) // shape.memory if counts_memory else None,
        )
        closed = exclusive and node.use is Use.SHARED
        if not closed:
            free[0] += len(eligible(wish, room, node, node.free))
            free[1] += gpus.free.get(node.id, 0)
            free[2] += node.memory.get(_MEMORY, 0)
        found.append(
            NodeSlots(
                node_id=node.id,
                slots=0 if closed else has.least,
                short="in-use" if closed else has.short,
                ever=_ever(shape, wish, room, node, gpus, memory=counts_memory),
            )
        )
    together = _Has(
        cpus=free[0] // shape.cpus if shape.cpus else None,
        gpus=free[1] // shape.gpus if shape.gpus else None,
        memory=free[2] // shape.memory if counts_memory else None,
    )
    return ShapeSlots(
        shape=shape,
        nodes=tuple(found),
        # Whole cores of odd sizes: one that was placed on a node would be placed on all of them.
        together=max(together.least, sum(each.slots for each in found)),
    )


def wish_of(shape: Shape, labels: Mapping[str, str], *, exclusive: bool = True) -> Wish:
    """What the assigner reads from a pod of this shape that must be within one node."""
    amounts = {"cpu": shape.cpus * 1000} if shape.cpus else {}
    demand = Demand(container="main", role=Role.APP, requests=amounts, limits=amounts)
    pod = Pod(
        namespace="default",
        name="slot",
        uid="00000000-0000-4000-8000-000000000000",
        phase="Pending",
        started="",
        qos=QosClass.BURSTABLE,
        annotations={SCHEDULER: "required"},
        containers=(),
        demands=Demands(containers=(demand,)),
    )
    asked = asking(pod, labels=labels)
    wish = Wish(policy=Policy.SINGLE) if asked is None else asked.wish
    return replace(wish, policy=Policy.SINGLE, exclusive=exclusive)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Has:
    """How many pods each resource is enough for, None where they take none of it."""

    cpus: int | None
    gpus: int | None
    memory: int | None

    @property
    def _each(self) -> dict[str, int]:
        each = {"cpus": self.cpus, "gpus": self.gpus, "memory": self.memory}
        return {name: number for name, number in each.items() if number is not None}

    @property
    def least(self) -> int:
        return min(self._each.values())

    @property
    def short(self) -> str:
        return min(self._each, key=lambda name: self._each[name])


def _times(wish: Wish, room: Room, node: NodeRoom) -> int | None:
    """How many pods a node's free CPUs are enough for."""
    if not wish.cpus:
        return None
    cpus = eligible(wish, room, node, node.free)
    if wish.threads is not Threads.ONLY_WHOLE_CORES:
        return len(cpus) // wish.cpus
    sizes = {len(core) for core in room.cores if core & cpus}
    if len(sizes) == 1 and cpus <= frozenset().union(*room.cores):
        return 0 if wish.cpus % sizes.pop() else len(cpus) // wish.cpus
    # Not each number is a number of whole cores, so that the assigner itself takes them.
    number = 0
    while len(cpus) >= wish.cpus:
        alone = replace(room, nodes=(replace(node, free=cpus, memory={}, memory_ever={}),))
        try:
            cpus -= choose(replace(wish, exclusive=False), alone).cpus
        except NoRoomError:
            break
        number += 1
    return number


def _ever(
    shape: Shape, wish: Wish, room: Room, node: NodeRoom, gpus: GpuRoom, *, memory: bool
) -> bool:
    idle = replace(node, free=node.usable)
    if wish.cpus and not _fits_once(wish, room, idle):
        return False
    if gpus.ever.get(node.id, 0) < shape.gpus:
        return False
    return not memory or node.memory_ever.get(_MEMORY, 0) >= shape.memory


def _fits_once(wish: Wish, room: Room, idle: NodeRoom) -> bool:
    if wish.threads is not Threads.ONLY_WHOLE_CORES:
        return len(eligible(wish, room, idle, idle.free)) >= wish.cpus
    alone = replace(room, nodes=(replace(idle, memory={}, memory_ever={}),))
    try:
        choose(replace(wish, exclusive=False), alone)
    except NoRoomError:
        return False
    return True
