"""The NodeResourceTopology in Koordinator's language: zones, policies, metadata, the CPUs' map."""

import json
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.cpuinfo import CpuInfo
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.schedulers.koordinator import publish
from numa_agent.core.topology import HugePages
from numa_agent.core.view import View
from tests.consumers.koordinator_machines import NODE, TWO_SOCKETS, topology, view
from tests.machine_tree import cpus, machine, numa_node

GIB = 1 << 30

CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"


def published(seen: View) -> Any:
    """The one object that a machine without devices has."""
    (nrt,) = publish(seen).manifests
    return nrt


def annotation(seen: View, key: str) -> Any:
    """An annotation's JSON."""
    return json.loads(published(seen)["metadata"]["annotations"][key])


def detail(seen: View) -> list[tuple[int, int, int, int]]:
    """The CPUs of cpu-topology."""
    listed = annotation(seen, CPU_TOPOLOGY)["detail"]
    return [(cpu["id"], cpu["core"], cpu["socket"], cpu["node"]) for cpu in listed]


def amounts(seen: View) -> list[dict[str, str]]:
    """The zones' allocatable by resource."""
    return [
        {entry["name"]: entry["allocatable"] for entry in zone["resources"]}
        for zone in published(seen)["zones"]
    ]


def codes(seen: View) -> list[str]:
    """The codes of the conditions."""
    return [condition.code for condition in publish(seen).conditions]


def test_the_object_is_whole() -> None:
    zone = [
        {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "4"},
        {"name": "hugepages-1Gi", "capacity": "0", "allocatable": "0", "available": "0"},
        {"name": "hugepages-2Mi", "capacity": "0", "allocatable": "0", "available": "0"},
        {"name": "memory", "capacity": "1Gi", "allocatable": "1Gi", "available": "1Gi"},
    ]
    pools = '[{"socket":0,"node":0,"cpuset":"0-1,4-5"},{"socket":1,"node":1,"cpuset":"2-3,6-7"}]'
    assert published(view(cpu_info=CpuInfo(model="Some CPU", vendor="GenuineIntel"))) == {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n1",
            "labels": {"app.kubernetes.io/managed-by": "Koordinator"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": "n1",
                    "uid": "u1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "annotations": {
                "kubelet.koordinator.sh/cpu-manager-policy": '{"policy":"none"}',
                "node.koordinator.sh/be-cpu-shared-pools": pools,
                "node.koordinator.sh/cpu-basic-info": (
                    '{"cpuModel":"Some CPU","hyperThreadEnabled":true,"vendorID":"GenuineIntel"}'
                ),
                "node.koordinator.sh/cpu-shared-pools": pools,
                "node.koordinator.sh/cpu-topology": (
                    '{"detail":[{"id":0,"core":0,"socket":0,"node":0},'
                    '{"id":1,"core":1,"socket":0,"node":0},'
                    '{"id":2,"core":2,"socket":1,"node":1},'
                    '{"id":3,"core":3,"socket":1,"node":1},'
                    '{"id":4,"core":0,"socket":0,"node":0},'
                    '{"id":5,"core":1,"socket":0,"node":0},'
                    '{"id":6,"core":2,"socket":1,"node":1},'
                    '{"id":7,"core":3,"socket":1,"node":1}]}'
                ),
                "node.koordinator.sh/pod-cpu-allocs": "null",
                "node.koordinator.sh/reservation": "{}",
                "node.koordinator.sh/system-qos-resource": "{}",
            },
        },
        "topologyPolicies": ["None"],
        "zones": [
            {"name": "node-0", "type": "Node", "resources": zone},
            {"name": "node-1", "type": "Node", "resources": zone},
        ],
    }


