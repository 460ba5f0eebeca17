"""The map as JSON: what isn't known is null, ids are numbers, the order is fixed."""

import json
from dataclasses import replace

from numa_agent.core.devices import DeviceKind, NodeSource
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import (
    Cache,
    CpuGroup,
    CpuKind,
    HugePages,
    TopologyWarning,
)
from numa_agent.core.topology_json import to_json
from tests.machine_tree import cpus, machine, numa_node, pci_device

NOTHING = pci_device("0000:01:00.0")

UNKNOWN = replace(
    machine(numa_node(1, None, memory_bytes=None), online="0"), pci_devices=(NOTHING,)
)

FULL = replace(
    machine(
        numa_node(
            8,
            "8-11,0",
            memory_bytes=4096,
            distances={11: 21, 8: 10},
            hugepages=(HugePages(size_kib=2048, total=4, free=None),),
        ),
        numa_node(11, "", near=(8,)),
        online="0,8-11",
        warnings=(TopologyWarning(code="c", subject="s", message="m"),),
    ),
    present=cpus("0,8-13"),
    isolated=cpus(""),
    cores=(cpus("0"), cpus("8-9")),
    packages=(CpuGroup(id=None, cpus=cpus("0")), CpuGroup(id=7, cpus=cpus("8-11"))),
    dies=(CpuGroup(id=3, cpus=cpus("8-9")),),
    cpu_kinds=(CpuKind(name="core", cpus=cpus("0"), capacity=None),),
    caches=(Cache(level=3, cpus=cpus("8-11"), size_bytes=None),),
    pci_devices=(
        NOTHING,
        replace(
            NOTHING,
            address=PciAddress(0x10000, 0x3B, 0, 1),
            class_code=0x30200,
            vendor=0x10DE,
            device=0x2330,
            kind=DeviceKind.GPU,
            node=8,
            nodes=(8,),
            raw_numa_node=-1,
            node_source=NodeSource.BRIDGE,
        ),
    ),
)


def test_what_no_file_told_is_null_and_never_absent() -> None:
    document = to_json(UNKNOWN)
    assert document["cpus"] == {
        "online": "0",
        "present": "0",
        "offline": "",
        "isolated": None,
        "count": 1,
        "cores": None,
        "packages": None,
        "kinds": [],
    }
    assert document["cores"] is None
    assert document["packages"] is None
    assert document["nodes"] == [
        {
            "id": 1,
            "kind": None,
            "cpus": None,
            "memory_bytes": None,
            "hugepages": [],
            "distances": None,
            "nearest_cpu_nodes": [],
        }
    ]
    assert document["pci_devices"] == [
        {
            "address": "0000:01:00.0",
            "kind": "other",
            "class": None,
            "vendor": None,
            "device": None,
            "driver": None,
            "interfaces": [],
            "rdma": [],
            "physical_function": None,
            "node": None,
            "nodes": [],
            "raw_numa_node": None,
            "node_source": "unknown",
        }
    ]


def test_every_fact_is_there_with_the_kernel_s_ids_and_in_bytes() -> None:
    assert json.loads(json.dumps(to_json(FULL))) == {
        "format": "numa-agent.topology/v1",
        "cpus": {
            "online": "0,8-11",
            "present": "0,8-13",
            "offline": "12-13",
            "isolated": "",
            "count": 5,
            "cores": 2,
            "packages": 2,
            "kinds": [{"name": "core", "cpus": "0", "capacity": None}],
        },
        "packages": [{"id": None, "cpus": "0"}, {"id": 7, "cpus": "8-11"}],
        "dies": [{"id": 3, "cpus": "8-9"}],
        "clusters": [],
        "cores": ["0", "8-9"],
        "nodes": [
            {
                "id": 8,
                "kind": "cpu",
                "cpus": "0,8-11",
                "memory_bytes": 4096,
                "hugepages": [{"size_kib": 2048, "total": 4, "free": None}],
                "distances": {"8": 10, "11": 21},
                "nearest_cpu_nodes": [8],
            },
            {
                "id": 11,
                "kind": "memory",
                "cpus": "",
                "memory_bytes": 1 << 30,
                "hugepages": [],
                "distances": None,
                "nearest_cpu_nodes": [8],
            },
        ],
        "caches": [{"level": 3, "cpus": "8-11", "size_bytes": None}],
        "pci_devices": [
            {
                "address": "0000:01:00.0",
                "kind": "other",
                "class": None,
                "vendor": None,
                "device": None,
                "driver": None,
                "interfaces": [],
                "rdma": [],
                "physical_function": None,
                "node": None,
                "nodes": [],
                "raw_numa_node": None,
                "node_source": "unknown",
            },
            {
                "address": "10000:3b:00.1",
                "kind": "gpu",
                "class": "0x030200",
                "vendor": "0x10de",
                "device": "0x2330",
                "driver": None,
                "interfaces": [],
                "rdma": [],
                "physical_function": None,
                "node": 8,
                "nodes": [8],
                "raw_numa_node": -1,
                "node_source": "bridge",
            },
        ],
        "gpus": [],
        "links": [],
        "warnings": [{"code": "c", "subject": "s", "message": "m"}],
    }


def test_equal_maps_give_the_same_bytes_however_their_mappings_were_filled() -> None:
    node, memory = FULL.nodes
    again = replace(FULL, nodes=(replace(node, distances={8: 10, 11: 21}), memory))
    assert again == FULL
    assert json.dumps(to_json(again)) == json.dumps(to_json(FULL))


def test_distances_are_in_the_order_of_node_ids_as_numbers() -> None:
    distances = {64: 30, 9: 20, 10: 20, 0: 10}
    document = json.dumps(to_json(machine(numa_node(0, "0", distances=distances))))
    assert '"distances": {"0": 10, "9": 20, "10": 20, "64": 30}' in document
