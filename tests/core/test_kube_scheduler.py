"""The NodeResourceTopology that the upstream scheduler plugin reads."""

import json
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.fingerprint import fingerprint
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.schedulers.kube_scheduler import adopt, publish
from tests.consumers.kube_nodes import (
    ALIGNED,
    GIB,
    GPU,
    account,
    amount,
    nodes,
    published,
    told,
    view,
)
from tests.machine_tree import cpus, numa_node, pod

TWO = nodes(0, 1)
HALF_USED = (
    account(TWO[0], amount(32, 30, 14), gpu=amount(4, 4, 3)),
    account(TWO[1], amount(32, 32, 32), gpu=amount(4)),
)


def attributes(nrt: Any) -> dict[str, str]:
    return {attribute["name"]: attribute["value"] for attribute in nrt["attributes"]}


def zone(nrt: Any, name: str) -> Any:
    return next(zone for zone in nrt["zones"] if zone["name"] == name)


def test_the_object_is_whole() -> None:
    assert published(*HALF_USED, reserved=cpus("0-1"), pods=[pod(1)]) == {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n1",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}],
        },
        "topologyPolicies": [],
        "attributes": [
            {"name": "cpuManagerPolicy", "value": "static"},
            {"name": "memoryManagerPolicy", "value": "Static"},
            {"name": "nodeTopologyPodsFingerprint", "value": fingerprint([("shop", "p1")])},
            {"name": "nodeTopologyPodsFingerprintMethod", "value": "all"},
            {"name": "reservedSystemCPUs", "value": "0-1"},
            {"name": "topologyManagerPolicy", "value": "single-numa-node"},
            {"name": "topologyManagerScope", "value": "pod"},
        ],
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 21}],
                "resources": [
                    {"name": "cpu", "capacity": "32", "allocatable": "30", "available": "14"},
                    {
                        "name": "memory",
                        "capacity": "68719476736",
                        "allocatable": "68719476736",
                        "available": "68719476736",
                    },
                    {"name": GPU, "capacity": "4", "allocatable": "4", "available": "3"},
                ],
            },
            {
                "name": "node-1",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 21}, {"name": "node-1", "value": 10}],
                "resources": [
                    {"name": "cpu", "capacity": "32", "allocatable": "32", "available": "32"},
                    {
                        "name": "memory",
                        "capacity": "68719476736",
                        "allocatable": "68719476736",
                        "available": "68719476736",
                    },
                    {"name": GPU, "capacity": "4", "allocatable": "4", "available": "4"},
                ],
            },
        ],
    }


def test_a_node_whose_uid_isn_t_known_owns_nothing() -> None:
    anonymous = replace(view(*HALF_USED), node=Node(name="n1", uid=None))
    assert told(publish(anonymous))["metadata"] == {"name": "n1"}


def test_equal_input_gives_the_same_bytes() -> None:
    # Case 43: whatever order the sources came in.
    first, second = HALF_USED
    backwards = [
        replace(part, resources=dict(reversed(part.resources.items()))) for part in (second, first)
    ]
    settings = replace(ALIGNED, topology_manager_options={"b": "true", "a": "false"})
    again = replace(ALIGNED, topology_manager_options={"a": "false", "b": "true"})
    one = published(first, second, pods=[pod(1), pod(2)], settings=settings)
    two = published(*backwards, pods=[pod(2), pod(1)], settings=again)
    assert json.dumps(one) == json.dumps(two)


def test_our_zones_replace_those_that_the_server_holds() -> None:
    ours = published(*HALF_USED)
    assert adopt(ours, None) == adopt(ours, {"zones": [{"name": "node-7"}]}) == ours


def test_kubelet_s_settings_are_told_in_its_own_words() -> None:
    settings = KubeletSettings(
        cpu_manager_policy="static",
        cpu_manager_options={"full-pcpus-only": "true", "align-by-socket": "false"},
        topology_manager_policy="restricted",
        topology_manager_scope="container",
        topology_manager_options={"prefer-closest-numa-nodes": "true"},
        reserved_memory={1: {"memory": GIB}, 0: {"memory": 2 * GIB, "hugepages-1Gi": GIB}},
    )
    said = attributes(published(*HALF_USED, settings=settings, reserved=cpus("0,16,1")))
    assert {name: value for name, value in said.items() if "Fingerprint" not in name} == {
        "cpuManagerPolicy": "static",
        "cpuManagerOptionAlignBySocket": "false",
        "cpuManagerOptionFullPcpusOnly": "true",
        "memoryManagerPolicy": "None",
        "reservedMemory": "0:hugepages-1Gi=1073741824,memory=2147483648;1:memory=1073741824",
        "reservedSystemCPUs": "0-1,16",
        "topologyManagerOptionPreferClosestNumaNodes": "true",
        "topologyManagerPolicy": "restricted",
        "topologyManagerScope": "container",
    }


