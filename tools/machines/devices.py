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
    """One kind of PCI function, with the texts of its sysfs files.

    `functions` are equal, `companion` is a different one after them, `vf_device` the id of its
    SR-IOV virtual functions. The driver makes an `rdma` device of that name and a number, a node
    for rendering (`drm`) or one for computing (`accel`). `resource` is what a device plugin calls
    it in Kubernetes, `device_id` how it names one, by its address or its number among its kind.
    """

    pci_class: str
    vendor: str
    device: str
    subsystem_vendor: str = ""
    subsystem_device: str = ""
    driver: str = ""
    functions: int = 1
    companion: "Template | None" = None
    vf_device: str = ""
    rdma: str = ""
    drm: bool = False
    accel: bool = False
    resource: str = ""
    device_id: str = "{address}"
    gpu: GpuModel | None = None

    @property
    def base_class(self) -> str:
        """The class without the programming interface: `0x0200` is Ethernet."""
        return self.pci_class[:6]

    @property
    def used_by_host(self) -> bool:
        """Whether a driver of the host's own runs it; vfio-pci only keeps it for a guest."""
        return self.driver not in ("", "vfio-pci")


def _nvidia(
    device: str,
    subsystem: str,
    gpu: GpuModel,
    pci_class: str = "0x030200",
    companion: Template | None = None,
) -> Template:
    return Template(
        pci_class=pci_class,
        vendor="0x10de",
        device=device,
        subsystem_vendor="0x10de",
        subsystem_device=subsystem,
        driver="nvidia",
        companion=companion,
        gpu=gpu,
    )


def _nvswitch(device: str, subsystem: str) -> Template:
    return Template(
        pci_class="0x068000",
        vendor="0x10de",
        device=device,
        subsystem_vendor="0x10de",
        subsystem_device=subsystem,
        driver="nvidia-nvswitch",
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
        vf_device="0x101e",
        rdma="mlx5_",
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
_GB200 = GpuModel(
    name="NVIDIA GB200",
    memory_mib=189471,
    nvlinks=18,
    nvlink_version=7,
    has_mig=True,
    has_fabric=True,
    has_c2c=True,
    addressing_mode=2,
)
_A100 = GpuModel(
    name="NVIDIA A100-SXM4-40GB",
    memory_mib=40960,
    nvlinks=12,
    nvlink_version=4,
    has_mig=True,
    addressing_mode=1,
)
_A100_PCIE = GpuModel(
    name="NVIDIA A100 80GB PCIe",
    memory_mib=81920,
    nvlink_version=4,
    has_mig=True,
    addressing_mode=1,
)
_L4 = GpuModel(name="NVIDIA L4", memory_mib=23034, addressing_mode=1)
_L40S = GpuModel(name="NVIDIA L40S", memory_mib=46068, addressing_mode=1)
_RTX6000 = GpuModel(name="NVIDIA RTX 6000 Ada Generation", memory_mib=49140, addressing_mode=1)
_V100 = GpuModel(name="Tesla V100-SXM2-16GB", memory_mib=16384, nvlinks=6, nvlink_version=2)

_RTX6000_AUDIO = Template(
    pci_class="0x040300",
    vendor="0x10de",
    device="0x22ba",
    subsystem_vendor="0x10de",
    subsystem_device="0x16a1",
    driver="snd_hda_intel",
)

ENDPOINTS: dict[str, Template] = {
    "h100": _nvidia("0x2330", "0x16c1", _H100),
    "gh200": _nvidia("0x2342", "0x16eb", _GH200),
    "gb200": _nvidia("0x2941", "0x2046", _GB200),
    "a100": _nvidia("0x20b0", "0x134d", _A100),
    "a100-pcie": _nvidia("0x20b5", "0x1533", _A100_PCIE),
    "l4": _nvidia("0x27b8", "0x16ca", _L4),
    "l40s": _nvidia("0x26b9", "0x1851", _L40S),
    "rtx6000-ada": _nvidia("0x26b1", "0x16a1", _RTX6000, "0x030000", _RTX6000_AUDIO),
    "v100": _nvidia("0x1db1", "0x1212", _V100),
    "nvswitch": _nvswitch("0x22a3", "0x1796"),
    "nvswitch-a100": _nvswitch("0x1af1", "0x1479"),
    "mi300x": Template(
        pci_class="0x120000",
        vendor="0x1002",
        device="0x74a1",
        subsystem_vendor="0x1002",
        subsystem_device="0x74a1",
        driver="amdgpu",
        drm=True,
        resource="amd.com/gpu",
    ),
    "gaudi2": Template(
        pci_class="0x120000",
        vendor="0x1da3",
        device="0x1020",
        driver="habanalabs",
        accel=True,
        resource="habana.ai/gaudi",
    ),
    "ascend910b": Template(
        pci_class="0x120000",
        vendor="0x19e5",
        device="0xd802",
        driver="devdrv_device_driver",
        resource="huawei.com/Ascend910",
        device_id="Ascend910-{number}",
    ),
    "gpu-max": Template(
        pci_class="0x038000",
        vendor="0x8086",
        device="0x0bd5",
        driver="i915",
        drm=True,
        resource="gpu.intel.com/i915",
        device_id="card{number}-0",
    ),
    "intel-npu": Template(
        pci_class="0x120000", vendor="0x8086", device="0x7d1d", driver="intel_vpu", accel=True
    ),
    "qat": Template(pci_class="0x0b4000", vendor="0x8086", device="0x4940", driver="4xxx"),
    "cx4": _nic("0x020700", "0x1013", "0x0008"),
    "cx6": _nic("0x020700", "0x101b", "0x0006"),
    "cx7": _nic("0x020700", "0x1021", "0x0041"),
    "cx7-ethernet": _nic("0x020000", "0x1021", "0x0023"),
    "cx6dx": _nic("0x020000", "0x101d", "0x0016", functions=2),
    "bluefield3": _nic("0x020000", "0xa2dc", "0x0051", functions=2),
    "bcm57608": Template(
        pci_class="0x020000", vendor="0x14e4", device="0x1760", driver="bnxt_en", rdma="bnxt_re"
    ),
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

AMD_PORTS = _bridge("0x1022", "0x1500"), _bridge("0x1002", "0x1501")
"""The upstream and the downstream port of the switch that an MI300X has inside."""

ASPEED_BRIDGE = _bridge("0x1a03", "0x1150", driver="")
"""The PCI bridge in front of a baseboard controller's display."""
