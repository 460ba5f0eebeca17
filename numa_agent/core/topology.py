"""What a machine is made of, and the questions one asks of it.

Every id is the kernel's own (cpuN, nodeN, physical_package_id), never a list position. A fact that
no file gave is None, never -1 and never 0. Sets of CPUs hold online CPUs only, unless said.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import DeviceKind, Gpu, Link, PciDevice


class NodeKind(StrEnum):
    """What a NUMA node is good for."""

    CPU = "cpu"
    """It has online CPUs."""
    MEMORY = "memory"
    """Memory and no CPUs: CXL, HBM, persistent memory or a GPU's own memory."""
    EMPTY = "empty"
    """Neither: a spare node, or one whose CPUs are all offline."""


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
    too. `distances` maps each online node's id to the firmware's relative
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
    `links` has every pair of GPUs and NICs. `gpu_driver` is the NVIDIA driver's version.
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
    gpus: tuple[Gpu, ...]
    links: tuple[Link, ...]
    warnings: tuple[TopologyWarning, ...]
    gpu_driver: str | None = None

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

    @property
    def nics(self) -> tuple[PciDevice, ...]:
        """The NICs, without SR-IOV virtual functions."""
        return tuple(
            device
            for device in self.pci_devices
            if device.kind is DeviceKind.NIC and device.physical_function is None
        )

    def cpus_beside(self, gpus: Iterable[Gpu], *, isolated: bool = False) -> CpuSet | None:
        """The online CPUs of the smallest set of nodes that holds the GPUs, None if unknown.

        Isolated CPUs are left out unless asked for.
        """
        nodes = self.smallest_nodes(gpus)
        if nodes is None:
            return None
        cpus = frozenset[int]().union(
            *(node.cpus or () for node in self.nodes if node.id in nodes)
        )
        return cpus if isolated else cpus - (self.isolated or frozenset())

    def caches_beside(self, gpu: Gpu) -> tuple[Cache, ...]:
        """The last-level caches (L3 groups) of a GPU's node, none where the node is unknown."""
        cpus = self.cpus_beside([gpu], isolated=True) or frozenset()
        return tuple(cache for cache in self.caches if cache.cpus & cpus)

    def smallest_nodes(self, gpus: Iterable[Gpu]) -> frozenset[int] | None:
        """The smallest set of nodes that holds all the GPUs, None if one GPU's place is unknown.

        A GPU that several nodes may hold adds one only if none of the others' holds it.
        """
        places = [frozenset(gpu.device.nodes) for gpu in gpus]
        if not all(places):
            return None
        chosen = frozenset[int]().union(*(place for place in places if len(place) == 1))
        undecided = [place for place in places if not place & chosen]
        return chosen | _smallest_cover(undecided)

    def nodes_of(self, cpus: Iterable[int]) -> frozenset[int]:
        """The ids of the nodes that hold any of these CPUs."""
        wanted = frozenset(cpus)
        return frozenset(node.id for node in self.nodes if node.cpus and node.cpus & wanted)


def _smallest_cover(places: list[frozenset[int]]) -> frozenset[int]:
    """The smallest, then lowest set of nodes that meets every place; there are few of either."""
    candidates = sorted(frozenset[int]().union(*places))
    for size in range(len(candidates) + 1):
        for nodes in combinations(candidates, size):
            if all(place.intersection(nodes) for place in places):
                return frozenset(nodes)
    return frozenset(candidates)


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
