"""Slots: how many more pods of a shape find room."""

from dataclasses import dataclass

from numa_agent.core.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSlots:
    """So many more pods fit on a NUMA node.

    `short` is what the next one would lack: `cpus`, `gpus`, `memory`, or `in-use` where pods that
    may span nodes are on it. `ever` says whether one would fit were nothing on it.
    """

    node_id: int
    slots: int
    short: str
    ever: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSlots:
    """The slots of one shape by node, ascending.

    `together` is how many pods would fit were all that is free on one node: what is held, reserved
    or isolated isn't free, nor is what is on a node that the pods keep off.
    """

    shape: Shape
    nodes: tuple[NodeSlots, ...]
    together: int

    @property
    def total(self) -> int:
        """The slots of the whole machine."""
        return sum(node.slots for node in self.nodes)

    @property
    def ever(self) -> bool:
        """Whether any node could hold one were nothing on it."""
        return any(node.ever for node in self.nodes)

    @property
    def fragmentation(self) -> float | None:
        """The share of pods that don't fit only because what is free is on several nodes.

        0 where nothing is lost, where nothing is free as well; 1 where there is enough for some
        and no node holds one. None for a shape that no node could ever hold.
        """
        if not self.ever:
            return None
        return 1 - self.total / self.together if self.together else 0.0
