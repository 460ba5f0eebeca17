"""NVLinks, P2P and NICs of GPUs, and what a set of GPUs needs of the machine."""

import pytest

from numa_agent.core import cpulist
from numa_agent.core.assembly import assemble
from numa_agent.core.devices import Link
from numa_agent.core.gpus import NVLINK_BYTES_PER_SECOND
from numa_agent.core.links import Level
from numa_agent.core.nvml import NvLink, NvmlError, NvmlGpu
from numa_agent.core.topology import Cache, Topology
from tests.topo.values import (
    AMD,
    FOUR_NODES,
    GPU_CLASS,
    address,
    answers,
    facts,
    function,
    nic,
    node,
    nvml_gpu,
    to_gpu,
    to_switch,
)

A, B, C = "0000:1b:00.0", "0000:43:00.0", "0000:52:00.0"


def pair(*gpus: NvmlGpu) -> Link:
    """The link of A and B by what NVML says."""
    topology = assemble(facts(function(A, numa=0), function(B, numa=1)), nvml=answers(*gpus))
    (link,) = topology.links
    return link


def test_links_that_lead_to_the_other_gpu_are_counted() -> None:
    link = pair(
        nvml_gpu(0, A, nvlinks=[*to_gpu(B, 2), *to_gpu(C, 1)]),
        nvml_gpu(1, B, nvlinks=to_gpu(A, 2)),
    )
    assert (link.nvlinks, link.switched) == (2, False)
    assert link.level is Level.SYS


@pytest.mark.parametrize(("of_a", "of_b", "shared"), [(18, 18, 18), (18, 12, 12), (18, 0, 0)])
def test_through_a_switch_both_ends_links_count_and_the_fewer_of_them(
    of_a: int, of_b: int, shared: int
) -> None:
    gpus = nvml_gpu(0, A, nvlinks=to_switch(of_a)), nvml_gpu(1, B, nvlinks=to_switch(of_b))
    link = pair(*gpus)
    assert (link.nvlinks, link.switched) == (shared, shared > 0)


def test_straight_links_are_no_switch_s_though_others_lead_into_one() -> None:
    link = pair(
        nvml_gpu(0, A, nvlinks=[*to_gpu(B, 1), *to_switch(4)]),
        nvml_gpu(1, B, nvlinks=[*to_gpu(A, 1), *to_switch(4)]),
    )
    assert (link.nvlinks, link.switched) == (1, False)


def test_links_to_a_processor_join_no_two_gpus() -> None:
    to_npu = NvLink(link=0, version=2, remote_type=1, remote=address("0004:00:00.0"))
    link = pair(nvml_gpu(0, A, nvlinks=[to_npu]), nvml_gpu(1, B, nvlinks=[to_npu]))
    assert (link.nvlinks, link.bytes_per_second) == (0, 0)


def test_an_old_driver_that_names_the_other_end_and_not_its_type_is_believed() -> None:
    end = NvLink(link=0, version=2, remote_type=None, remote=address(B))
    assert pair(nvml_gpu(0, A, nvlinks=[end]), nvml_gpu(1, B)).nvlinks == 1


LOST = NvmlError(call="nvlink_state", argument=0, error="GpuIsLost")
UNKNOWN = NvmlError(call="nvlink_state", argument=3, error="Unknown")
ABSENT = NvmlError(call="nvlink_state", argument=0, error="NotSupported")


@pytest.mark.parametrize(
    "other",
    [
        nvml_gpu(1, B, lost=True, errors=(LOST,)),
        nvml_gpu(1, B, lost=True),
        nvml_gpu(1, B, errors=(UNKNOWN,), nvlinks=to_switch(3)),
        None,
    ],
)
def test_where_one_gpu_s_links_are_unknown_their_number_is_unknown(other: NvmlGpu | None) -> None:
    link = pair(nvml_gpu(0, A, nvlinks=to_switch(18)), *([] if other is None else [other]))
    assert (link.nvlinks, link.switched, link.bytes_per_second) == (None, None, None)
    assert link.level is Level.SYS


