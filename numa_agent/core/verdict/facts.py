"""What was measured of one container and of the machine around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.memory_use import MemoryUse

Node = int
"""A NUMA node by the kernel's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDevice:
    """A device that a container holds alone.

    `nodes` are the NUMA nodes that it may be in, none where nobody knows, and `node_source` is who
    told them. `memory_node` is the node that its own memory is, on machines where that is one;
    `memory_may_be` are those of which one may be it where nobody tells which.
    `seen_by` is how it is known that the container holds it, `resource` as a unit of which, ""
    where that isn't known.
    """

    id: str
    kind: str
    nodes: tuple[Node, ...]
    node_source: str
    seen_by: str
    memory_node: Node | None = None
    memory_may_be: tuple[Node, ...] = ()
    resource: str = ""

    @property
    def node(self) -> Node | None:
        """Its node, None where several may be it or nobody knows."""
        return self.nodes[0] if len(self.nodes) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was seen of a container.

    `decided` are the CPUs that it shall have, None where nobody decided any; `decided_mems` the
    memory nodes, empty where nobody did. `effective` are the CPUs in force by its cgroup, None
    where they weren't seen, for the reason `unseen`; `effective_mems` the memory nodes. `used` are
    those on which its tasks may run by masks of their own, None where not every task was seen;
    `strayed` are those of them outside of `effective`. `masked` are the tasks that keep to less
    than `effective`: how many of how many, and the CPUs that they have together.

    `memory` is None where it wasn't seen, for the reason `memory_unseen`; `hugepages_unseen` says
    that it may have hugepages which aren't among it. `devices` are those that it holds as far as
    is known; `devices_unseen` says why there may be more, None where there are not,
    `devices_asked` that its spec asks for some, and `devices_unlisted` that kubelet answers and
    doesn't tell of all of those. `tasks_unseen` counts hidden tasks, and `cpu_quota` is None where
    none is set.

    The rest are what causes are told from. `limit` is the cgroup above it that has less than was
    decided, and `written` who changed its own set, in words. `topology_policy` is kubelet's.
    `refused` is the code of why what was decided isn't followed, "" where it is or nobody did.
    `free_memory` is in bytes by node, and `spilled` what each node could not give to those that
    wanted it there, since the boot.
    """

    decided: CpuSet | None
    effective: CpuSet | None
    memory: MemoryUse | None
    devices: tuple[HeldDevice, ...]
    devices_unseen: str | None
    decided_mems: frozenset[Node] = frozenset()
    effective_mems: frozenset[Node] | None = None
    used: CpuSet | None = None
    strayed: CpuSet = frozenset()
    masked: tuple[int, int, CpuSet] | None = None
    unseen: str = "its cgroup wasn't found"
    memory_unseen: str = "memory.numa_stat wasn't read"
    hugepages_unseen: bool = False
    devices_asked: bool = False
    devices_unlisted: bool = False
    tasks_unseen: int = 0
    cpu_quota: float | None = None
    limit: str | None = None
    written: str | None = None
    free_memory: Mapping[Node, int | None] = field(default_factory=dict)
    spilled: Mapping[Node, int] = field(default_factory=dict)
    topology_policy: str | None = None
    refused: str = ""
