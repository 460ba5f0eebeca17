"""Extended resources of each NUMA node: all of a resource's units, or none of it."""

from dataclasses import replace

import pytest

from numa_agent.core.grants import DeviceGrant, DynamicGrant, PodResources
from numa_agent.core.node import Node
from numa_agent.core.topology import Topology
from tests.core.ledger import GPU, accounts, amounts, codes, gpus, grant, granted, two_nodes
from tests.machine_tree import machine, numa_node, pci_device, pod

FOUR_AND_FOUR = {f"GPU-{n}": n // 4 for n in range(8)}


def test_one_gpu_used_on_each_node_leaves_three_and_three() -> None:
    # Case 45.
    told = granted(
        grant(1, devices=gpus(**{"GPU-0": 0})),
        grant(2, devices=gpus(**{"GPU-7": 1})),
        devices=gpus(**FOUR_AND_FOUR),
    )
    found = accounts(two_nodes(), pod(1), pod(2), granted=told)
    assert amounts(found, GPU) == [(4, 4, 3), (4, 4, 3)]


def test_a_finished_pods_gpus_are_free_again() -> None:
    told = granted(grant(1, devices=gpus(**{"GPU-0": 0})), devices=gpus(**FOUR_AND_FOUR))
    found = accounts(two_nodes(), pod(1, phase="Failed"), granted=told)
    assert amounts(found, GPU) == [(4, 4, 4), (4, 4, 4)]


def test_a_node_that_has_none_of_the_units_says_so() -> None:
    found = accounts(two_nodes(), granted=granted(devices=gpus(a=1, b=1)))
    assert amounts(found, GPU) == [(0, 0, 0), (2, 2, 2)]


def test_one_unit_without_a_known_node_leaves_the_resource_out_of_every_zone() -> None:
    found = accounts(two_nodes(), granted=granted(devices=gpus(a=0, b=None, c=1)))
    assert all(GPU not in node.resources for node in found.nodes)
    (condition,) = found.conditions
    assert condition.code == "extended-resource-unplaced"
    assert condition.message.startswith(
        f"{GPU}: the NUMA node of 1 of its 3 units isn't known (b)"
    )


def test_a_unit_that_its_plugin_puts_on_two_nodes_has_no_known_node() -> None:
    both = (DeviceGrant(resource=GPU, ids=("a",), nodes=(0, 1)),)
    assert codes(accounts(two_nodes(), granted=granted(devices=both))) == [
        "extended-resource-unplaced"
    ]


def with_device(address: str, node: int) -> Topology:
    device = pci_device(address, node=node, nodes=(node,))
    return replace(two_nodes(), pci_devices=(device,))


def test_our_map_places_a_unit_whose_plugin_tells_no_node() -> None:
    told = granted(devices=gpus(**{"0000:3b:00.0": None}))
    found = accounts(with_device("0000:3b:00.0", 1), granted=told)
    assert amounts(found, GPU) == [(0, 0, 0), (1, 1, 1)]
    assert codes(found) == []


def test_a_plugin_that_contradicts_our_map_is_told_with_both_and_stands() -> None:
    told = granted(devices=gpus(**{"0000:3b:00.0": 0}))
    found = accounts(with_device("0000:3b:00.0", 1), granted=told)
    assert amounts(found, GPU) == [(1, 1, 1), (0, 0, 0)]
    (condition,) = found.conditions
    assert condition.code == "device-node-differs"
    assert "plugin says node 0, the machine's map node 1" in condition.message


def test_shares_of_a_gpu_are_where_their_gpu_is() -> None:
    told = granted(devices=gpus(**{"0000:3b:00.0::0": None, "0000:3b:00.0::1": None}))
    assert amounts(accounts(with_device("0000:3b:00.0", 1), granted=told), GPU)[1] == (2, 2, 2)


def test_a_unit_on_a_memory_node_belongs_to_the_nearest_node_with_cpus() -> None:
    # Grace-like machines: the plugin names the GPU's own memory node.
    topology = machine(numa_node(0, "0-3"), numa_node(1, "4-7"), numa_node(2, ""))
    near = replace(topology.nodes[2], nearest_cpu_nodes=(1,))
    topology = replace(topology, nodes=(*topology.nodes[:2], near))
    found = accounts(topology, granted=granted(devices=gpus(a=2)))
    assert amounts(found, GPU) == [(0, 0, 0), (1, 1, 1)]


def test_a_resource_that_the_node_doesnt_offer_is_in_no_zone() -> None:
    # A scheduler rejects every pod that asks for it there.
    node = Node(name="n", uid=None, allocatable={"cpu": 8000})
    found = accounts(two_nodes(), node=node, granted=granted(devices=gpus(a=0)))
    assert all(GPU not in each.resources for each in found.nodes)
    assert "the Node offers none of it" in found.conditions[0].message


def test_units_that_podresources_doesnt_name_leave_the_resource_out() -> None:
    node = Node(name="n", uid=None, allocatable={GPU: 3})
    found = accounts(two_nodes(), node=node, granted=granted(devices=gpus(a=0, b=1)))
    assert "the Node offers 3 units, podresources names 2" in found.conditions[0].message
    node = Node(name="n", uid=None, allocatable={GPU: 1})
    found = accounts(two_nodes(), node=node, granted=granted(devices=gpus(a=0, b=1)))
    assert amounts(found, GPU) == [(1, 1, 1), (1, 1, 1)]
    assert codes(found) == ["extended-resource-count-differs"]
    node = Node(name="n", uid=None, allocatable={GPU: 0})
    found = accounts(two_nodes(), node=node, granted=granted(devices=gpus(a=0, b=1)))
    assert all(GPU not in each.resources for each in found.nodes)


def test_a_unit_that_is_no_longer_healthy_is_neither_offered_nor_subtracted() -> None:
    told = granted(grant(1, devices=gpus(gone=0)), devices=gpus(a=0, b=1))
    assert amounts(accounts(two_nodes(), pod(1), granted=told), GPU) == [(1, 1, 1), (1, 1, 1)]


def test_a_unit_that_a_claim_took_is_held() -> None:
    claim = DynamicGrant(
        claim_namespace="shop",
        claim_name="one-gpu",
        driver="gpu.nvidia.com",
        pool="n1",
        device="gpu-0",
        cdi_devices=("nvidia.com/gpu=GPU-0",),
    )
    holder = replace(grant(1), dynamic=(claim,))
    told = granted(holder, devices=gpus(**{"GPU-0": 0, "GPU-1": 1}))
    assert amounts(accounts(two_nodes(), pod(1), granted=told), GPU) == [(1, 1, 0), (1, 1, 1)]


@pytest.mark.parametrize("told", [None, granted(), granted(devices=gpus(a=0))])
def test_a_resource_whose_units_nobody_names_is_left_out_and_said_so(
    told: PodResources | None,
) -> None:
    other = "example.com/nic"
    node = Node(name="n", uid=None, allocatable={other: 8, "cpu": 8000, "pods": 110, GPU: 1})
    found = accounts(two_nodes(), node=node, granted=told)
    assert all(other not in each.resources for each in found.nodes)
    named = [each.subject for each in found.conditions if each.code.endswith("unplaced")]
    assert named == ([other] if told and told.offer and told.offer.devices else [other, GPU])


def test_a_claim_that_matches_no_unit_of_its_vendor_is_said() -> None:
    claim = DynamicGrant(
        claim_namespace="shop",
        claim_name="one-gpu",
        driver="gpu.nvidia.com",
        pool="n1",
        device="gpu-0",
        cdi_devices=("k8s.gpu.nvidia.com/device=gpu-0",),
    )
    told = granted(replace(grant(1), dynamic=(claim,)), devices=gpus(a=0, b=1))
    found = accounts(two_nodes(), pod(1), granted=told)
    assert amounts(found, GPU) == [(1, 1, 1), (1, 1, 1)]
    assert codes(found) == ["claimed-device-unmatched"]


def test_a_claim_takes_no_unit_of_another_resource_with_the_same_name() -> None:
    claim = DynamicGrant(
        claim_namespace="shop",
        claim_name="one",
        driver="example.org",
        pool="n1",
        device="0",
        cdi_devices=("nvidia.com/gpu=0",),
    )
    nic = DeviceGrant(resource="example.com/nic", ids=("0",), nodes=(0,))
    found = accounts(
        two_nodes(), pod(1), granted=granted(replace(grant(1), dynamic=(claim,)), devices=(nic,))
    )
    assert amounts(found, "example.com/nic")[0] == (1, 1, 1)
