"""NVML's answers of the generated machines agree with their PCI trees and with published facts."""

import json
from collections import Counter
from typing import Any

import pytest

from numa_agent.core.pci import PciAddress
from tools.machines.tree import Tree

from .test_devices import addresses, folder, node

CUBE_MESH = """
    .  1  2  1  0  0  0  2
    1  .  1  2  0  0  2  0
    2  1  .  2  0  1  0  0
    1  2  2  .  1  0  0  0
    0  0  0  1  .  2  2  1
    0  0  1  0  2  .  1  2
    0  2  0  0  2  1  .  1
    2  0  0  0  1  2  1  .
"""
LOST = {"error": "GpuIsLost"}


def gpus_of(tree: Tree) -> list[Any]:
    answers: Any = json.loads(str(tree["answers/nvml.json"]))
    gpus: list[Any] = answers["gpus"]
    return gpus


def place(gpu: Any) -> str:
    return str(PciAddress.parse(gpu["pci"]["bus_id"]))


def level(tree: Tree, one: str, other: str) -> int:
    """The level by the paths of two devices alone: what is on the way from each to the other."""
    ways = [folder(tree, address).split("/")[2:] for address in (one, other)]
    shared: list[str] = []
    while ways[0][0] == ways[1][0]:
        shared.append(ways[0].pop(0))
        ways[1].pop(0)
    if not shared:
        nodes = {node(tree, one), node(tree, other)}
        return 40 if len(nodes) == 1 and -1 not in nodes else 50
    if len(shared) == 1:
        return 30
    # What is left of each way ends in the device itself.
    return 10 if all(len(way) <= 2 for way in ways) else 20


def test_common_ancestors_are_those_of_the_bridges(machines: dict[str, Tree]) -> None:
    pairs = 0
    for name, tree in machines.items():
        gpus = gpus_of(tree)
        for one in gpus:
            for index, other in enumerate(gpus):
                answer = one["common_ancestor"][index]
                if not isinstance(answer, dict):
                    pairs += 1
                    assert answer == level(tree, place(one), place(other)), (name, place(one))
                elif answer != LOST:
                    assert one is other
    assert pairs > 180


@pytest.mark.parametrize(
    ("machine", "levels"),
    [
        ("nps4-8gpu", {10: 8, 50: 48}),
        ("v100-cube-mesh", {10: 8, 40: 16, 50: 32}),
        ("gb200-like", {40: 4, 50: 8}),
        ("mig-mixed", {40: 2}),
    ],
)
def test_a_machines_pairs_have_these_levels(
    machines: dict[str, Tree], machine: str, levels: dict[int, int]
) -> None:
    gpus = gpus_of(machines[machine])
    answers = [answer for gpu in gpus for answer in gpu["common_ancestor"]]
    assert Counter(answer for answer in answers if isinstance(answer, int)) == levels


def test_levels_of_nps4_gpus_and_nics_are_those_published(machines: dict[str, Tree]) -> None:
    tree = machines["nps4-8gpu"]
    gpus = [place(gpu) for gpu in gpus_of(tree)]
    nics = addresses(tree, "0x15b3", "0x0200", "0x0207")
    beside = {
        0: [0, 1],
        1: [0, 1],
        2: [2, 3],
        3: [2, 3],
        4: [6, 7],
        5: [6, 7],
        6: [8, 9],
        7: [8, 9],
    }
    for index, gpu in enumerate(gpus):
        levels = [level(tree, gpu, nic) for nic in nics]
        assert levels == [20 if nic in beside[index] else 50 for nic in range(len(nics))]
    same_card = {(4, 5), (10, 11)}
    same_switch = {(0, 1), (2, 3), (6, 7), (8, 9)}
    for one in range(len(nics)):
        for other in range(one + 1, len(nics)):
            expected = 10 if (one, other) in same_card else 50
            expected = 20 if (one, other) in same_switch else expected
            assert level(tree, nics[one], nics[other]) == expected


def test_the_switch_inside_an_amd_gpu_makes_its_nic_several_bridges_away(
    machines: dict[str, Tree],
) -> None:
    tree = machines["amd-8gpu"]
    gpus, nics = addresses(tree, "0x1002", "0x1200"), addresses(tree, "0x14e4", "0x0200")
    assert [level(tree, *pair) for pair in zip(gpus, nics, strict=True)] == [20] * 8


def test_the_cube_mesh_has_the_published_links(machines: dict[str, Tree]) -> None:
    gpus = gpus_of(machines["v100-cube-mesh"])
    for gpu, row in zip(gpus, CUBE_MESH.strip().splitlines(), strict=True):
        ends = Counter(gpu["nvlink_remote_bus_id"])
        counts = [ends[other["pci"]["bus_id"]] for other in gpus]
        assert counts == [0 if count == "." else int(count) for count in row.split()]
        assert gpu["nvlink_version"] == [2] * 6
        assert gpu["nvlink_remote_type"] == [0] * 6