def test_a_gpu_without_nvlink_has_none_which_is_known() -> None:
    link = pair(nvml_gpu(0, A, errors=(ABSENT,)), nvml_gpu(1, B, errors=(ABSENT,)))
    assert (link.nvlinks, link.bytes_per_second) == (0, 0)


def test_without_a_driver_a_pair_s_links_are_unknown_and_a_nic_has_none() -> None:
    pci = [function(A, vendor=AMD, numa=0), function(B, vendor=AMD, numa=0), nic(C, numa=0)]
    by_ends = {(str(link.a), str(link.b)): link for link in assemble(facts(*pci)).links}
    assert by_ends[A, B].nvlinks is None
    assert by_ends[A, C].nvlinks == 0


@pytest.mark.parametrize(
    ("version", "gigabytes"), [(1, 20), (2, 25), (3, 25), (4, 25), (5, 25), (6, 25), (7, 50)]
)
def test_the_bandwidth_is_that_of_the_version_for_all_links_together(
    version: int, gigabytes: int
) -> None:
    link = pair(
        nvml_gpu(0, A, nvlinks=to_switch(18, version)),
        nvml_gpu(1, B, nvlinks=to_switch(18, version)),
    )
    assert link.bytes_per_second == 18 * gigabytes * 10**9
    assert NVLINK_BYTES_PER_SECOND[version] == gigabytes * 10**9


@pytest.mark.parametrize("version", [None, 0, 8, 255])
def test_the_bandwidth_of_a_version_that_is_not_known_is_unknown_and_the_links_are_not(
    version: int | None,
) -> None:
    ends = [*to_gpu(B, 1), *to_gpu(B, 1, version)]
    link = pair(nvml_gpu(0, A, nvlinks=ends), nvml_gpu(1, B))
    assert (link.nvlinks, link.bytes_per_second) == (2, None)


def test_p2p_is_said_by_operation_in_words() -> None:
    said = {"write": {1: 2}, "read": {1: 0}, "pci": {1: 99}, "atomics": {}, "nvlink": {5: 0}}
    link = pair(nvml_gpu(0, A, p2p=said), nvml_gpu(1, B))
    assert link.p2p == {
        "read": "ok",
        "write": "GPU not supported",
        "nvlink": None,
        "atomics": None,
        "pci": "unknown",
    }


def test_links_into_a_switch_that_does_not_join_two_gpus_are_no_nvlinks_between_them() -> None:
    # vllm-project/vllm#4159: an active link says nothing of who is at the other end.
    apart = nvml_gpu(0, A, nvlinks=to_switch(18), p2p={"nvlink": {1: 5}})
    link = pair(apart, nvml_gpu(1, B, nvlinks=to_switch(18)))
    assert (link.nvlinks, link.switched, link.bytes_per_second) == (0, False, 0)
    unsure = nvml_gpu(0, A, nvlinks=to_switch(18), p2p={"nvlink": {1: 6}})
    assert pair(unsure, nvml_gpu(1, B, nvlinks=to_switch(18))).nvlinks == 18


def near(*nics: str, gpu: str = A) -> list[str]:
    """The nearest NICs of a GPU behind a switch of node 0."""
    folders = {
        "switch": "pci0000:1a/0000:1a:01.0/0000:1b:00.0/0000:1c:01.0",
        "bridge": "pci0000:1a/0000:1a:02.0",
        "node": "pci0000:40",
        "far": "pci0000:80",
    }
    own = "pci0000:1a/0000:1a:01.0/0000:1b:00.0/0000:1c:00.0"
    cards = [
        nic(f"0000:{0x50 + n:02x}:00.0", numa=1 if where == "far" else 0, below=folders[where])
        for n, where in enumerate(nics)
    ]
    (found,) = assemble(facts(function(gpu, numa=0, below=own), *cards)).gpus
    return [nics[one.bus - 0x50] for one in found.nics or ()]


@pytest.mark.parametrize(
    ("there", "nearest"),
    [
        (["far", "node", "bridge", "switch"], ["switch"]),
        (["far", "node", "bridge"], ["bridge"]),
        (["node", "far", "node"], ["node", "node"]),
        (["far", "far"], ["far", "far"]),
        (["switch", "node", "switch"], ["switch", "switch"]),
        ([], []),
    ],
)
def test_the_nearest_nics_are_those_of_the_least_level_all_of_them_on_a_tie(
    there: list[str], nearest: list[str]
) -> None:
    assert near(*there) == nearest