def test_a_plain_node_is_told_as_its_own_agent_tells_it() -> None:
    # Case 44: 16 CPUs whose cores are (0,1), (2,3) and so on.
    pairs = " ".join(f"{cpu}-{cpu + 1}" for cpu in range(0, 16, 2))
    seen = view(topology(numa_node(0, "0-15"), cores=pairs, packages="0-15"))
    said = published(seen)["metadata"]["annotations"]
    start = (
        '{"detail":[{"id":0,"core":0,"socket":0,"node":0},{"id":1,"core":0,"socket":0,"node":0}'
    )
    assert said[CPU_TOPOLOGY].startswith(start)
    assert said["node.koordinator.sh/cpu-shared-pools"] == (
        '[{"socket":0,"node":0,"cpuset":"0-15"}]'
    )
    assert said["kubelet.koordinator.sh/cpu-manager-policy"] == '{"policy":"none"}'


def test_equal_input_gives_the_same_bytes() -> None:
    again = topology(
        numa_node(0, "5,4,1,0"),
        numa_node(1, "7,6,3,2"),
        cores="3,7 2,6 1,5 0,4",
        packages="2-3,6-7 0-1,4-5",
    )
    assert json.dumps(published(view(again))) == json.dumps(published(view()))


def test_cores_and_sockets_are_numbered_by_their_lowest_cpu() -> None:
    # Offline CPUs and a core_id that two dies use leave no trace in the numbers.
    seen = view(
        topology(
            numa_node(0, "1,3"), numa_node(8, "64-65"), cores="64-65 3 1", packages="64-65 1,3"
        )
    )
    assert detail(seen) == [(1, 0, 0, 0), (3, 1, 0, 0), (64, 2, 1, 8), (65, 2, 1, 8)]


def test_a_core_s_lowest_cpu_orders_it_though_another_core_ends_before_it() -> None:
    seen = view(topology(numa_node(0, "0-3"), cores="1-2 0,3", packages="0-3"))
    assert [(cpu[0], cpu[1]) for cpu in detail(seen)] == [(0, 0), (1, 1), (2, 1), (3, 0)]


def test_offline_cpus_aren_t_told() -> None:
    seen = view(replace(TWO_SOCKETS, online=cpus("0-3,6-7"), present=cpus("0-7")))
    assert [cpu[0] for cpu in detail(seen)] == [0, 1, 2, 3, 6, 7]


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (replace(TWO_SOCKETS, cores=None), "cores"),
        (replace(TWO_SOCKETS, packages=None), "packages"),
        (replace(TWO_SOCKETS, cores=(cpus("0,4"), cpus("1,5"))), "CPUs 2-3,6-7 are in no core"),
        (
            topology(*TWO_SOCKETS.nodes, cores="0,4 1,5 2,6 3,7", packages="0-1,4-5"),
            "CPUs 2-3,6-7 are in no package",
        ),
        (replace(TWO_SOCKETS, nodes=TWO_SOCKETS.nodes[:1]), "2-3,6-7 are in no node"),
        (replace(TWO_SOCKETS, online=frozenset[int]()), "no online CPU"),
        (
            topology(numa_node(0, "0"), numa_node(1, None), cores="0", packages="0"),
            "the CPUs of node 1",
        ),
        (
            topology(numa_node(0, "0", memory_bytes=None), cores="0", packages="0"),
            "the memory of node 0",
        ),
        (
            topology(
                numa_node(0, "0", hugepages=(HugePages(size_kib=2048, total=None, free=0),)),
                cores="0",
                packages="0",
            ),
            "the hugepages of node 0",
        ),
        (machine(), "no online CPU"),
    ],
)
def test_half_a_map_isn_t_told_but_said_to_be_missing(damaged: Any, why: str) -> None:
    rendering = publish(view(damaged))
    assert rendering.manifests == ()
    (condition,) = rendering.conditions
    assert condition.code == "koordinator-topology-unknown"
    assert condition.subject == "n1"
    assert why in condition.message


def test_an_id_that_isn_t_a_whole_number_never_goes_out() -> None:
    # koord-scheduler would end at it: the last look at the texts is there for what can't be.
    odd: Any = 1.5
    seen = view(topology(numa_node(odd, "0"), cores="0", packages="0"))
    rendering = publish(seen)
    assert rendering.manifests == ()
    assert "node 1.5 isn't an integer" in rendering.conditions[0].message


