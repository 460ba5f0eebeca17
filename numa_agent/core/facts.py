"""What the machine's files say, before devices are placed: what host.sysfs reads."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.links import PciPath
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import Cache, CpuGroup, CpuKind, NumaNode, TopologyWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFacts:
    """The files of one PCI function; None and () where a file is missing or wasn't needed.

    The last six are read for devices that people place work beside, `local_cpus` and `path` also
    for any device without a numa_node.
    """

    address: PciAddress
    class_code: int | None
    vendor: int | None
    device: int | None
    numa_node: int | None
    local_cpus: CpuSet | None = None
    path: PciPath | None = None
    driver: str | None = None
    physical_function: PciAddress | None = None
    interfaces: tuple[str, ...] = ()
    rdma: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFacts:
    """The CPUs of a machine; the fields are Topology's."""

    online: CpuSet
    present: CpuSet
    isolated: CpuSet | None
    cores: tuple[CpuSet, ...] | None
    packages: tuple[CpuGroup, ...] | None
    dies: tuple[CpuGroup, ...]
    clusters: tuple[CpuGroup, ...]
    caches: tuple[Cache, ...]
    kinds: tuple[CpuKind, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """All that sysfs and procfs tell.

    `gpu_memory_nodes` are NUMA nodes that are a GPU's own memory, with that GPU's address.
    """

    cpus: CpuFacts
    nodes: tuple[NumaNode, ...]
    pci: tuple[PciFacts, ...]
    gpu_memory_nodes: Mapping[int, PciAddress]
    warnings: tuple[TopologyWarning, ...]
