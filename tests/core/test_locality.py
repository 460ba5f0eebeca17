"""Where a device is: each source's answer, and unknown where none has one."""

import pytest

from numa_agent.core.devices import NodeSource
from numa_agent.core.locality import Locator, Place
from tests.machine_tree import cpus, numa_node

TWO = Locator([numa_node(0, "0-3"), numa_node(1, "4-7")], cpus("0-7"))
ONE = Locator([numa_node(0, "0-7")], cpus("0-7"))


def test_a_node_s_number_places_a_device_there() -> None:
    assert TWO.of_node_id(1) == Place(1, NodeSource.SYSFS)
    assert TWO.of_node_id(0, NodeSource.BRIDGE) == Place(0, NodeSource.BRIDGE)


# Case 17: -1 is the kernel's word for unknown, and never a node.
@pytest.mark.parametrize("raw", [-1, None, 2, -2])
def test_a_number_that_is_no_node_s_places_nothing(raw: int | None) -> None:
    assert TWO.of_node_id(raw) is None
    assert ONE.of_node_id(raw) is None


def test_a_node_without_cpus_stands_for_the_nearest_that_has_some() -> None:
    # Case 15: a GPU whose own memory is node 8 is beside the CPUs of node 1.
    locator = Locator(
        [numa_node(0, "0-3"), numa_node(1, "4-7"), numa_node(8, "", near=(1,))], cpus("0-7")
    )
    assert locator.of_node_id(8) == Place(1, NodeSource.SYSFS)


@pytest.mark.parametrize("near", [(0, 1), ()])
def test_a_node_without_cpus_and_without_one_nearest_places_nothing(near: tuple[int, ...]) -> None:
    nodes = [numa_node(0, "0-3"), numa_node(1, "4-7"), numa_node(2, "", near=near)]
    assert Locator(nodes, cpus("0-7")).of_node_id(2) is None


@pytest.mark.parametrize(("local", "node"), [("4-7", 1), ("5", 1), ("0-3", 0), ("2-3,9", 0)])
def test_local_cpus_in_one_node_place_a_device_there(local: str, node: int) -> None:
    assert TWO.of_local_cpus(cpus(local)) == Place(node, NodeSource.LOCAL_CPULIST)


# Case 17, and a guest whose every device names every CPU.
@pytest.mark.parametrize("local", ["0-7", "0-63", "3-4", "0-6", "", "9"])
def test_local_cpus_that_are_all_or_of_several_nodes_or_of_none_say_nothing(local: str) -> None:
    assert TWO.of_local_cpus(cpus(local)) is None


def test_local_cpus_that_are_all_say_nothing_though_one_node_holds_them() -> None:
    locator = Locator([numa_node(0, "0-3"), numa_node(1, None)], cpus("0-3"))
    assert locator.of_local_cpus(cpus("0-3")) is None


def test_local_cpus_that_no_file_gave_say_nothing() -> None:
    assert TWO.of_local_cpus(None) is None


def test_with_one_cpu_node_every_device_is_there() -> None:
    # Case 17: -1 on a machine with one node is that node.
    assert ONE.otherwise() == Place(0, NodeSource.SINGLE_NODE)
    assert not ONE.several


def test_a_node_of_memory_only_is_no_second_choice() -> None:
    locator = Locator([numa_node(3, "0-7"), numa_node(4, "", near=(3,))], cpus("0-7"))
    assert locator.otherwise() == Place(3, NodeSource.SINGLE_NODE)


def test_with_several_cpu_nodes_a_device_that_nothing_places_is_unknown() -> None:
    assert TWO.otherwise() == Place(None, NodeSource.UNKNOWN)
    assert TWO.several


def test_a_node_whose_cpus_are_unknown_may_be_a_second_choice() -> None:
    locator = Locator([numa_node(0, "0-3"), numa_node(1, None)], cpus("0-7"))
    assert locator.otherwise() == Place(None, NodeSource.UNKNOWN)
    assert locator.several


def test_on_a_machine_without_nodes_a_device_is_nowhere() -> None:
    locator = Locator([], cpus(""))
    assert locator.otherwise() == Place(None, NodeSource.UNKNOWN)
    assert locator.of_node_id(0) is None
    assert locator.of_local_cpus(cpus("0")) is None


def test_local_cpus_of_which_some_are_in_an_unknown_node_say_nothing() -> None:
    nodes = [numa_node(0, "0-3"), numa_node(1, None), numa_node(2, "8-11")]
    assert Locator(nodes, cpus("0-11")).of_local_cpus(cpus("0-7")) is None
    assert Locator(nodes, cpus("0-11")).of_local_cpus(cpus("8-9")) is not None