def test_attributes_of_others_are_left_to_them() -> None:
    assert published(view()).keys() == {
        *("apiVersion", "kind", "metadata", "topologyPolicies", "zones")
    }


def test_memory_only_nodes_are_no_zones() -> None:
    # Case 15.
    seen = view(
        topology(
            numa_node(0, "0-1"), numa_node(1, ""), numa_node(2, ""), cores="0 1", packages="0-1"
        )
    )
    assert [zone["name"] for zone in published(seen)["zones"]] == ["node-0"]
    assert codes(seen) == []


def test_holes_between_node_ids_are_told_as_they_are_and_warned_of() -> None:
    # Case 14.
    seen = view(topology(numa_node(0, "0"), numa_node(8, "1"), cores="0 1", packages="0 1"))
    assert [zone["name"] for zone in published(seen)["zones"]] == ["node-0", "node-8"]
    assert codes(seen) == ["koordinator-zone-positions"]


def test_zones_are_sorted_by_name_as_text() -> None:
    # Ids above 9, as koordlet sorts them: the scheduler reads the id, the manager the position.
    nodes = [numa_node(number, str(number)) for number in range(11)]
    single = " ".join(map(str, range(11)))
    seen = view(topology(*nodes, cores=single, packages=single))
    names = [zone["name"] for zone in published(seen)["zones"]]
    assert names[:4] == ["node-0", "node-1", "node-10", "node-2"]
    assert codes(seen) == ["koordinator-zone-positions"]


def test_packages_and_nodes_are_counted_each_from_its_own() -> None:
    # Case 34: two packages of two nodes each; a node isn't a package's half.
    seen = view(
        topology(
            numa_node(0, "0"),
            numa_node(1, "1"),
            numa_node(2, "2"),
            cores="0 1 2",
            packages="0-1 2",
        )
    )
    assert detail(seen) == [(0, 0, 0, 0), (1, 1, 0, 1), (2, 2, 1, 2)]


def test_a_zone_has_all_its_cpus_whatever_kubelet_keeps_or_pods_hold() -> None:
    seen = view(
        reserved=cpus("0"),
        settings=KubeletSettings(cpu_manager_policy="static"),
        assigned={"u": "1,5"},
        kubelet={"k": "2,6"},
        annotations={"node.koordinator.sh/reservation": '{"reservedCPUs": "3"}'},
    )
    assert [zone["cpu"] for zone in amounts(seen)] == ["4", "4"]


def test_memory_is_canonical_text_without_the_hugepages_that_are_told_beside_it() -> None:
    huge = (
        HugePages(size_kib=2048, total=512, free=0),
        HugePages(size_kib=1048576, total=2, free=2),
        HugePages(size_kib=64, total=16, free=16),
    )
    seen = view(
        topology(
            numa_node(0, "0", memory_bytes=64 * GIB, hugepages=huge),
            numa_node(1, "1", memory_bytes=65817236 * 1024),
            cores="0 1",
            packages="0-1",
        )
    )
    first, second = amounts(seen)
    assert (first["hugepages-2Mi"], first["hugepages-1Gi"]) == ("1Gi", "2Gi")
    assert first["memory"] == "62463Mi"
    assert second["memory"] == "65817236Ki"


def test_a_node_whose_memory_is_all_hugepages_has_none_left() -> None:
    huge = (HugePages(size_kib=1048576, total=2, free=2),)
    seen = view(topology(numa_node(0, "0", hugepages=huge), cores="0", packages="0"))
    assert amounts(seen)[0]["memory"] == "0"


def test_the_numa_reservation_takes_an_equal_part_of_what_is_reserved_from_each_zone() -> None:
    node = Node(
        name="n1",
        uid="u1",
        labels={"node.koordinator.sh/enable-numa-reservation": "true"},
        capacity={"cpu": 8000, "memory": 2 * GIB},
        allocatable={"cpu": 6999, "memory": 2 * GIB - 4095},
    )
    seen = view(node=node)
    assert [(zone["cpu"], zone["memory"]) for zone in amounts(seen)] == [
        # 1001 thousandths of a CPU and 4095 bytes, a half each, rounded up.
        ("3499m", "1048574Ki")
    ] * 2
    labels = published(seen)["metadata"]["labels"]
    assert labels["node.koordinator.sh/enable-numa-reservation"] == "true"


