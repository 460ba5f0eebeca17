"""What a PCI function is to people who place work: a GPU, an accelerator, a NIC, an NVMe disk.

Classes: https://pci-ids.ucw.cz. A class alone doesn't make a GPU: a server's management chip has a
display class too, and a laptop's camera processor an accelerator's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.links import Level, PciPath
from numa_agent.core.nvml import NvmlGpu
from numa_agent.core.pci import PciAddress

NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086

VENDORS = {
    NVIDIA: "nvidia",
    AMD: "amd",
    INTEL: "intel",
    0x1DA3: "habana",
    0x19E5: "huawei",
    0x1BCF: "nec",
}
"""The makers of GPUs and accelerators, by PCI vendor id."""

_GPU_VENDORS = {NVIDIA, AMD, INTEL}
_ACCELERATOR_VENDORS = {0x1DA3, 0x19E5, 0x1BCF}

_DISPLAY = {0x0300, 0x0302, 0x0380}
_ACCELERATOR = 0x1200
_CO_PROCESSOR = 0x0B40
_NIC = {0x0200, 0x0207, 0x0208}
"""Ethernet, InfiniBand and fabric controllers (Omni-Path)."""

_OTHER_NETWORK, _MELLANOX = 0x0280, 0x15B3
"""ConnectX-3 in its dual-protocol mode calls itself another network controller."""

_MANAGEMENT_CHIPS = {(AMD, 0x515E), (AMD, 0x4752)}
"""ATI's ES1000 and Rage XL, displays of servers' management controllers."""

BRIDGE = 0x06
"""The base class of every bridge."""

_NVME = 0x0108
GUEST_DRIVERS = {"vfio-pci", "pci-stub"}
"""Drivers that hold a device for a guest machine."""

_OTHER_BRIDGE = 0x0680
_BY_VENDOR = {*_DISPLAY, _ACCELERATOR, _CO_PROCESSOR, _OTHER_BRIDGE}


class DeviceKind(StrEnum):
    """What a PCI function is."""

    GPU = "gpu"
    ACCELERATOR = "accelerator"
    NIC = "nic"
    NVME = "nvme"
    NVSWITCH = "nvswitch"
    OTHER = "other"


@lru_cache(maxsize=1024)  # hundreds of functions share a few dozen classes
def device_kind(
    class_code: int | None, vendor: int | None, device: int | None = None
) -> DeviceKind | None:
    """The kind of a function of this class (0xCCSSPP) and these ids, None when they don't tell."""
    if class_code is None:
        return None
    subclass = class_code >> 8
    if (vendor, device) in _MANAGEMENT_CHIPS:
        return DeviceKind.OTHER
    if subclass == _OTHER_NETWORK:
        return DeviceKind.NIC if vendor == _MELLANOX else DeviceKind.OTHER
    if subclass in _NIC:
        return DeviceKind.NIC
    if subclass == _NVME:
        return DeviceKind.NVME
    if vendor is None and subclass in _BY_VENDOR:
        return None
    if subclass == _OTHER_BRIDGE and vendor == NVIDIA:
        return DeviceKind.NVSWITCH
    if subclass in _DISPLAY and vendor in _GPU_VENDORS:
        return DeviceKind.GPU
    # AMD's Instinct boards moved from the display class to this one with MI300.
    if subclass == _ACCELERATOR and vendor == AMD:
        return DeviceKind.GPU
    if subclass in {_ACCELERATOR, _CO_PROCESSOR} and vendor in _ACCELERATOR_VENDORS:
        return DeviceKind.ACCELERATOR
    return DeviceKind.OTHER


class NodeSource(StrEnum):
    """Where a device's NUMA node was found, the most trusted first."""

    OVERRIDE = "override"
    """The operator's correction."""
    SYSFS = "sysfs"
    """The device's own numa_node file."""
    BRIDGE = "bridge"
    """The numa_node file of the nearest bridge above it that has one."""
    LOCAL_CPULIST = "local-cpulist"
    """Its local CPUs, where they aren't all of the machine's."""
    NVML = "nvml"
    """The NVIDIA driver's memory affinity."""
    SINGLE_NODE = "single-node"
    """The machine has one node with CPUs."""
    UNKNOWN = "unknown"
    """No source knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function and its NUMA node.

    `kind` is None where class and vendor don't tell. `class_code` is 0xCCSSPP. `raw_numa_node` is
    the file's number as it is (-1 says unknown),
    `node` what we make of it, a node with CPUs or None. `nodes` holds that node, or the several
    that a source names without deciding. `driver`, `path` (its chain of bridges), `interfaces`
    (network), `rdma` (RDMA devices) and `physical_function` (of an SR-IOV virtual function) are
    read for devices that people place work beside.
    """

    address: PciAddress
    kind: DeviceKind | None
    class_code: int | None
    vendor: int | None
    device: int | None
    driver: str | None
    physical_function: PciAddress | None
    interfaces: tuple[str, ...]
    rdma: tuple[str, ...]
    path: PciPath | None
    node: int | None
    nodes: tuple[int, ...]
    raw_numa_node: int | None
    node_source: NodeSource

    @property
    def given_away(self) -> bool:
        """Whether it is kept for a guest machine, so that no driver here knows it."""
        return self.driver in GUEST_DRIVERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU or another accelerator: its place in the machine, and what its driver says.

    `cpus` are the online CPUs of its node that aren't isolated, None where the node is unknown.
    `memory_node` is the NUMA node that its own memory is, on machines where that is one. `nics`
    are the nearest NICs, all of them on a tie, None where that can't be told. `nvml` is None where
    NVML doesn't know it.
    """

    device: PciDevice
    cpus: CpuSet | None
    memory_node: int | None
    nics: tuple[PciAddress, ...] | None
    nvml: NvmlGpu | None

    @property
    def health(self) -> str | None:
        """`ok`, `lost` (fell off the bus) or `reset-required` by NVML, None where nobody tells."""
        return None if self.nvml is None else self.nvml.health


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Two devices and how close they are, the lower address first.

    `level` is None where it can't be told. `nvlinks` counts the active NVLinks between two GPUs,
    through a switch if `switched`; None where no driver tells. `bytes_per_second` is theirs
    together, in one direction. `p2p` says by operation whether the driver allows it, None for two
    that aren't both GPUs which NVML knows.
    """

    a: PciAddress
    b: PciAddress
    level: Level | None
    nvml_level: Level | None
    nvlinks: int | None
    switched: bool | None
    bytes_per_second: int | None
    p2p: Mapping[str, str | None] | None
