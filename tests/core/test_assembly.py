"""The whole map from facts: NVML adds and never replaces, and what doesn't fit is a warning."""

import itertools
from dataclasses import replace

import pytest

from numa_agent.core import cpulist
from numa_agent.core.assembly import assemble
from numa_agent.core.devices import NodeSource
from numa_agent.core.nvml import NvmlCondition, NvmlGpu
from numa_agent.core.overrides import parse
from numa_agent.core.topology import Topology
from tests.topo.values import (
    ASPEED,
    BRIDGE_CLASS,
    INTEL,
    TWO_NODES,
    VGA_CLASS,
    address,
    answers,
    facts,
    function,
    node,
    nvml_gpu,
    to_gpu,
    to_switch,
)

A, B, C, D = "0000:1b:00.0", "0000:43:00.0", "0000:9c:00.0", "0000:c4:00.0"
FOUR_GPUS = facts(
    *(function(name, numa=at, driver="nvidia") for name, at in ((A, 0), (B, 0), (C, 1), (D, -1)))
)


def places(topology: Topology) -> dict[str, tuple[int | None, NodeSource]]:
    return {str(d.address): (d.node, d.node_source) for d in topology.pci_devices}


def said(topology: Topology) -> list[tuple[str, str]]:
    return [(warning.code, warning.message) for warning in topology.warnings]


def test_nvml_never_changes_a_place_that_sysfs_tells() -> None:
    wrong = [nvml_gpu(n, name, memory_nodes=str(n % 2)) for n, name in enumerate((B, A, C))]
    told = places(assemble(FOUR_GPUS, nvml=answers(*wrong)))
    assert told == places(assemble(FOUR_GPUS))
    assert told[A] == (0, NodeSource.SYSFS)


def test_a_place_that_nvml_tells_otherwise_is_kept_with_a_warning_of_both() -> None:
    topology = assemble(FOUR_GPUS, nvml=answers(nvml_gpu(0, A, memory_nodes="1")))
    assert (
        "device-node-contradicted",
        f"{A}: sysfs says node 0, nvml says nodes 1; the first is kept",
    ) in said(topology)


def test_nvml_places_a_gpu_that_firmware_does_not() -> None:
    topology = assemble(FOUR_GPUS, nvml=answers(nvml_gpu(0, D, memory_nodes="1")))
    assert places(topology)[D] == (1, NodeSource.NVML)
    assert "pci-node-unknown" not in [code for code, _ in said(topology)]


def test_devices_that_nothing_places_are_counted_in_one_warning() -> None:
    assert said(assemble(FOUR_GPUS)) == [
        ("pci-node-unknown", "1 PCI device: no source knows their NUMA node")
    ]
    three = facts(*(function(name) for name in (A, B, C)))
    assert [message for _, message in said(assemble(three))] == [
        "3 PCI devices: no source knows their NUMA node"
    ]


def by_index(order: tuple[str, ...]) -> tuple[NvmlGpu, ...]:
    """Four GPUs in this order, each with what belongs to its address."""
    return tuple(
        replace(
            nvml_gpu(
                index,
                name,
                memory_nodes="1",
                nvlinks=[*to_gpu(A if name == B else B, 2), *to_switch(1)],
                common_ancestors={n: 40 for n in range(4) if n != index},
            ),
            uuid=f"GPU-of-{name}",
        )
        for index, name in enumerate(order)
    )


def test_the_order_of_nvml_s_indexes_changes_no_place_and_no_link() -> None:
    first = assemble(FOUR_GPUS, nvml=answers(*by_index((A, B, C, D))))
    for order in itertools.permutations((A, B, C, D)):
        topology = assemble(FOUR_GPUS, nvml=answers(*by_index(order)))
        assert topology.pci_devices == first.pci_devices
        assert topology.links == first.links
        assert [gpu.cpus for gpu in topology.gpus] == [gpu.cpus for gpu in first.gpus]
        for gpu in topology.gpus:
            assert gpu.nvml is not None
            assert gpu.nvml.uuid == f"GPU-of-{gpu.device.address}"


def test_case_21_a_gpu_is_found_in_a_domain_of_five_digits_however_nvml_spells_it() -> None:
    far = facts(function("10000:e1:00.0", numa=1), function("0000:e1:00.0", numa=0))
    topology = assemble(far, nvml=answers(nvml_gpu(0, "00010000:E1:00.0")))
    known = [str(gpu.device.address) for gpu in topology.gpus if gpu.nvml is not None]
    assert known == ["10000:e1:00.0"]


