"""What a machine is made of, and the questions one asks of it.

Every id is the kernel's own (cpuN, nodeN, physical_package_id), never a list position. A fact that
no file gave is None, never -1 and never 0. Sets of CPUs hold online CPUs only, unless said.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.pci import PciAddress


class NodeKind(StrEnum):
    """What a NUMA node is good for."""

    CPU = "cpu"
    """It has online CPUs."""
    MEMORY = "memory"
    """Memory and no CPUs: CXL, HBM, persistent memory or a GPU's own memory."""
    EMPTY = "empty"
    """Neither: a spare node, or one whose CPUs are all offline."""


class NodeSource(StrEnum):
    """Where a device's NUMA node was found."""

    SYSFS = "sysfs"
    """The device's own numa_node file."""
    BRIDGE = "bridge"
    """The numa_node file of the nearest bridge above it that has one."""
    LOCAL_CPULIST = "local-cpulist"
    """Its local CPUs, which lie in one node and aren't all of the machine's."""
    SINGLE_NODE = "single-node"
    """The machine has one node with CPUs."""
    UNKNOWN = "unknown"
    """No source knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuGroup:
    """CPUs that share a package, die or cluster; `id` is the kernel's, unique in its parent."""

    id: int | None
    cpus: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuKind:
    """CPUs of one type: `core`, `atom` or `lowpower` on hybrid x86, `capacity-N` elsewhere.

    `capacity` is cpu_capacity, 1024 for the machine's fastest CPU.
    """

    name: str
    cpus: CpuSet
    capacity: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One last-level cache and the CPUs that share it."""

    level: int
    cpus: CpuSet
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HugePages:
    """The pool of one hugepage size on one node, in pages."""

    size_kib: int
    total: int | None
    free: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One online NUMA node.

    `cpus` are its online CPUs, None where its files disagree or can't be read; `kind` is then None
    too, unless memory decides. `distances` maps each online node's id to the firmware's relative
    distance (10 is local), None where the row is missing or has another length than there are
    online nodes. `nearest_cpu_nodes` are the nodes whose CPUs are nearest, all of them on a tie;
    a node with CPUs is its own.
    """

    id: int
    kind: NodeKind | None
    cpus: CpuSet | None
    memory_bytes: int | None
    hugepages: tuple[HugePages, ...]
    distances: Mapping[int, int] | None
    nearest_cpu_nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function and its NUMA node.

    `class_code` is 0xCCSSPP. `raw_numa_node` is the file's number as it is (-1 says unknown),
    `node` what we make of it, a node with CPUs or None.
    """

    address: PciAddress
    class_code: int | None
    vendor: int | None
    device: int | None
    node: int | None
    raw_numa_node: int | None
    node_source: NodeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyWarning:
    """A fact that is missing, odd or contradicted; `code` is stable, `message` names the path."""

    code: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The map of one machine.

    `present` are the CPUs plugged in, online or not; `isolated` is None where the kernel has no
    such list. `cores` are sibling sets; `cores` and
    `packages` are None where no file tells them. Nodes, devices and groups are in ascending order.
    """

    online: CpuSet
    present: CpuSet
    isolated: CpuSet | None
    cores: tuple[CpuSet, ...] | None
    packages: tuple[CpuGroup, ...] | None
    dies: tuple[CpuGroup, ...]
    clusters: tuple[CpuGroup, ...]
    cpu_kinds: tuple[CpuKind, ...]
    caches: tuple[Cache, ...]
    nodes: tuple[NumaNode, ...]
    pci_devices: tuple[PciDevice, ...]
    warnings: tuple[TopologyWarning, ...]

    @property
    def offline(self) -> CpuSet:
        """The CPUs that are plugged in and switched off."""
        return self.present - self.online

    @property
    def cpu_nodes(self) -> tuple[NumaNode, ...]:
        """The nodes with online CPUs, the only ones that CPUs are handed out from."""
        return tuple(node for node in self.nodes if node.kind is NodeKind.CPU)

    def node(self, node_id: int) -> NumaNode | None:
        """The node with this id, None when it isn't online."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def nodes_of(self, cpus: Iterable[int]) -> frozenset[int]:
        """The ids of the nodes that hold any of these CPUs."""
        wanted = frozenset(cpus)
        return frozenset(node.id for node in self.nodes if node.cpus and node.cpus & wanted)


def node_kind(cpus: CpuSet | None, memory_bytes: int | None) -> NodeKind | None:
    """The kind of a node with these online CPUs and this memory, None when it can't be told."""
    if cpus:
        return NodeKind.CPU
    if cpus is None or memory_bytes is None:
        return None
    return NodeKind.MEMORY if memory_bytes > 0 else NodeKind.EMPTY


def nearest(distances: Mapping[int, int] | None, candidates: Iterable[int]) -> tuple[int, ...]:
    """The candidates at the smallest distance, ascending; all on a tie, none without distances."""
    if distances is None:
        return ()
    known = {node: distances[node] for node in candidates if node in distances}
    if not known:
        return ()
    least = min(known.values())
    return tuple(sorted(node for node, distance in known.items() if distance == least))


def home_nodes(nodes: Iterable[NumaNode]) -> dict[int, int]:
    """One CPU node for each memory-only node that has a nearest one, spread evenly over ties.

    Two memory nodes at the same distance from two CPU nodes get one each, in id order, so that
    pairing them doesn't load one CPU node with all.
    """
    homes: dict[int, int] = {}
    for node in sorted(nodes, key=lambda node: node.id):
        if node.kind is NodeKind.MEMORY and node.nearest_cpu_nodes:
            taken = list(homes.values())
            homes[node.id] = min(
                node.nearest_cpu_nodes, key=lambda home: (taken.count(home), home)
            )
    return homes
