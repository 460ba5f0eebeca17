"""The map of every corpus machine against the answers recorded with it, fact by fact."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numa_agent.core import cpulist
from numa_agent.core.topology import NodeKind, Topology
from numa_agent.host.sysfs import read_topology
from tests.corpus.conftest import Tally
from tests.corpus.machines import expected

ANSWERS = expected()

Fact = tuple[str, object, object]
"""What is compared, the right answer, ours."""

NOT_OF_THE_MAP = {
    # What they say, and where it comes from:
    *("answer_from", "arch", "kind", "license", "note", "packages_note", "source"),
    *("memory_only_locality_source", "peers_that_differ", "source_expected_line"),
    # The dump's own cgroup, which the map of a machine doesn't depend on:
    *("own_cgroup_allowed", "restricted_view"),
    # Raw files, whose meaning is compared through numa_nodes, offline and present:
    *("cpulist_vs_cpumap", "kernel_node_cpulist_raw"),
    *("offline_file", "offline_file_also_names_absent_cpus"),
}

WRONG_IN_EXPECTED: dict[tuple[str, str], object] = {
    # A row has one column per online node, but this edited dump kept both columns of its real
    # twin when node 0 was cut away: which of them is node 1's isn't in any file.
    ("hwloc-offline-cpu0-node0", "distances of node 1"): None,
    ("hwloc-offline-cpu0-node0", "distance columns of node 1"): [],
    # This synthetic dump has neither thread_siblings nor core_id: no file tells its cores. The 4
    # is hwloc's guess of one core for each CPU.
    ("hwloc-4fake-4gr1nu1pu", "cores"): None,
}


@pytest.mark.parametrize("machine", sorted(ANSWERS))
def test_the_map_of_a_corpus_machine_is_right_in_every_expected_field(
    machine: str, corpus: Path, corpus_tally: Tally
) -> None:
    topology = read_topology(corpus / machine)
    answer = ANSWERS[machine]
    facts = [
        (name, _right(machine, name, right), ours)
        for name, right, ours in facts_of(answer, topology)
    ]
    corpus_tally.add(machine, len(facts))
    assert {name: right for name, right, _ in facts} == {name: ours for name, _, ours in facts}


def test_every_field_of_the_expected_answers_is_compared_or_named_as_not_of_the_map() -> None:
    fields = {field for answer in ANSWERS.values() for field in answer}
    assert fields - NOT_OF_THE_MAP <= COMPARED


def _right(machine: str, name: str, right: object) -> object:
    return WRONG_IN_EXPECTED.get((machine, name), right)


COMPARED = {
    *("online", "pus", "cores", "packages", "has_node_dir", "present_but_offline", "isolated"),
    *("numa_nodes", "memory_kb", "distances", "hugepages"),
    *("memory_only_nodes", "memory_only_locality"),
    *("pci_devices", "pci_devices_per_numa_node", "accelerators_and_displays"),
    "kubelet_node_status",
}


def facts_of(answer: dict[str, Any], topology: Topology) -> Iterator[Fact]:
    """Every fact that the answer has a value for."""
    yield from _cpu_facts(answer, topology)
    yield from _node_facts(answer, topology)
    yield from _memory_only_facts(answer, topology)
    yield from _pci_facts(answer, topology)
    status = answer.get("kubelet_node_status")
    if status:
        memory = sum(node.memory_bytes or 0 for node in topology.nodes) // 1024
        yield "kubelet's capacity: cpu", status["capacity"]["cpu"], str(len(topology.online))
        yield "kubelet's capacity: memory", status["capacity"]["memory"], f"{memory}Ki"


def _cpu_facts(answer: dict[str, Any], topology: Topology) -> Iterator[Fact]:
    yield "online", answer["online"], cpulist.render(topology.online)
    yield "count", answer["pus"], len(topology.online)
    if answer["cores"] is not None:
        yield "cores", answer["cores"], _count(topology.cores)
    if answer["packages"] is not None:
        yield "packages", answer["packages"], _count(topology.packages)
    yield "offline", answer.get("present_but_offline", ""), cpulist.render(topology.offline)
    yield "isolated", answer.get("isolated", ""), cpulist.render(topology.isolated or ())
    warned = any(warning.code == "no-node-directory" for warning in topology.warnings)
    yield "has a node directory", answer["has_node_dir"], not warned and bool(topology.nodes)


def _count(things: tuple[object, ...] | None) -> int | None:
    return None if things is None else len(things)


def _node_facts(answer: dict[str, Any], topology: Topology) -> Iterator[Fact]:
    nodes = {str(node.id): node for node in topology.nodes}
    yield "nodes", set(answer["numa_nodes"]), set(nodes)
    for node_id, cpus in answer["numa_nodes"].items():
        ours = nodes[node_id].cpus
        yield f"cpus of node {node_id}", cpus, None if ours is None else cpulist.render(ours)
        memory = answer["memory_kb"].get(node_id)
        ours_kb = nodes[node_id].memory_bytes
        yield (
            f"memory of node {node_id}",
            None if memory is None else memory * 1024,
            ours_kb,
        )
    nodes_listed = sorted(int(node_id) for node_id in answer["numa_nodes"])
    for node_id, row in answer.get("distances", {}).items():
        distances = nodes[node_id].distances
        ours_row = None if distances is None else [distances[other] for other in sorted(distances)]
        yield f"distances of node {node_id}", row, ours_row
        yield (
            f"distance columns of node {node_id}",
            nodes_listed,
            sorted(distances or ()),
        )
    for node_id, pools in answer.get("hugepages", {}).items():
        ours_pools = {str(p.size_kib): p.total for p in nodes[node_id].hugepages if p.total}
        yield f"hugepages of node {node_id}", pools, ours_pools


def _memory_only_facts(answer: dict[str, Any], topology: Topology) -> Iterator[Fact]:
    memory_only = [str(node.id) for node in topology.nodes if node.kind is NodeKind.MEMORY]
    yield "memory-only nodes", answer.get("memory_only_nodes", []), memory_only
    without_cpus = [node_id for node_id, cpus in answer["numa_nodes"].items() if not cpus]
    ours = [str(node.id) for node in topology.nodes if not node.cpus]
    yield "nodes without CPUs", sorted(without_cpus), sorted(ours)
    by_id = {node.id: node for node in topology.nodes}
    for node_id, cpus in answer.get("memory_only_locality", {}).items():
        near = by_id[int(node_id)].nearest_cpu_nodes
        local = frozenset[int]().union(*(by_id[other].cpus or () for other in near))
        yield f"CPUs nearest to node {node_id}", cpus, cpulist.render(local)


def _pci_facts(answer: dict[str, Any], topology: Topology) -> Iterator[Fact]:
    if "pci_devices" not in answer:
        return
    yield "PCI devices", answer["pci_devices"], len(topology.pci_devices)
    counts: dict[str, int] = {}
    for device in topology.pci_devices:
        counts[str(device.raw_numa_node)] = counts.get(str(device.raw_numa_node), 0) + 1
    yield "PCI devices per numa_node", answer["pci_devices_per_numa_node"], counts
    devices = {str(device.address): device for device in topology.pci_devices}
    accelerators = {
        address
        for address, device in devices.items()
        if device.class_code is not None
        and (device.class_code >> 16 in {0x03, 0x12} or device.class_code >> 8 == 0x0B40)
    }
    yield "accelerators", set(answer.get("accelerators_and_displays", {})), accelerators
    for address, right in answer.get("accelerators_and_displays", {}).items():
        device = devices[address]
        yield f"class of {address}", right["class"], _hex(device.class_code, 6)
        yield f"vendor of {address}", right["vendor"], _hex(device.vendor, 4)
        yield f"device of {address}", right["device"], _hex(device.device, 4)
        raw = device.raw_numa_node
        yield f"numa_node of {address}", right["numa_node"], None if raw is None else str(raw)


def _hex(number: int | None, digits: int) -> str | None:
    return None if number is None else f"0x{number:0{digits}x}"
