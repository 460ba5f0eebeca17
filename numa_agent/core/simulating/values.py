"""What a simulation starts from, and what it ends in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.assigner import Kept, Mode, Situation
from numa_agent.core.assigner.values import NodeIds
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Options
from numa_agent.core.grants import PodResources
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.slots import GpuRoom, ShapeSlots, SlotsNow


class Fate(StrEnum):
    """What becomes of a pod."""

    PLACED = "placed"
    """It gets what it asks for: CPUs of its own, or its nodes to share."""
    UNPLACED = "unplaced"
    """It asks, and runs on the CPUs that all share."""
    SHARES = "shares"
    """It asks for nothing, and runs on the CPUs that all share."""
    WAITING = "waiting"
    """The node hasn't got what it requests: no scheduler sends it here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A machine as it is: what the assigner would start from and has decided, and the Node.

    `granted` is kubelet's answer, `gpus` the resource that GPUs are handed out as. `said` are, by
    uid, the decisions that the pods to come bring along in their annotations. `mode` is the
    assigner's, `options` those by which pods are bound.
    """

    situation: Situation
    kept: Mapping[str, Kept]
    node: Node
    granted: PodResources | None
    gpus: str | None = None
    said: Mapping[str, Assignment | AssignmentError] = field(default_factory=dict)
    mode: Mode = Mode.FALLBACK
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """What became of one pod: its units of devices, their NUMA nodes, its CPUs and nodes.

    `code` and `why` say why it has nothing of its own. `beside` says whether all that it has is on
    its devices' nodes, and on one node where it has none; None where it asks for nothing.
    """

    pod: Pod
    fate: Fate
    devices: tuple[str, ...] = ()
    device_nodes: NodeIds = frozenset()
    cpus: CpuSet = frozenset()
    nodes: NodeIds = frozenset()
    code: str = ""
    why: str = ""
    beside: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """How one way to choose CPUs did: pods with CPUs of their own, of these those fully aligned,
    the slots left by shape."""

    name: str
    placed: int
    aligned: int
    slots: tuple[ShapeSlots, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The pods in their order, the slots before and after, and what there is to say."""

    pods: tuple[Placed, ...]
    before: SlotsNow
    after: tuple[ShapeSlots, ...]
    gpus_after: GpuRoom
    compared: tuple[Compared, ...] = ()
    notes: tuple[str, ...] = ()
