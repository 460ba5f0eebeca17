"""Everything about one node that a scheduler may be told, read in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.conditions import Condition
from numa_agent.core.cpuinfo import CpuInfo
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.topology import NumaNode, Topology

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a scheduler's language speaks of.

    `settings_known` says whether `settings` are kubelet's and not its defaults. `reserved` are the
    CPUs that kubelet keeps for the system, `assigned` the CPU sets in force by pod uid,
    `kubelet_exclusive` those of kubelet's static policy by the uid that kubelet knows a pod by.
    `topology_policy` and `topology_scope` are what this agent keeps itself in place of kubelet's
    Topology Manager, None where kubelet's own stand. `memory_zones` asks for zones of memory-only
    nodes as well. `fingerprint_method` is `all` or `with-exclusive-resources`. `fingerprint_pods`
    is the scheduler plugin's `informerMode`: `Dedicated` (its default) counts every pod that isn't
    Pending, finished ones too, `Shared` only those that are Running. `distances` are measured ones
    from each node with CPUs or memory, None where the firmware's are told.
    """

    node: Node
    topology: Topology
    accounts: Sequence[NodeAccount]
    settings: KubeletSettings
    pods: Sequence[Pod]
    reserved: CpuSet = frozenset()
    assigned: Mapping[str, CpuSet] = field(default_factory=dict)
    kubelet_exclusive: Mapping[str, CpuSet] = field(default_factory=dict)
    cpu_info: CpuInfo | None = None
    topology_policy: str | None = None
    topology_scope: str | None = None
    memory_zones: bool = False
    fingerprint_method: str = "all"
    fingerprint_pods: str = "Dedicated"
    settings_known: bool = True
    conditions: tuple[Condition, ...] = ()
    distances: Mapping[int, Mapping[int, int]] | None = None

    def distances_of(self, node: NumaNode) -> Mapping[int, int] | None:
        """A node's distances to others by their ids: measured ones, else the firmware's."""
        return node.distances if self.distances is None else self.distances.get(node.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """The objects to apply, in a fixed order, and what could not be told in them."""

    manifests: tuple[Json, ...]
    conditions: tuple[Condition, ...] = ()