def test_every_link_to_a_gpu_comes_back(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        ends: Counter[tuple[str, str]] = Counter()
        for gpu in gpus_of(tree):
            for kind, end in zip(
                gpu["nvlink_remote_type"], gpu["nvlink_remote_bus_id"], strict=True
            ):
                if kind == 0:
                    ends[gpu["pci"]["bus_id"], end] += 1
        assert all(ends[there, here] == number for (here, there), number in ends.items())


def test_nps4_links_lead_to_switches_that_are_devices(machines: dict[str, Tree]) -> None:
    tree = machines["nps4-8gpu"]
    switches = set(addresses(tree, "0x10de", "0x0680"))
    for gpu in gpus_of(tree):
        assert len(gpu["nvlink_state"]) == 12
        ends = {str(PciAddress.parse(end)) for end in gpu["nvlink_remote_bus_id"]}
        assert ends == switches


def test_instances_of_a_split_gpu_have_holes_between(machines: dict[str, Tree]) -> None:
    split, whole = gpus_of(machines["mig-mixed"])
    hole = {"error": "NotFound"}
    assert split["mig_mode"] == {"current": 1, "pending": 1}
    profiles = [device.get("name", hole) for device in split["mig_devices"]]
    name = "NVIDIA A100 80GB PCIe MIG"
    assert profiles == [f"{name} 3g.40gb", hole, f"{name} 2g.20gb", f"{name} 1g.10gb", *[hole] * 3]
    assert (whole["mig_mode"], whole["mig_devices"]) == ({"current": 0, "pending": 0}, [])


def test_a_lost_gpu_refuses_all_and_its_peers_refuse_for_it(machines: dict[str, Tree]) -> None:
    gpus = gpus_of(machines["lost-gpu"])
    lost = gpus[2]
    assert lost["handle"] == lost["uuid"] == lost["memory_bytes"] == lost["mig_mode"] == LOST
    assert lost["memory_affinity"] == [LOST] * 2
    assert lost["xid_events"] == [79]
    for gpu in gpus:
        assert gpu["common_ancestor"][2] == gpu["p2p_read"][2] == LOST
    assert [gpu["handle"] for gpu in gpus] == [None, None, LOST, None]


def test_a_grace_blackwells_own_memory_and_near_nodes(machines: dict[str, Tree]) -> None:
    gpus = gpus_of(machines["gb200-like"])
    assert [gpu["numa_node_id"] for gpu in gpus] == [2, 10, 18, 26]
    near = [gpu["memory_affinity"][0] for gpu in gpus]
    assert near == ["0,3-9,11-17"] * 2 + ["1,19-25,27-33"] * 2
    assert [gpu["cpu_affinity"][0] for gpu in gpus] == ["0-71"] * 2 + ["72-143"] * 2
    assert {(gpu["c2c_enabled"], gpu["addressing_mode"]) for gpu in gpus} == {(1, 2)}


def test_a_racks_gpus_share_a_cluster_and_switches_that_have_no_address(
    machines: dict[str, Tree],
) -> None:
    gpus = gpus_of(machines["gb200-like"])
    fabrics = [gpu["fabric"] for gpu in gpus]
    assert fabrics == [fabrics[0]] * 4
    assert (fabrics[0]["state"], fabrics[0]["clique_id"]) == (3, 32766)
    assert fabrics[0]["cluster_uuid"].strip("0-")
    for gpu in gpus:
        assert gpu["nvlink_remote_type"] == [2] * 18
        assert gpu["nvlink_remote_bus_id"] == [{"error": "NotSupported"}] * 18


def test_a_driver_tells_each_gpus_memory_node(machines: dict[str, Tree]) -> None:
    tree = machines["gb200-like"]
    folders = [f"proc/driver/nvidia/gpus/{place(gpu)}" for gpu in gpus_of(tree)]
    statuses = [str(tree[f"{folder}/numa_status"]).splitlines() for folder in folders]
    assert [rows[0] for rows in statuses] == [f"Node:      {own}" for own in (2, 10, 18, 26)]
    assert len({rows[2] for rows in statuses}) == 4


def test_a_gpu_kept_for_a_guest_is_unknown_to_the_driver(machines: dict[str, Tree]) -> None:
    tree = machines["accelerators"]
    guest, *others = addresses(tree, "0x10de", "0x0302")
    known = {place(gpu) for gpu in gpus_of(tree)}
    assert known == {*others, *addresses(tree, "0x10de", "0x0300")}
    assert f"proc/driver/nvidia/gpus/{guest}/information" not in tree


def test_without_an_nvidia_gpu_there_is_no_library(machines: dict[str, Tree]) -> None:
    answers: Any = json.loads(str(machines["amd-8gpu"]["answers/nvml.json"]))
    assert (answers["init"], answers["gpus"]) == ({"error": "LibraryNotFound"}, [])
    assert not any(path.startswith("proc/driver/") for path in machines["amd-8gpu"])
