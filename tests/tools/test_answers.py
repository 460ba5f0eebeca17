"""What live APIs would answer has their shape and agrees with the rest of the folder."""

import json
from collections import Counter
from typing import Any

import pytest
import yaml

from numa_agent.core.cpulist import parse
from numa_agent.core.pci import PciAddress
from tools.machines.build import build
from tools.machines.checkpoint import cpu_checkpoint, memory_checkpoint
from tools.machines.jsontext import render_json
from tools.machines.reading import parse_machine
from tools.machines.tree import Tree

CUBE = """
about: Four GPUs in a ring of NVLinks, one of them split, one of them lost.
cpus: {packages: 2, cores: 8}
nodes: [{id: 0, cpus: "0-7", memory: 64Gi}, {id: 1, cpus: "8-15", memory: 64Gi}]
pci:
  - {roots: ["0000:10"], node: 0, devices: [{switch: [h100, {switch: [h100]}]}]}
  - {roots: ["10000:20"], node: 1, devices: [{port: [h100]}, {port: [h100]}]}
nvidia:
  nvlink: [[0, 1, 2], [1, 2, 1], [2, 3, 2], [3, 0, 1]]
  mig: {1: [1g.10gb, null, 2g.20gb]}
  changes: {3: {handle: {error: GpuIsLost}}}
"""


def answer(tree: Tree, name: str) -> Any:
    entry = tree[f"answers/{name}.json"]
    assert isinstance(entry, str)
    return json.loads(entry)


@pytest.fixture(scope="module")
def cube() -> list[Any]:
    gpus: list[Any] = answer(build(parse_machine("cube", CUBE)), "nvml")["gpus"]
    return gpus


def test_every_machine_says_what_it_is(machines: dict[str, Tree]) -> None:
    for name, tree in machines.items():
        card = yaml.safe_load(str(tree["recorded.yaml"]))
        assert card["format"] == "numa-agent.recorded/v1"
        assert card["name"] == name
        assert card["node"] == answer(tree, "node")["metadata"]["name"]


