"""The NodeResourceTopology that the upstream scheduler plugin reads."""

import json
from typing import Any

from numa_agent.core.accounting import accounts
from numa_agent.core.schedulers.kube_scheduler import NodeIdentity, publication
from numa_agent.core.topology import Topology
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node

ME = NodeIdentity(name="n1", uid="u1")


def published(topology: Topology, assigned: str = "", identity: NodeIdentity = ME) -> Any:
    return publication(identity, accounts(topology, cpus(assigned)))


def test_the_object_is_whole() -> None:
    assert published(TWO_NODES, "0-2") == {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n1",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}],
        },
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 20}],
                "resources": [
                    {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "1"},
                    {
                        "name": "memory",
                        "capacity": "1073741824",
                        "allocatable": "1073741824",
                        "available": "1073741824",
                    },
                ],
            },
            {
                "name": "node-1",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 20}, {"name": "node-1", "value": 10}],
                "resources": [
                    {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "4"},
                    {
                        "name": "memory",
                        "capacity": "1073741824",
                        "allocatable": "1073741824",
                        "available": "1073741824",
                    },
                ],
            },
        ],
    }


def test_a_node_whose_uid_isn_t_known_owns_nothing() -> None:
    identity = NodeIdentity(name="n1", uid=None)
    assert published(TWO_NODES, identity=identity)["metadata"] == {"name": "n1"}


def test_costs_go_by_node_id_and_zones_ascend_by_number() -> None:
    # Case 14: ids 2, 9 and 64; as texts node-64 would come before node-9.
    topology = machine(
        numa_node(2, "0", distances={2: 10, 9: 21, 64: 31}),
        numa_node(9, "1", distances={2: 22, 9: 10, 64: 32}),
        numa_node(64, "2", distances={2: 23, 9: 33, 64: 10}),
    )
    zones = published(topology)["zones"]
    costs = {
        zone["name"]: [(cost["name"], cost["value"]) for cost in zone["costs"]] for zone in zones
    }
    assert list(costs) == ["node-2", "node-9", "node-64"]
    assert costs["node-9"] == [("node-2", 22), ("node-9", 10), ("node-64", 32)]
    assert costs["node-64"] == [("node-2", 23), ("node-9", 33), ("node-64", 10)]


def test_memory_only_nodes_are_neither_zones_nor_costs() -> None:
    # Case 15.
    topology = machine(
        numa_node(0, "0-1", distances={0: 10, 1: 80, 8: 20}),
        numa_node(1, "", near=(0,), distances={0: 80, 1: 10, 8: 80}),
        numa_node(8, "2-3", distances={0: 20, 1: 80, 8: 10}),
    )
    zones = published(topology)["zones"]
    assert [zone["name"] for zone in zones] == ["node-0", "node-8"]
    assert [cost["name"] for zone in zones for cost in zone["costs"]] == ["node-0", "node-8"] * 2


def test_distances_that_no_file_tells_are_left_out() -> None:
    topology = machine(numa_node(0, "0"), numa_node(1, "1", distances={1: 10}))
    first, second = published(topology)["zones"]
    assert "costs" not in first
    assert second["costs"] == [{"name": "node-1", "value": 10}]


def test_a_node_whose_cpus_are_all_assigned_stays_a_zone() -> None:
    zones = published(TWO_NODES, "0-7")["zones"]
    assert [zone["resources"][0]["available"] for zone in zones] == ["0", "0"]


def test_equal_input_gives_the_same_bytes() -> None:
    again = machine(
        numa_node(0, "3,2,1,0", distances={1: 20, 0: 10}),
        numa_node(1, "4-7", distances={1: 10, 0: 20}),
    )
    assert json.dumps(published(again, "5,1")) == json.dumps(published(TWO_NODES, "1,5"))
