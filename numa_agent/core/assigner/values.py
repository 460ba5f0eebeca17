"""What a pod asks of the assigner, and the machine as the assigner sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import CpuKind

NodeIds = frozenset[int]
"""NUMA nodes by their kernel ids."""


class Policy(StrEnum):
    """How strictly a pod is kept within NUMA nodes: ACK's and Koordinator's words.

    https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/enable-numa-topology-aware-scheduling
    """

    SINGLE = "SingleNUMANode"
    """One node holds all of it, or it isn't placed."""
    RESTRICTED = "Restricted"
    """The fewest nodes that could ever hold all of it, or it isn't placed."""
    BEST_EFFORT = "BestEffort"
    """The fewest nodes that hold it now, the nearest to each other."""


class Use(StrEnum):
    """Which pods are on a NUMA node, by ACK's words for it.

    Pods that share the machine's CPUs without being bound to nodes are everywhere and don't count.
    """

    IDLE = "idle"
    """None."""
    SINGLE = "single"
    """Only pods that must be within one node."""
    SHARED = "shared"
    """Pods that may span nodes; one is enough."""


class Threads(StrEnum):
    """Which threads of cores a pod's own CPUs are: Koordinator's CPU bind policies.

    https://koordinator.sh/docs/user-manuals/fine-grained-cpu-orchestration
    """

    WHOLE_CORES = "prefer-whole-cores"
    """Whole cores first, and single threads for what is left of an odd number."""
    ONLY_WHOLE_CORES = "only-whole-cores"
    """FullPCPUs where it is required: nothing but whole cores."""
    SPREAD = "spread"
    """SpreadByPCPUs: one thread of each core first."""


class Apart(StrEnum):
    """From whom a pod wants to be apart: Koordinator's exclusive policies."""

    NOBODY = "nobody"
    CORES = "cores"
    """PCPULevel: no core with a pod that wants the same."""
    NODES = "nodes"
    """NUMANodeLevel: no NUMA node with a pod that wants the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the assigner is to find for one pod.

    `cpus` is how many CPUs of its own it gets, `shared_millis` the CPU time (thousandths) that its
    containers without CPUs of their own ask for: room is left for them on the same nodes. `memory`
    are bytes by kind (`memory`, `hugepages-2Mi`). `places` are, for each device that it was given,
    the nodes that the device may be on, none of them empty. `exclusive` is ACK's
    singleNUMANodeExclusive: pods of one node and pods of several aren't to meet on a node.
    `kind` is the kind of CPUs that it asked for by name, None for the fastest first.
    """

    policy: Policy
    exclusive: bool = True
    cpus: int = 0
    shared_millis: int = 0
    memory: Mapping[str, int] = field(default_factory=dict)
    places: tuple[NodeIds, ...] = ()
    threads: Threads = Threads.WHOLE_CORES
    apart: Apart = Apart.NOBODY
    kind: str | None = None

    @property
    def room(self) -> int:
        """The CPUs that its nodes must have for it: its own, and those for what it shares."""
        return self.cpus + -(-self.shared_millis // 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoom:
    """One NUMA node with CPUs, and what of it can be had.

    `free` are the CPUs that can be given out now, `usable` those that ever could: online, neither
    reserved nor isolated. `memory` are the bytes of each kind that can be had now, `memory_ever`
    those that a pod could ever have. `distances` are the kernel's to other nodes by id (10 is
    local), None where unknown. `apart` says for which wishes to be apart the node has a pod that
    wishes the same.
    """

    id: int
    free: CpuSet
    usable: CpuSet
    memory: Mapping[str, int] = field(default_factory=dict)
    memory_ever: Mapping[str, int] = field(default_factory=dict)
    distances: Mapping[int, int] | None = None
    use: Use = Use.IDLE
    apart: bool = False
    """Whether a pod is here that is to be apart from others like it by nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The machine as the assigner sees it: the nodes with CPUs, ascending, and how CPUs group.

    `cores` are sibling sets and `caches` the CPUs behind each last-level cache, both ascending by
    their lowest CPU; empty where no file tells them, a CPU is then a core of its own. `kinds` are
    the kinds of CPUs, the fastest first, empty where all are alike. `apart` are the CPUs that pods
    hold which are to be apart from others like them by cores. `shapes` are what other pods are
    likely to ask for, as CPUs on one node: of equal choices the one is taken that leaves room for
    most of them; none stands for the wish's own size.
    """

    nodes: tuple[NodeRoom, ...]
    cores: tuple[CpuSet, ...] = ()
    caches: tuple[CpuSet, ...] = ()
    kinds: tuple[CpuKind, ...] = ()
    apart: CpuSet = frozenset()
    shapes: tuple[int, ...] = ()

    def node(self, node_id: int) -> NodeRoom | None:
        """The node with this id, None where it has no CPUs or isn't there."""
        return next((node for node in self.nodes if node.id == node_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the assigner found: the nodes, and the CPUs of the pod's own in them."""

    nodes: NodeIds
    cpus: CpuSet


class NoRoomError(Exception):
    """A wish that can't be granted; the message says which node lacks what, and what would fit.

    `code` is stable: `no-room` (it could be held, and isn't free now), `never-fits` (this machine
    could never hold it so), `devices-apart` (its devices are on several nodes and it asks for
    one), `nodes-in-use` (only nodes that pods of the other kind are on), `devices-unplaced` (where
    a device is isn't known).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