def test_a_zone_smaller_than_its_part_of_the_reservation_has_nothing_left() -> None:
    node = Node(
        name="n1",
        uid="u1",
        labels={"node.koordinator.sh/enable-numa-reservation": "true"},
        capacity={"cpu": 8000},
        allocatable={"cpu": 3000},
    )
    uneven = topology(numa_node(0, "0"), numa_node(1, "1-7"), cores="0 1-7", packages="0-7")
    assert [zone["cpu"] for zone in amounts(view(uneven, node=node))] == ["0", "4500m"]


def test_the_numa_reservation_s_label_is_mirrored_and_its_other_values_do_nothing() -> None:
    key = "node.koordinator.sh/enable-numa-reservation"
    node = replace(NODE, labels={key: "false"}, capacity={"cpu": 8000}, allocatable={"cpu": 1000})
    assert published(view(node=node))["metadata"]["labels"][key] == "false"
    assert amounts(view(node=node))[0]["cpu"] == "4"


def test_the_admin_s_amplification_isn_t_copied() -> None:
    key = "node.koordinator.sh/resource-amplification-ratio"
    assert key not in published(view(annotations={key: '{"cpu":1.5}'}))["metadata"]["annotations"]


def test_a_node_whose_uid_isn_t_known_owns_nothing() -> None:
    seen = view(node=Node(name="n1", uid=None))
    assert "ownerReferences" not in published(seen)["metadata"]


@pytest.mark.parametrize(
    ("policy", "scope", "word"),
    [
        ("single-numa-node", "container", "SingleNUMANodeContainerLevel"),
        ("single-numa-node", "pod", "SingleNUMANodePodLevel"),
        ("restricted", "container", "RestrictedContainerLevel"),
        ("restricted", "pod", "RestrictedPodLevel"),
        ("best-effort", "container", "BestEffortContainerLevel"),
        ("best-effort", "pod", "BestEffortPodLevel"),
        ("none", "container", "None"),
        ("none", "pod", "None"),
        ("", "", "None"),
    ],
)
def test_one_policy_is_told_by_kubelet_s_policy_and_scope(
    policy: str, scope: str, word: str
) -> None:
    # Case 41.
    settings = KubeletSettings(topology_manager_policy=policy, topology_manager_scope=scope)
    assert published(view(settings=settings))["topologyPolicies"] == [word]


def test_what_the_agent_keeps_itself_stands_for_kubelet_s_policy() -> None:
    seen = view(topology_policy="single-numa-node", topology_scope="pod")
    assert published(seen)["topologyPolicies"] == ["SingleNUMANodePodLevel"]


def test_kubelet_s_static_policy_is_told_with_its_options_and_reserved_cpus() -> None:
    settings = KubeletSettings(
        cpu_manager_policy="static",
        cpu_manager_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "false"},
    )
    text = published(view(settings=settings, reserved=cpus("4,0")))["metadata"]["annotations"][
        "kubelet.koordinator.sh/cpu-manager-policy"
    ]
    assert text == (
        '{"policy":"static","options":{"distribute-cpus-across-numa":"false",'
        '"full-pcpus-only":"true"},"reservedCPUs":"0,4"}'
    )


def test_reserved_cpus_are_told_of_the_static_policy_only() -> None:
    said = annotation(view(reserved=cpus("0")), "kubelet.koordinator.sh/cpu-manager-policy")
    assert said == {"policy": "none"}


def test_what_isn_t_known_of_the_cpus_is_left_out() -> None:
    one_thread = topology(numa_node(0, "0-1"), cores="0 1", packages="0-1")
    key = "node.koordinator.sh/cpu-basic-info"
    assert annotation(view(one_thread), key) == {}
    unnamed = view(one_thread, cpu_info=CpuInfo(model=None, vendor=None))
    assert annotation(unnamed, key) == {}
