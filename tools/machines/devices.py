"""What a PCI device of a known kind answers: its ids, its driver and, for a GPU, NVML's part.

The ids are those of the public PCI id list; class codes are 0xCCSSPP as sysfs prints them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """What NVML tells of a GPU model; `nvlink_version` is NVML's number (6 is NVLink 4.0)."""

    name: str
    memory_mib: int
    nvlinks: int = 0
    nvlink_version: int = 0
    has_mig: bool = False
    has_fabric: bool = False
    has_c2c: bool = False
    addressing_mode: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One kind of PCI function, with the texts of its sysfs files."""

    pci_class: str
    vendor: str
    device: str
    subsystem_vendor: str = ""
    subsystem_device: str = ""
    driver: str = ""
    functions: int = 1
    gpu: GpuModel | None = None

    @property
    def base_class(self) -> str:
        """The class without the programming interface: `0x0200` is Ethernet."""
        return self.pci_class[:6]


def _nvidia(device: str, subsystem: str, gpu: GpuModel) -> Template:
    return Template(
        pci_class="0x030200",
        vendor="0x10de",
        device=device,
        subsystem_vendor="0x10de",
        subsystem_device=subsystem,
        driver="nvidia",
        gpu=gpu,
    )


def _nic(pci_class: str, device: str, subsystem: str, functions: int = 1) -> Template:
    return Template(
        pci_class=pci_class,
        vendor="0x15b3",
        device=device,
        subsystem_vendor="0x15b3",
        subsystem_device=subsystem,
        driver="mlx5_core",
        functions=functions,
    )


_H100 = GpuModel(
    name="NVIDIA H100 80GB HBM3",
    memory_mib=81559,
    nvlinks=18,
    nvlink_version=6,
    has_mig=True,
    has_fabric=True,
    addressing_mode=1,
)
_GH200 = GpuModel(
    name="NVIDIA GH200 480GB",
    memory_mib=97871,
    nvlink_version=6,
    has_mig=True,
    has_fabric=True,
    has_c2c=True,
    addressing_mode=2,
)
_L4 = GpuModel(name="NVIDIA L4", memory_mib=23034, addressing_mode=1)
_V100 = GpuModel(name="Tesla V100-SXM2-16GB", memory_mib=16384, nvlinks=6, nvlink_version=2)

ENDPOINTS: dict[str, Template] = {
    "h100": _nvidia("0x2330", "0x16c1", _H100),
    "gh200": _nvidia("0x2342", "0x16eb", _GH200),
    "l4": _nvidia("0x27b8", "0x16ca", _L4),
    "v100": _nvidia("0x1db1", "0x1212", _V100),
    "nvswitch": Template(
        pci_class="0x068000",
        vendor="0x10de",
        device="0x22a3",
        subsystem_vendor="0x10de",
        subsystem_device="0x1796",
        driver="nvidia-nvswitch",
    ),
    "cx7": _nic("0x020700", "0x1021", "0x0041"),
    "cx7-ethernet": _nic("0x020000", "0x1021", "0x0023"),
    "cx6dx": _nic("0x020000", "0x101d", "0x0016", functions=2),
    "bluefield3": _nic("0x020000", "0xa2dc", "0x0051", functions=2),
    "virtio-net": Template(
        pci_class="0x020000",
        vendor="0x1af4",
        device="0x1041",
        subsystem_vendor="0x1af4",
        subsystem_device="0x1100",
        driver="virtio-pci",
    ),
    "nvme": Template(
        pci_class="0x010802",
        vendor="0x144d",
        device="0xa824",
        subsystem_vendor="0x144d",
        subsystem_device="0xa801",
        driver="nvme",
    ),
    "bmc": Template(
        pci_class="0x030000",
        vendor="0x1a03",
        device="0x2000",
        subsystem_vendor="0x1a03",
        subsystem_device="0x2000",
        driver="ast",
    ),
    "cxl-memory": Template(
        pci_class="0x050210",
        vendor="0x8086",
        device="0x0d93",
        subsystem_vendor="0x1af4",
        subsystem_device="0x1100",
        driver="cxl_pci",
    ),
}
"""Devices at the end of a branch, by the name that a description uses."""


def _bridge(vendor: str, device: str, driver: str = "pcieport") -> Template:
    return Template(pci_class="0x060400", vendor=vendor, device=device, driver=driver)


ROOT_PORTS: dict[str, Template] = {
    "x86_64": _bridge("0x8086", "0x352a"),
    "aarch64": _bridge("0x10de", "0x22b2"),
    "ppc64le": _bridge("0x1014", "0x04c1"),
}
"""The PCI Express root port of each architecture's machines."""

SWITCH_PORT = _bridge("0x1000", "0xc030")
"""One port of a PCI Express switch: the upstream one or one of the downstream ones."""

ASPEED_BRIDGE = _bridge("0x1a03", "0x1150", driver="")
"""The PCI bridge in front of a baseboard controller's display."""