def test_what_this_agent_keeps_itself_stands_for_kubelet_s_policy() -> None:
    # Case 41: a policy says nothing without its scope.
    said = attributes(
        published(
            *HALF_USED,
            settings=KubeletSettings(),
            topology_policy="single-numa-node",
            topology_scope="pod",
        )
    )
    assert said["topologyManagerPolicy"] == "single-numa-node"
    assert said["topologyManagerScope"] == "pod"


def test_a_policy_that_the_scheduler_doesn_t_know_is_told_and_said() -> None:
    settings = replace(ALIGNED, topology_manager_policy="SingleNumaNode")
    rendering = publish(view(*HALF_USED, settings=settings))
    assert attributes(told(rendering))["topologyManagerPolicy"] == "SingleNumaNode"
    (condition,) = rendering.conditions
    assert condition.code == "topology-manager-unknown"
    assert "'SingleNumaNode'" in condition.message


def test_a_fingerprint_counts_what_the_zones_list() -> None:
    demands = Demands(containers=(Demand(container="c", role=Role.APP, requests={GPU: 1}),))
    asking = replace(pod(1), demands=demands)
    method = "with-exclusive-resources"
    with_gpus = attributes(published(*HALF_USED, pods=[asking], fingerprint_method=method))
    assert with_gpus["nodeTopologyPodsFingerprint"] == fingerprint([("shop", "p1")])
    assert with_gpus["nodeTopologyPodsFingerprintMethod"] == method
    plain = (account(TWO[0], amount(4)), account(TWO[1], amount(4)))
    without = attributes(published(*plain, pods=[asking], fingerprint_method=method))
    assert without["nodeTopologyPodsFingerprint"] == fingerprint([])


def test_every_zone_lists_what_any_lists() -> None:
    # Cases 40 and 45: a zone without CPUs, GPUs or hugepages to give has none of them.
    first = account(TWO[0], amount(32, 0, 0), small=amount(GIB))
    second = account(TWO[1], amount(32), gpu=amount(8, 8, 7))
    nrt = published(first, second)
    names = [[row["name"] for row in zone["resources"]] for zone in nrt["zones"]]
    assert names == [["cpu", "hugepages-2Mi", "memory", GPU]] * 2
    rows = {row["name"]: row for row in zone(nrt, "node-0")["resources"]}
    nothing = {"capacity": "0", "allocatable": "0", "available": "0"}
    assert rows[GPU] == {"name": GPU, **nothing}
    assert rows["cpu"] == {"name": "cpu", **nothing, "capacity": "32"}


def test_costs_go_by_node_id_and_zones_ascend_by_number() -> None:
    # Case 14: `distance` has a column for each online node. As texts node-10 comes before node-2.
    own = {
        2: numa_node(2, "0", distances={2: 10, 10: 21, 11: 31}),
        10: numa_node(10, "1", distances={2: 22, 10: 10, 11: 32}),
        11: numa_node(11, "2", distances={2: 23, 10: 33, 11: 10}),
    }
    nrt = published(*(account(node, amount(1)) for node in reversed(own.values())))
    assert [zone["name"] for zone in nrt["zones"]] == [f"node-{number}" for number in range(12)]
    costs = {
        name: {c["name"]: c["value"] for c in zone(nrt, name)["costs"] if c["value"] != 255}
        for name in ("node-2", "node-10", "node-11")
    }
    assert costs["node-2"] == {"node-2": 10, "node-10": 21, "node-11": 31}
    assert costs["node-10"] == {"node-2": 22, "node-10": 10, "node-11": 32}
    assert costs["node-11"] == {"node-2": 23, "node-10": 33, "node-11": 10}


def test_a_hole_in_the_ids_is_a_zone_that_nothing_fits_and_that_nothing_is_near() -> None:
    sparse = nodes(0, 2)
    nrt = published(*(account(node, amount(8)) for node in sparse.values()))
    names = ["node-0", "node-1", "node-2"]
    far = [{"name": name, "value": 255} for name in names]
    assert [zone["name"] for zone in nrt["zones"]] == names
    assert zone(nrt, "node-1") == {"name": "node-1", "type": "Node", "costs": far}
    assert zone(nrt, "node-2")["costs"] == [
        {"name": "node-0", "value": 21},
        {"name": "node-1", "value": 255},
        {"name": "node-2", "value": 10},
    ]


def test_memory_only_nodes_are_no_zones_unless_asked_for() -> None:
    # Case 15: node 1 is a hole among the zones, however near its memory is.
    three = nodes(0, 2, memory=[1], distance=11)
    own = [account(three[number], amount(8)) for number in (0, 2)]
    nrt = published(*own, others=[three[1]])
    assert [(zone["name"], zone["type"]) for zone in nrt["zones"]] == [
        ("node-0", "Node"),
        ("node-1", "Node"),
        ("node-2", "Node"),
    ]
    assert {c["value"] for c in zone(nrt, "node-1")["costs"]} == {255}
    assert "resources" not in zone(nrt, "node-1")