def test_where_a_nic_whose_node_is_unknown_may_be_nearer_the_nearest_is_unknown() -> None:
    assert assemble(facts(function(A, numa=0), nic(B), nic(C, numa=1))).gpus[0].nics is None
    assert assemble(facts(function(A), nic(B), nic(C, numa=1))).gpus[0].nics is None
    # Behind the same host bridge none of another can be nearer.
    folder = "pci0000:1a"
    beside = nic("0000:1d:00.0", numa=0, below=folder)
    topology = assemble(facts(function(A, numa=0, below=folder), beside, nic(B)))
    assert topology.gpus[0].nics == (beside.address,)


L3 = tuple(Cache(level=3, cpus=frozenset({n, n + 1}), size_bytes=1 << 25) for n in (0, 2, 4, 6))
FIVE = ("0000:10:00.0", "0000:20:00.0", "0000:30:00.0", "0000:40:00.0", "0000:50:00.0")


def four_nodes() -> Topology:
    """A GPU on nodes 0 and 3 each, one on 1 or 2, one on 2 or 3, one that is nowhere."""
    pci = [function(FIVE[0], numa=0), function(FIVE[1], numa=3)]
    pci += [function(FIVE[2], local="2-5"), function(FIVE[3], local="4-7"), function(FIVE[4])]
    return assemble(facts(*pci, nodes=FOUR_NODES, isolated="1,6", caches=L3))


@pytest.mark.parametrize(
    ("positions", "nodes"),
    [
        ([], ""),
        ([0], "0"),
        ([0, 1], "0,3"),
        # Two may share node 2; one that may be on 3 adds nothing where 3 is needed anyway.
        ([2, 3], "2"),
        ([1, 3], "3"),
        ([0, 1, 2], "0-1,3"),
        ([2], "1"),
    ],
)
def test_the_smallest_set_of_nodes_holds_all_the_gpus(positions: list[int], nodes: str) -> None:
    topology = four_nodes()
    found = topology.smallest_nodes(topology.gpus[at] for at in positions)
    assert found == cpulist.parse(nodes)


def test_with_a_gpu_whose_place_is_unknown_no_set_of_nodes_is_known() -> None:
    topology = four_nodes()
    assert topology.smallest_nodes(topology.gpus) is None
    assert topology.cpus_beside([topology.gpus[4]]) is None
    assert topology.caches_beside(topology.gpus[4]) == ()


def test_isolated_cpus_are_beside_a_gpu_only_if_asked_for() -> None:
    topology = four_nodes()
    both = topology.gpus[:2]
    assert topology.cpus_beside(both) == cpulist.parse("0,7")
    assert topology.cpus_beside(both, isolated=True) == cpulist.parse("0-1,6-7")
    assert [gpu.cpus for gpu in both] == [frozenset({0}), frozenset({7})]
    assert topology.gpus[2].cpus is None


def test_the_caches_beside_a_gpu_are_those_of_its_node_isolated_cpus_or_not() -> None:
    topology = four_nodes()
    assert topology.caches_beside(topology.gpus[1]) == (L3[3],)
    small = (Cache(level=3, cpus=frozenset({6}), size_bytes=None), *L3[:3])
    whole = assemble(facts(function(A, numa=0), isolated="2-3", caches=small))
    assert whole.caches_beside(whole.gpus[0]) == L3[:2]


def test_case_45_gpus_are_counted_by_the_node_that_they_are_on() -> None:
    nodes = (node(0, "0-31,64-95"), node(1, "32-63,96-127"))
    places = {"0000:25:00.0": 0, "0000:81:00.0": 1, "0000:e2:00.0": 1}
    pci = [function(name, GPU_CLASS, numa=n) for name, n in places.items()]
    topology = assemble(facts(*pci, nodes=nodes))
    assert {str(gpu.device.address): gpu.device.node for gpu in topology.gpus} == places
    assert topology.gpus[0].cpus == nodes[0].cpus