def test_a_gpu_that_sysfs_lacks_is_a_warning_and_costs_nothing_else() -> None:
    ghost = nvml_gpu(1, "0000:ff:00.0", memory_nodes="1", nvlinks=to_gpu(A, 4))
    known = nvml_gpu(0, A)
    topology = assemble(FOUR_GPUS, nvml=answers(known, ghost))
    without = assemble(FOUR_GPUS, nvml=answers(known))
    assert replace(topology, warnings=()) == replace(without, warnings=())
    assert set(said(topology)) - set(said(without)) == {
        ("nvml-gpu-without-pci", "0000:ff:00.0: NVML names a GPU that sysfs lacks")
    }


def test_a_lost_gpu_without_an_address_is_the_one_of_the_driver_s_that_is_left() -> None:
    lost = nvml_gpu(2, None, lost=True)
    rest = [nvml_gpu(n, name) for n, name in enumerate((A, B, D))]
    topology = assemble(FOUR_GPUS, nvml=answers(*rest, lost))
    assert [gpu.health for gpu in topology.gpus] == ["ok", "ok", "lost", "ok"]
    assert places(topology)[C] == (1, NodeSource.SYSFS)


def test_lost_gpus_without_an_address_are_the_ones_left_over_in_the_order_of_addresses() -> None:
    lost = [nvml_gpu(n, None, lost=True) for n in (1, 3)]
    topology = assemble(FOUR_GPUS, nvml=answers(nvml_gpu(0, A), nvml_gpu(2, C), *lost))
    assert [gpu.health for gpu in topology.gpus] == ["ok", "lost", "ok", "lost"]
    assert [gpu.nvml.index for gpu in topology.gpus if gpu.nvml] == [0, 1, 2, 3]


def test_where_nvml_counts_in_another_order_none_of_two_lost_gpus_is_guessed_at() -> None:
    lost = [nvml_gpu(n, None, lost=True) for n in (1, 3)]
    topology = assemble(FOUR_GPUS, nvml=answers(nvml_gpu(2, A), nvml_gpu(0, C), *lost))
    assert [gpu.health for gpu in topology.gpus] == ["ok", None, "ok", None]


def test_a_virtual_function_follows_its_physical_one() -> None:
    virtual = function("0000:1b:00.4", numa=-1, driver="vfio-pci", physical=A)
    by_file = assemble(facts(function(A, numa=1), virtual))
    assert [device.node for device in by_file.pci_devices] == [1, 1]
    overridden = assemble(facts(function(A, numa=0), virtual), overrides=parse({A: 1}))
    assert [device.node for device in overridden.pci_devices] == [1, 1]


@pytest.mark.parametrize("told", [0, 7])
def test_a_gpu_s_memory_is_never_a_node_with_cpus_nor_one_that_isn_t_there(told: int) -> None:
    topology = assemble(FOUR_GPUS, nvml=answers(nvml_gpu(0, A, memory_node=told)))
    assert topology.gpus[0].memory_node is None
    assert "gpu-memory-node-odd" in [code for code, _ in said(topology)]


def test_a_gpu_kept_for_a_guest_is_not_taken_for_the_lost_one() -> None:
    pci = [
        function(A, numa=0, driver="nvidia"),
        function(B, numa=0, driver="vfio-pci"),
        function(C, numa=1, driver="nvidia"),
        function("0000:9c:00.1", 0x0C8000, numa=1, driver="nvidia"),
    ]
    topology = assemble(facts(*pci), nvml=answers(nvml_gpu(0, A), nvml_gpu(1, None, lost=True)))
    assert [gpu.health for gpu in topology.gpus] == ["ok", None, "lost"]
    assert [gpu.device.driver for gpu in topology.gpus] == ["nvidia", "vfio-pci", "nvidia"]


def test_what_nvml_names_is_a_gpu_whatever_its_class() -> None:
    odd = facts(function(A, 0x0B8000, numa=0))
    assert assemble(odd).gpus == ()
    assert [gpu.device.node for gpu in assemble(odd, nvml=answers(nvml_gpu(0, A))).gpus] == [0]


def test_a_bmc_s_display_and_a_gpu_s_audio_are_in_the_map_and_no_gpus() -> None:
    pci = [
        function("0000:03:00.0", VGA_CLASS, ASPEED, numa=0),
        function(A, numa=0),
        function("0000:1b:00.1", 0x040300, numa=0),
    ]
    topology = assemble(facts(*pci))
    assert len(topology.pci_devices) == 3
    assert [str(gpu.device.address) for gpu in topology.gpus] == [A]


