"""What a PCI function is, by class and vendor: each row of the table of device classes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.assembly import assemble
from numa_agent.core.devices import VENDORS, DeviceKind, NodeSource, device_kind
from tests.topo.values import NIC_CLASS, answers, facts, function, nic, nvml_gpu

NVIDIA, AMD, INTEL, HABANA, HUAWEI, NEC = 0x10DE, 0x1002, 0x8086, 0x1DA3, 0x19E5, 0x1BCF
ASPEED, MATROX, MELLANOX, SAMSUNG, IBM = 0x1A03, 0x102B, 0x15B3, 0x144D, 0x1014


@pytest.mark.parametrize(
    ("what", "class_code", "vendor", "kind"),
    [
        ("NVIDIA data-centre GPU", 0x030200, NVIDIA, DeviceKind.GPU),
        ("NVIDIA workstation GPU", 0x030000, NVIDIA, DeviceKind.GPU),
        ("AMD Radeon", 0x030000, AMD, DeviceKind.GPU),
        ("AMD Instinct MI250", 0x038000, AMD, DeviceKind.GPU),
        ("AMD Instinct MI300", 0x120000, AMD, DeviceKind.GPU),
        ("Intel Data Center GPU Flex", 0x030000, INTEL, DeviceKind.GPU),
        ("Intel Data Center GPU Max", 0x038000, INTEL, DeviceKind.GPU),
        ("Intel Gaudi", 0x120000, HABANA, DeviceKind.ACCELERATOR),
        ("Huawei Ascend", 0x120000, HUAWEI, DeviceKind.ACCELERATOR),
        ("NEC Vector Engine", 0x0B4000, NEC, DeviceKind.ACCELERATOR),
        ("Ethernet", 0x020000, MELLANOX, DeviceKind.NIC),
        ("InfiniBand", 0x020700, MELLANOX, DeviceKind.NIC),
        ("a NIC of anybody's", 0x020000, None, DeviceKind.NIC),
        ("NVMe", 0x010802, SAMSUNG, DeviceKind.NVME),
        ("NVSwitch", 0x068000, NVIDIA, DeviceKind.NVSWITCH),
    ],
)
def test_people_place_work_beside(
    what: str, class_code: int, vendor: int | None, kind: DeviceKind
) -> None:
    assert device_kind(class_code, vendor) is kind, what


@pytest.mark.parametrize(
    ("what", "class_code", "vendor"),
    [
        ("ASPEED's display of a BMC", 0x030000, ASPEED),
        ("Matrox' display of a BMC", 0x030000, MATROX),
        ("the audio function of a GPU", 0x040300, NVIDIA),
        ("the USB function of a GPU", 0x0C0330, NVIDIA),
        ("QAT", 0x0B4000, INTEL),
        ("the NPU of a laptop's processor", 0x120000, INTEL),
        ("an accelerator of nobody known", 0x120000, 0x1AF4),
        ("IBM's NPU bridge", 0x068000, IBM),
        ("a Huawei display of a BMC", 0x030000, HUAWEI),
        ("a PCI bridge of NVIDIA's", 0x060400, NVIDIA),
        ("a host bridge", 0x060000, INTEL),
        ("a SATA disk", 0x010601, SAMSUNG),
    ],
)
def test_and_not_beside(what: str, class_code: int, vendor: int) -> None:
    assert device_kind(class_code, vendor) is DeviceKind.OTHER, what


@pytest.mark.parametrize(
    ("class_code", "vendor"),
    [(None, NVIDIA), (None, None), *((code, None) for code in (0x030000, 0x120000, 0x068000))],
)
def test_what_class_and_vendor_do_not_tell_is_unknown(
    class_code: int | None, vendor: int | None
) -> None:
    assert device_kind(class_code, vendor) is None


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 0xFFFFFF), st.integers(0, 0xFFFF))
def test_the_programming_interface_never_decides(class_code: int, vendor: int) -> None:
    plain = device_kind(class_code & 0xFFFF00, vendor)
    assert device_kind(class_code, vendor) is plain


@settings(derandomize=True, deadline=None)
@given(st.sampled_from([0x0300, 0x0302, 0x0380, 0x1200, 0x0B40]), st.integers(0, 0xFFFF))
def test_a_class_alone_makes_neither_gpu_nor_accelerator(subclass: int, vendor: int) -> None:
    if vendor not in VENDORS:
        assert device_kind(subclass << 8, vendor) is DeviceKind.OTHER


def test_the_sources_of_a_place_are_ordered_from_the_most_trusted() -> None:
    assert [source.value for source in NodeSource] == [
        *("override", "sysfs", "bridge", "local-cpulist", "nvml", "single-node", "unknown")
    ]


A, B = "0000:1b:00.0", "0000:43:00.0"


def test_virtual_functions_are_neither_gpus_nor_nics_nor_ends_of_links() -> None:
    topology = assemble(
        facts(
            function(A, numa=0),
            function("0000:1b:00.4", numa=0, physical=A, driver="nvidia"),
            nic(B, numa=0),
            function("0000:43:00.2", NIC_CLASS, 0x15B3, numa=0, physical=B),
        ),
        nvml=answers(nvml_gpu(0, A), nvml_gpu(1, "0000:1b:00.4")),
    )
    assert [str(gpu.device.address) for gpu in topology.gpus] == [A]
    assert [str(one.address) for one in topology.nics] == [B]
    assert [(str(link.a), str(link.b)) for link in topology.links] == [(A, B)]
    assert [str(one) for one in topology.gpus[0].nics or ()] == [B]