def test_pods_are_a_list_bound_to_the_node(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        pods = answer(tree, "pods")
        assert (pods["kind"], pods["apiVersion"]) == ("PodList", "v1")
        node = answer(tree, "node")["metadata"]["name"]
        assert all(pod["spec"]["nodeName"] == node for pod in pods["items"])
        uids = [pod["metadata"]["uid"] for pod in pods["items"]]
        assert len(set(uids)) == len(uids)


def test_a_guaranteed_pods_limits_are_its_requests(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        for pod in answer(tree, "pods")["items"]:
            for container in pod["spec"]["containers"]:
                asked = container["resources"]
                equal = bool(asked) and asked.get("limits") == asked.get("requests")
                assert equal == (pod["status"]["qosClass"] == "Guaranteed"), pod["metadata"]


def test_a_pod_that_is_being_started_has_no_containers_yet(machines: dict[str, Tree]) -> None:
    by_phase = {
        p["status"]["phase"]: p for p in answer(machines["two-socket-8gpu"], "pods")["items"]
    }
    assert "containerStatuses" not in by_phase["Pending"]["status"]
    ended = by_phase["Succeeded"]["status"]["containerStatuses"][0]["state"]
    assert ended["terminated"]["reason"] == "Completed"


def test_pod_resources_leave_out_node_0s_id_and_write_numbers_as_texts(
    machines: dict[str, Tree],
) -> None:
    resources = answer(machines["four-node-snc"], "podresources")
    first, second, *_ = resources["allocatable"]["memory"]
    assert first["topology"] == {"nodes": [{}]}
    assert second["topology"] == {"nodes": [{"ID": "1"}]}
    assert resources["list"]["podResources"][0]["containers"][0]["cpuIds"] == [
        "3",
        "4",
        "27",
        "28",
    ]


def test_pod_resources_give_the_trainer_the_gpus_of_node_1(machines: dict[str, Tree]) -> None:
    tree = machines["two-socket-8gpu"]
    (trainer,) = answer(tree, "podresources")["list"]["podResources"][0]["containers"]
    held = {device["deviceIds"][0] for device in trainer["devices"]}
    gpus = answer(tree, "nvml")["gpus"]
    assert held == {gpu["uuid"] for gpu in gpus[4:]}
    assert {gpu["memory_affinity"][0] for gpu in gpus[4:]} == {"1"}


def numbers_of(devices: list[Any]) -> dict[str, str]:
    numbers = Counter(device["resourceName"] for device in devices for _ in device["deviceIds"])
    return {resource: str(number) for resource, number in numbers.items()}


def test_the_node_allots_the_devices_that_pod_resources_list(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        status = answer(tree, "node")["status"]
        devices = answer(tree, "podresources")["allocatable"].get("devices", [])
        allotted = {key: text for key, text in status["allocatable"].items() if "/" in key}
        assert allotted == numbers_of(devices)
        assert allotted.keys() == {key for key in status["capacity"] if "/" in key}


def test_containers_hold_the_devices_that_they_ask_for(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        listed = answer(tree, "podresources")["list"].get("podResources", [])
        held = {
            (entry["namespace"], entry["name"], container["name"]): container.get("devices", [])
            for entry in listed
            for container in entry["containers"]
        }
        for pod in answer(tree, "pods")["items"]:
            key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
            for container in pod["spec"]["containers"]:
                asked = container["resources"].get("requests", {})
                devices = {name: text for name, text in asked.items() if "/" in name}
                assert devices == numbers_of(held.get((*key, container["name"]), []))


def test_each_profile_of_a_split_gpu_is_a_resource_of_its_own(machines: dict[str, Tree]) -> None:
    tree = machines["mig-mixed"]
    devices = answer(tree, "podresources")["allocatable"]["devices"]
    profiles = ["mig-3g.40gb", "mig-2g.20gb", "mig-1g.10gb", "gpu"]
    assert [device["resourceName"] for device in devices] == [f"nvidia.com/{p}" for p in profiles]
    split, whole = answer(tree, "nvml")["gpus"]
    uuids = [device["uuid"] for device in split["mig_devices"] if "uuid" in device]
    assert [device["deviceIds"] for device in devices] == [[u] for u in [*uuids, whole["uuid"]]]


def test_an_unhealthy_gpu_is_not_allotted_and_still_held(machines: dict[str, Tree]) -> None:
    tree = machines["lost-gpu"]
    status = answer(tree, "node")["status"]
    numbers = [status[key]["nvidia.com/gpu"] for key in ("capacity", "allocatable")]
    assert numbers == ["4", "3"]
    resources = answer(tree, "podresources")
    free = {device["deviceIds"][0] for device in resources["allocatable"]["devices"]}
    (trainer,) = resources["list"]["podResources"][0]["containers"]
    held = [device["deviceIds"][0] for device in trainer["devices"]]
    assert [uuid in free for uuid in held] == [False, True]


def test_other_vendors_devices_have_their_plugins_names(machines: dict[str, Tree]) -> None:
    devices = answer(machines["accelerators"], "podresources")["allocatable"]["devices"]
    assert numbers_of(devices) == {
        "nvidia.com/gpu": "3",
        "habana.ai/gaudi": "2",
        "gpu.intel.com/i915": "1",
        "huawei.com/Ascend910": "1",
    }
    unplaced = [device["deviceIds"] for device in devices if "topology" not in device]
    assert unplaced == [["Ascend910-0"]]


def test_a_device_of_unknown_node_has_no_topology(machines: dict[str, Tree]) -> None:
    devices = answer(machines["vm-unknown-locality"], "podresources")["allocatable"]["devices"]
    assert len(devices) == 2
    assert not any("topology" in device for device in devices)


def test_finished_pods_are_not_in_pod_resources(machines: dict[str, Tree]) -> None:
    listed = answer(machines["two-socket-8gpu"], "podresources")["list"]["podResources"]
    assert "evaluate-0" in [pod["name"] for pod in listed]
    assert "prepare-9gk2m" not in [pod["name"] for pod in listed]


def test_nvml_names_the_same_devices_as_sysfs(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        for gpu in answer(tree, "nvml")["gpus"]:
            address = PciAddress.parse(gpu["pci"]["bus_id"])
            assert f"sys/bus/pci/devices/{address}" in tree
            assert f"proc/driver/nvidia/gpus/{address}/information" in tree


def test_every_nvml_list_has_the_length_of_its_argument(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        gpus = answer(tree, "nvml")["gpus"]
        for gpu in gpus:
            links = {len(value) for key, value in gpu.items() if key.startswith("nvlink_")}
            peers = {len(value) for key, value in gpu.items() if key.startswith("p2p_")}
            assert len(links) == 1
            assert peers == {len(gpus)} == {len(gpu["common_ancestor"])}
            assert len(gpu["cpu_affinity"]) == len(gpu["memory_affinity"]) == 2


def test_a_machine_without_a_gpu_has_no_library(machines: dict[str, Tree]) -> None:
    answers = answer(machines["four-node-snc"], "nvml")
    assert answers["init"] == {"error": "LibraryNotFound"}
    assert answers["gpus"] == []


def test_an_old_driver_lacks_calls(machines: dict[str, Tree]) -> None:
    gpus = answer(machines["sparse-offline"], "nvml")["gpus"]
    assert [gpu["numa_node_id"] for gpu in gpus] == [{"error": "FunctionNotFound"}] * 2


def test_a_split_gpus_instances_have_holes_and_seven_places(cube: list[Any]) -> None:
    devices = cube[1]["mig_devices"]
    assert cube[1]["mig_mode"] == {"current": 1, "pending": 1}
    assert [sorted(device) == ["error"] for device in devices] == [False, True, False] + [True] * 4
    assert devices[2]["name"].endswith(" MIG 2g.20gb")
    assert cube[0]["mig_devices"] == []


def test_direct_links_name_the_gpu_at_the_other_end(cube: list[Any]) -> None:
    ends = [cube[0]["pci"]["bus_id"]] * 2 + [cube[2]["pci"]["bus_id"]]
    assert cube[1]["nvlink_remote_bus_id"] == ends
    assert cube[1]["nvlink_remote_type"] == [0, 0, 0]
    assert cube[0]["p2p_nvlink"] == [{"error": "InvalidArgument"}, 0, 5, 0]


def test_levels_follow_the_bridges_between(cube: list[Any]) -> None:
    assert cube[0]["common_ancestor"] == [{"error": "InvalidArgument"}, 20, 50, 50]
    assert cube[2]["common_ancestor"] == [50, 50, {"error": "InvalidArgument"}, 30]


def test_a_domain_above_16_bits_is_written_in_full(cube: list[Any]) -> None:
    assert cube[2]["pci"]["bus_id"] == "00010000:21:00.0"


def test_a_changed_answer_is_that_gpus_alone(cube: list[Any]) -> None:
    assert [gpu["handle"] for gpu in cube] == [None, None, None, {"error": "GpuIsLost"}]


def test_checksums_are_those_of_a_real_kubelet() -> None:
    none = json.loads(cpu_checkpoint("none", "", {}))
    assert none == {"policyName": "none", "defaultCpuSet": "", "checksum": 1353318690}
    uids = "774098d8-52e5-4cf3-b3f9-9dcf2732836f", "c8e3ca55-163a-4c81-94be-bfdc57a4fadc"
    cpus = cpu_checkpoint("static", "0-1,4-5", {uids[0]: {"c": "6-7"}, uids[1]: {"c": "2-3"}})
    assert json.loads(cpus)["checksum"] == 2866140399
    assert json.loads(memory_checkpoint("None", {}, {}))["checksum"] == 4236770233
    assert (
        json.loads(memory_checkpoint("Static", *measured_memory(uids)))["checksum"] == 3790425026
    )


def measured_memory(uids: tuple[str, str]) -> tuple[dict[int, Any], dict[str, Any]]:
    """The state that kubelet 1.36.3 wrote on a machine with two nodes of 2 GiB."""
    empty = dict.fromkeys(("total", "systemReserved", "allocatable", "reserved", "free"), 0)
    tables = (
        (1998069760, 104857600, 1893212160, 536870912, 1356341248),
        (2111885312, 104857600, 2007027712, 268435456, 1738592256),
    )
    nodes = {
        node: {
            "numberOfAssignments": 1,
            "memoryMap": {"hugepages-2Mi": empty, "memory": dict(zip(empty, table, strict=True))},
            "cells": [node],
        }
        for node, table in enumerate(tables)
    }
    blocks = {uids[0]: (1, 268435456), uids[1]: (0, 536870912)}
    entries = {
        uid: {"c": [{"numaAffinity": [node], "type": "memory", "size": size}]}
        for uid, (node, size) in blocks.items()
    }
    return nodes, entries


def test_memory_adds_up(machines: dict[str, Tree]) -> None:
    state = json.loads(str(machines["four-node-snc"]["var/lib/kubelet/memory_manager_state"]))
    for node in state["machineState"].values():
        table, huge = node["memoryMap"]["memory"], node["memoryMap"]["hugepages-1Gi"]["total"]
        assert table["total"] == table["allocatable"] + table["systemReserved"] + huge
        assert table["allocatable"] == table["reserved"] + table["free"]


def test_allocatable_cpus_leave_out_the_reserved_ones(machines: dict[str, Tree]) -> None:
    status = answer(machines["two-socket-8gpu"], "node")["status"]
    online = parse(str(machines["two-socket-8gpu"]["sys/devices/system/cpu/online"]))
    assert int(status["capacity"]["cpu"]) == len(online) == 224
    assert int(status["allocatable"]["cpu"]) == 222


def test_json_stays_on_one_line_as_long_as_it_fits() -> None:
    assert render_json({"a": [1, 2], "b": {}}) == '{"a": [1, 2], "b": {}}\n'
    long = {"numbers": list(range(60)), "deep": {"list": [{"k": "v" * 40}] * 3}}
    rendered = render_json(long)
    assert json.loads(rendered) == long
    assert max(map(len, rendered.splitlines())) < 99
