"""NICs that don't look like the usual ones, from small trees."""

from pathlib import Path

import pytest

from numa_agent.core.devices import DeviceKind, NodeSource
from tests.machine_tree import PCI, two_socket_tree

NIC = "0000:3b:00.0"


def test_a_virtio_nic_s_interface_is_found_one_level_lower(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).pci(
        NIC, **{"class": "0x020000", "vendor": "0x1af4", "device": "0x1041", "numa_node": "0"}
    )
    tree.file(f"{PCI}/{NIC}/virtio3/net/ens3/mtu", "1500")
    (device,) = tree.topology().pci_devices
    assert (device.kind, device.interfaces) == (DeviceKind.NIC, ("ens3",))


@pytest.mark.parametrize(
    ("code", "vendor", "kind"),
    [
        ("0x028000", "0x15b3", DeviceKind.NIC),
        ("0x028000", "0x8086", DeviceKind.OTHER),
        ("0x020800", "0x8086", DeviceKind.NIC),
    ],
)
def test_rdma_cards_of_other_network_classes_are_nics_and_wireless_ones_are_not(
    code: str, vendor: str, kind: DeviceKind, tmp_path: Path
) -> None:
    tree = two_socket_tree(tmp_path).pci(NIC, **{"class": code, "vendor": vendor})
    assert tree.topology().pci_devices[0].kind is kind


def test_an_old_management_chip_of_ati_is_no_gpu(tmp_path: Path) -> None:
    files = {"class": "0x030000", "vendor": "0x1002", "device": "0x515e", "numa_node": "0"}
    topology = two_socket_tree(tmp_path).pci(NIC, **files).topology()
    assert topology.gpus == ()


def test_a_device_behind_a_vmd_is_where_the_vmd_is(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).pci("0000:00:0e.0", numa_node="1")
    tree.pci("10000:01:00.0", "pci0000:00/0000:00:0e.0/pci10000:00", numa_node="-1")
    behind = tree.topology().pci_devices[-1]
    assert (str(behind.address), behind.node) == ("10000:01:00.0", 1)
    assert behind.node_source is NodeSource.BRIDGE


def test_a_cpu_list_longer_than_a_page_is_read_whole(tmp_path: Path) -> None:
    listed = ",".join(str(cpu) for cpu in range(0, 4000, 2))
    assert len(listed) > 8192
    tree = two_socket_tree(tmp_path).file("sys/devices/system/cpu/isolated", listed)
    assert tree.topology().isolated == frozenset(range(0, 8, 2))