def test_an_override_places_a_device_before_every_other_source() -> None:
    overrides = parse({C: 0, f"{D}-0000:ff:1f.7": 1})
    nvml = answers(nvml_gpu(0, C, memory_nodes="1"))
    topology = assemble(FOUR_GPUS, nvml=nvml, overrides=overrides)
    assert places(topology)[C] == (0, NodeSource.OVERRIDE)
    assert places(topology)[D] == (1, NodeSource.OVERRIDE)
    assert topology.gpus[2].device.raw_numa_node == 1
    assert topology.gpus[2].cpus == cpulist.parse("0-3")
    # What it overrules is said, with both.
    assert {code for code, _ in said(topology)} == {"device-node-contradicted"}


@pytest.mark.parametrize("wrong", [2, 9])
def test_an_override_to_a_node_without_cpus_or_to_none_is_named_and_costs_itself_alone(
    wrong: int,
) -> None:
    machine = replace(FOUR_GPUS, nodes=(*TWO_NODES, node(2, "", near=(0,))))
    topology = assemble(machine, overrides=parse({A: wrong, B: 1, "nonsense": 1}))
    assert places(topology)[A] == (0, NodeSource.SYSFS)
    assert places(topology)[B] == (1, NodeSource.OVERRIDE)
    named = [message for code, message in said(topology) if code == "bad-override"]
    assert len(named) == 2
    assert f"{A}: {wrong}: nodes with CPUs are 0-1" in named[1]
    assert "'nonsense': 1" in named[0]


def test_a_bridge_s_node_places_what_hangs_below_it() -> None:
    below = "pci0000:1a/0000:1a:01.0/0000:1b:00.0"
    pci = [
        function("0000:1a:01.0", BRIDGE_CLASS, INTEL, numa=0),
        function("0000:1b:00.0", BRIDGE_CLASS, INTEL, numa=1, below="pci0000:1a/0000:1a:01.0"),
        function("0000:1c:00.0", below=below),
    ]
    assert places(assemble(facts(*pci)))["0000:1c:00.0"] == (1, NodeSource.BRIDGE)


GRACE = (node(0, "0-3"), node(1, "4-7"), node(2, "", near=(0, 1)), node(3, "", near=(0, 1)))


@pytest.mark.parametrize("by_files", [True, False])
def test_case_15_a_node_of_gpu_memory_is_near_to_its_gpu_s_cpus_and_not_its_place(
    by_files: bool,
) -> None:
    owners = {2: address(A)} if by_files else {}
    machine = facts(function(A, numa=1), nodes=GRACE, gpu_memory_nodes=owners)
    gpu = nvml_gpu(0, A, memory_node=None if by_files else 2, memory_nodes="1,3")
    topology = assemble(machine, nvml=answers(gpu))
    assert [(gpu.device.node, gpu.memory_node) for gpu in topology.gpus] == [(1, 2)]
    assert [n.nearest_cpu_nodes for n in topology.nodes] == [(0,), (1,), (1,), (0, 1)]
    assert [n.id for n in topology.cpu_nodes] == [0, 1]
    assert topology.smallest_nodes(topology.gpus) == cpulist.parse("1")


def test_what_is_wrong_with_nvml_as_a_whole_is_a_warning_and_the_map_stands() -> None:
    condition = NvmlCondition(code="nvml-driver-missing", message="load the driver")
    topology = assemble(FOUR_GPUS, nvml=answers(conditions=(condition,)))
    assert ("nvml-driver-missing", "nvml: load the driver") in said(topology)
    assert replace(topology, warnings=()) == replace(assemble(FOUR_GPUS), warnings=())


def test_a_node_with_cpus_is_its_own_nearest_though_nvml_calls_it_a_gpu_s_memory() -> None:
    topology = assemble(FOUR_GPUS, nvml=answers(nvml_gpu(0, C, memory_node=0)))
    assert [n.nearest_cpu_nodes for n in topology.nodes] == [(0,), (1,)]


def test_case_01_node_0_is_a_node_and_not_nothing() -> None:
    below = "pci0000:1a/0000:1a:01.0"
    pci = [
        function("0000:1a:01.0", BRIDGE_CLASS, INTEL, numa=0),
        function(A, below=below),
        function(B, numa=0),
        function(C, local="0-3"),
        function(D),
    ]
    topology = assemble(facts(*pci), nvml=answers(nvml_gpu(0, D, memory_nodes="0")))
    assert [gpu.device.node for gpu in topology.gpus] == [0, 0, 0, 0]
    assert [gpu.device.nodes for gpu in topology.gpus] == [(0,)] * 4
    assert [gpu.device.node_source.value for gpu in topology.gpus] == [
        *("bridge", "sysfs", "local-cpulist", "nvml")
    ]
    assert topology.smallest_nodes(topology.gpus) == cpulist.parse("0")


def test_without_devices_there_is_nothing_to_say() -> None:
    topology = assemble(facts())
    assert (topology.gpus, topology.links, topology.warnings) == ((), (), ())