def test_memory_only_nodes_are_zones_of_their_own_kind_below_their_home() -> None:
    three = nodes(0, 1, memory=[2])
    own = [account(three[number], amount(8)) for number in (0, 1)]
    nrt = published(*own, others=[three[2]], memory_zones=True)
    assert [zone["name"] for zone in nrt["zones"]] == ["node-0", "node-1", "memory-2"]
    assert zone(nrt, "memory-2") == {
        "name": "memory-2",
        "type": "MemoryNode",
        "parent": "node-0",
        "costs": [
            {"name": "node-0", "value": 21},
            {"name": "node-1", "value": 21},
            {"name": "memory-2", "value": 10},
        ],
        "resources": [
            {
                "name": "memory",
                "capacity": "103079215104",
                "allocatable": "0",
                "available": "0",
            }
        ],
    }
    assert {"name": "memory-2", "value": 21} in zone(nrt, "node-0")["costs"]


def test_an_accounted_memory_only_node_tells_its_account_without_devices() -> None:
    three = nodes(0, 1, memory=[2])
    own = [account(three[number], amount(8)) for number in (0, 1)]
    far = replace(account(three[2], amount(0), gpu=amount(1)))
    del far.resources["cpu"]
    nrt = published(*own, far, memory_zones=True)
    rows = zone(nrt, "memory-2")["resources"]
    assert [(row["name"], row["available"]) for row in rows] == [("memory", "68719476736")]


def test_distances_that_no_file_tells_are_left_out() -> None:
    first = account(numa_node(0, "0"), amount(1))
    second = account(numa_node(1, "1", distances={1: 10}), amount(1))
    zones = published(first, second)["zones"]
    assert "costs" not in zones[0]
    assert zones[1]["costs"] == [{"name": "node-1", "value": 10}]


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        # Cases 14 and 15: ids of real machines; the plugin has places for 0-63.
        ((0, 1, 2, 33, 34, 45, 72, 73), "NUMA node 73 is above 63"),
        ((0, 64), "NUMA node 64 is above 63"),
        ((0, 252), "NUMA node 252 is above 63"),
        ((0, 20), "the holes between NUMA nodes 0,20 make 21 zones"),
        ((0, 63), "the holes between NUMA nodes 0,63 make 64 zones"),
    ],
)
def test_a_machine_that_the_plugin_can_t_take_has_no_zones_and_no_policy(
    ids: tuple[int, ...], why: str
) -> None:
    own = [account(node, amount(8)) for node in nodes(*ids).values()]
    rendering = publish(view(*own))
    nrt = told(rendering)
    assert nrt["zones"] == []
    assert "topologyManagerPolicy" not in attributes(nrt)
    assert attributes(nrt)["nodeTopologyPodsFingerprint"] == fingerprint([])
    (condition,) = rendering.conditions
    assert (condition.code, condition.subject) == ("zones-unpublishable", "n1")
    assert condition.message.startswith(f"node n1: {why}")


@pytest.mark.parametrize(("ids", "count"), [((0, 19), 20), ((0, 1, 16, 17), 18), ((0, 8), 9)])
def test_holes_are_filled_as_long_as_the_scheduler_gets_through(
    ids: tuple[int, ...], count: int
) -> None:
    own = [account(node, amount(8)) for node in nodes(*ids).values()]
    rendering = publish(view(*own))
    assert [z["name"] for z in told(rendering)["zones"]] == [f"node-{n}" for n in range(count)]
    assert attributes(told(rendering))["topologyManagerMaxNUMANodes"] == str(count)
    assert rendering.conditions == ()


def test_a_machine_with_many_nodes_is_told_with_a_warning() -> None:
    own = [account(node, amount(8)) for node in nodes(*range(64)).values()]
    rendering = publish(view(*own))
    assert len(told(rendering)["zones"]) == 64
    assert attributes(told(rendering))["topologyManagerMaxNUMANodes"] == "64"
    assert [condition.code for condition in rendering.conditions] == ["zones-many"]


def test_eight_zones_are_what_the_plugin_expects() -> None:
    own = [account(node, amount(8)) for node in nodes(*range(8)).values()]
    assert "topologyManagerMaxNUMANodes" not in attributes(published(*own))


@pytest.mark.parametrize("missing", ["cpu", "memory"])
def test_nothing_is_told_of_a_machine_with_a_part_unknown(missing: str) -> None:
    first, second = HALF_USED
    partial = replace(
        second, resources={k: v for k, v in second.resources.items() if k != missing}
    )
    rendering = publish(view(first, partial))
    assert rendering.manifests == ()
    (condition,) = rendering.conditions
    assert (condition.code, condition.subject) == ("accounts-unknown", "node 1")
    assert missing in condition.message


def test_nothing_is_told_of_a_machine_without_accounts() -> None:
    rendering = publish(view(others=list(TWO.values())))
    assert rendering.manifests == ()
    assert [condition.code for condition in rendering.conditions] == ["accounts-unknown"]
