"""PCI functions and where they are, from small trees."""

from pathlib import Path

import pytest

from numa_agent.core.devices import DeviceKind, NodeSource, PciDevice
from numa_agent.core.links import PciPath
from tests.machine_tree import NODE, PCI, Tree, codes, lone_cpus, pci_device, two_socket_tree

GPU = "0000:3b:00.0"


def only(tree: Tree, name: str = GPU) -> PciDevice:
    found = {str(device.address): device for device in tree.topology().pci_devices}
    return found[name]


def place(tree: Tree, name: str = GPU) -> tuple[int | None, NodeSource]:
    device = only(tree, name)
    return device.node, device.node_source


def one_node_tree(root: Path) -> Tree:
    return lone_cpus(root, "0-7").nodes_online("0").node(0, cpulist="0-7", distance="10")


def test_a_function_is_what_its_files_say(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).pci(
        GPU, **{"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "numa_node": "1"}
    )
    topology = tree.topology()
    assert topology.pci_devices == (
        pci_device(
            GPU,
            kind=DeviceKind.GPU,
            class_code=0x30200,
            vendor=0x10DE,
            device=0x2330,
            node=1,
            nodes=(1,),
            raw_numa_node=1,
            node_source=NodeSource.SYSFS,
            path=PciPath(("pci0000:00",), ()),
        ),
    )
    assert topology.warnings == ()


def test_functions_are_in_the_order_of_their_addresses_as_numbers(tmp_path: Path) -> None:
    # Case 21: a domain of five digits comes after one of four.
    tree = one_node_tree(tmp_path)
    for name in ("10000:01:00.0", "2000:01:00.0", "0000:e1:00.0", "0000:0a:00.1"):
        tree.pci(name, numa_node="0")
    assert [str(device.address) for device in tree.topology().pci_devices] == [
        "0000:0a:00.1",
        "0000:e1:00.0",
        "2000:01:00.0",
        "10000:01:00.0",
    ]


def test_a_name_that_is_no_address_is_left_out_with_a_warning(tmp_path: Path) -> None:
    tree = one_node_tree(tmp_path).pci(GPU, numa_node="0").pci("0000:3b:00", numa_node="0")
    topology = tree.topology()
    assert [str(device.address) for device in topology.pci_devices] == [GPU]
    (warning,) = topology.warnings
    assert (warning.code, warning.subject) == ("pci-name", f"/{PCI}/0000:3b:00")


@pytest.mark.parametrize("code", ["10de", "0x10DE", "0x1", "0x10de0000", "-0x10de", "x", ""])
def test_a_code_that_is_none_is_unknown_with_a_warning(code: str, tmp_path: Path) -> None:
    tree = one_node_tree(tmp_path).pci(GPU, vendor=code, numa_node="0", device="0x2330")
    device = only(tree)
    assert (device.vendor, device.device, device.node) == (None, 0x2330, 0)
    assert codes(tree.topology()) == ["damaged-file"]


def test_a_function_without_any_file_is_still_there(tmp_path: Path) -> None:
    device = only(two_socket_tree(tmp_path).pci(GPU))
    assert (device.class_code, device.vendor, device.device) == (None, None, None)
    assert (device.node, device.raw_numa_node) == (None, None)
    assert device.node_source is NodeSource.UNKNOWN


def test_a_bridge_above_places_what_has_no_node_of_its_own(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).pci("0000:00:01.0", numa_node="0")
    tree.pci("0000:3a:00.0", "pci0000:00/0000:00:01.0", numa_node="1")
    tree.pci("0000:3a:01.0", "pci0000:00/0000:00:01.0/0000:3a:00.0", numa_node="-1")
    tree.pci(GPU, "pci0000:00/0000:00:01.0/0000:3a:00.0/0000:3a:01.0", numa_node="-1")
    assert place(tree) == (1, NodeSource.BRIDGE)
    assert only(tree).raw_numa_node == -1


# Case 17, several nodes: local CPUs of one node tell, all CPUs say nothing, and 0 is no guess.
@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({"local_cpulist": "2-3,6-7"}, (1, NodeSource.LOCAL_CPULIST)),
        ({"local_cpus": "cc"}, (1, NodeSource.LOCAL_CPULIST)),
        ({"local_cpulist": "0-7"}, (None, NodeSource.UNKNOWN)),
        ({"local_cpulist": "1-2"}, (None, NodeSource.UNKNOWN)),
        ({"local_cpulist": ""}, (None, NodeSource.UNKNOWN)),
        ({}, (None, NodeSource.UNKNOWN)),
    ],
)
def test_without_a_node_the_local_cpus_place_a_device_if_they_lie_in_one(
    files: dict[str, str], answer: tuple[int | None, NodeSource], tmp_path: Path
) -> None:
    tree = two_socket_tree(tmp_path).pci(GPU, numa_node="-1", **files)
    assert place(tree) == answer
    assert only(tree).raw_numa_node == -1


def test_devices_that_nothing_places_are_counted_in_one_warning(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).pci(GPU, numa_node="-1").pci("0000:5e:00.0")
    (warning,) = tree.pci("0000:86:00.0", numa_node="0").topology().warnings
    assert warning.code == "pci-node-unknown"
    assert warning.message == "2 PCI devices: no source knows their NUMA node"


@pytest.mark.parametrize("raw", ["-1", None, "x"])
def test_on_a_machine_with_one_node_every_device_is_there(raw: str | None, tmp_path: Path) -> None:
    # Case 17, one node: -1 is node 0.
    files = {} if raw is None else {"numa_node": raw}
    tree = one_node_tree(tmp_path).pci(GPU, local_cpulist="0-7", **files)
    assert place(tree) == (0, NodeSource.SINGLE_NODE)


def test_a_node_whose_cpus_are_unknown_makes_no_machine_with_one_node(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).file(f"{NODE}/node1/cpumap", "33")
    assert place(tree.pci(GPU, numa_node="-1")) == (None, NodeSource.UNKNOWN)


def test_a_device_of_a_node_without_cpus_is_at_the_nearest_with_cpus(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).nodes_online("0-2").node(2, cpulist="", distance="28 20 10")
    assert place(tree.pci(GPU, numa_node="2")) == (1, NodeSource.SYSFS)
    assert only(tree).raw_numa_node == 2


def test_a_device_of_a_node_without_cpus_between_two_is_not_guessed_at(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).nodes_online("0-2").node(2, cpulist="", distance="20 20 10")
    assert place(tree.pci(GPU, numa_node="2")) == (None, NodeSource.UNKNOWN)


def test_a_device_of_a_node_with_unknown_cpus_is_not_put_on_another(tmp_path: Path) -> None:
    tree = two_socket_tree(tmp_path).file(f"{NODE}/node1/cpumap", "33")
    assert place(tree.pci(GPU, numa_node="1")) == (None, NodeSource.UNKNOWN)
