"""What an apply keeps of the object in the cluster, whose lists it replaces whole."""

import copy
import json
from typing import Any

import pytest

from numa_agent.core.schedulers.koordinator import adopt, publish
from tests.consumers import koordinator as reader
from tests.consumers.koordinator_machines import recorded, view

SINCE = "2026-03-02T08:00:00Z"


def topology() -> Any:
    """A NodeResourceTopology of two zones."""
    return publish(view()).manifests[0]


def device() -> Any:
    """A Device of a GPU in MIG mode, told as unhealthy, a whole one and two NICs."""
    return publish(recorded("mig-mixed")).manifests[1]


def resource(name: str, amount: str = "5") -> dict[str, str]:
    """A resource of a zone."""
    return {"name": name, "capacity": amount, "allocatable": amount, "available": amount}


def names(manifest: Any, zone: int = 0) -> list[str]:
    """The names of a zone's resources."""
    return [entry["name"] for entry in manifest["zones"][zone]["resources"]]


@pytest.mark.parametrize("ours", [topology(), device()])
def test_without_an_object_there_is_nothing_to_keep(ours: Any) -> None:
    assert adopt(ours, None) == ours


@pytest.mark.parametrize("ours", [topology(), device()])
def test_our_own_object_stays_as_it_is_to_the_byte(ours: Any) -> None:
    assert json.dumps(adopt(ours, copy.deepcopy(ours))) == json.dumps(ours)


def test_the_manager_s_resources_stay_in_their_zone_sorted_by_name() -> None:
    live = topology()
    live["zones"][1]["resources"] += [
        resource("kubernetes.io/batch-memory"),
        resource("kubernetes.io/batch-cpu", "3500"),
    ]
    kept = adopt(topology(), live)
    assert names(kept, 0) == ["cpu", "hugepages-1Gi", "hugepages-2Mi", "memory"]
    assert names(kept, 1) == [
        *("cpu", "hugepages-1Gi", "hugepages-2Mi"),
        *("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", "memory"),
    ]
    zone: Any = kept["zones"]
    assert zone[1]["resources"][3] == resource("kubernetes.io/batch-cpu", "3500")
    assert reader.broken(reader.NRT_RULES, kept) == []


def test_keeping_twice_changes_nothing() -> None:
    live = topology()
    live["zones"][0]["resources"].insert(0, resource("kubernetes.io/batch-cpu"))
    once = adopt(topology(), live)
    assert json.dumps(adopt(topology(), once)) == json.dumps(once)


def test_the_order_of_the_live_object_doesn_t_matter() -> None:
    live = topology()
    live["zones"][0]["resources"] += [resource("b"), resource("a")]
    turned = copy.deepcopy(live)
    turned["zones"].reverse()
    turned["zones"][1]["resources"].reverse()
    assert json.dumps(adopt(topology(), live)) == json.dumps(adopt(topology(), turned))


def test_our_amounts_stand_against_the_live_ones() -> None:
    live = topology()
    live["zones"][0]["resources"] = [resource("cpu", "99")]
    assert adopt(topology(), live) == topology()


def test_a_gpu_is_never_kept_in_a_zone() -> None:
    live = topology()
    live["zones"][0]["resources"].append(resource("koordinator.sh/gpu"))
    assert adopt(topology(), live) == topology()


def test_zones_of_nodes_that_aren_t_there_are_dropped() -> None:
    live = topology()
    live["zones"].append({"name": "node-2", "type": "Node", "resources": [resource("x")]})
    live["zones"].append({"name": "gpu-0", "type": "GPU", "resources": []})
    assert adopt(topology(), live) == topology()


@pytest.mark.parametrize(
    "zones",
    [
        None,
        7,
        "x",
        {},
        [None],
        [7],
        [{}],
        [{"name": 1}],
        [{"name": "node-0", "resources": [1, {}]}],
    ],
)
def test_a_live_object_of_any_shape_costs_nothing(zones: object) -> None:
    assert adopt(topology(), {"kind": "NodeResourceTopology", "zones": zones}) == topology()


@pytest.mark.parametrize(
    "live", [{}, {"spec": None}, {"spec": {"devices": 7}}, {"spec": {"devices": [None, 3, []]}}]
)
def test_a_live_device_object_of_any_shape_costs_nothing(live: dict[str, Any]) -> None:
    kept: Any = adopt(device(), live)
    ours = [entry for entry in kept["spec"]["devices"] if entry.get("type") in {"gpu", "rdma"}]
    assert ours == device()["spec"]["devices"]


def test_devices_of_other_types_stay_in_their_order() -> None:
    live = device()
    fpga = {"type": "fpga", "id": "f", "minor": 0, "health": True}
    live["spec"]["devices"].append(fpga)
    kept: Any = adopt(device(), live)
    assert kept["spec"]["devices"][0] == fpga
    assert kept["spec"]["devices"][1:] == device()["spec"]["devices"]
    assert reader.broken(reader.DEVICE_RULES, kept) == []


def test_a_gpu_that_isn_t_there_any_more_isn_t_kept() -> None:
    live = device()
    live["spec"]["devices"].append({"type": "gpu", "id": "gone", "minor": 9, "health": True})
    assert adopt(device(), live) == device()


def test_members_of_a_device_that_we_don_t_write_stay() -> None:
    live = device()
    live["spec"]["devices"][0] |= {"moduleID": 3, "labels": {"a": "b"}, "minor": 7}
    kept: Any = adopt(device(), live)
    first = kept["spec"]["devices"][0]
    assert (first["moduleID"], first["labels"], first["minor"]) == (3, {"a": "b"}, 0)


def condition(status: str, kind: str = "Healthy") -> dict[str, str]:
    """A device's condition."""
    return {
        "type": kind,
        "status": status,
        "reason": "Xid79",
        "message": "",
        "lastTransitionTime": SINCE,
    }


def test_the_condition_of_a_device_that_is_still_unhealthy_keeps_its_time() -> None:
    live = device()
    live["spec"]["devices"][0]["conditions"] = [condition("False")]
    kept: Any = adopt(device(), live)
    assert kept["spec"]["devices"][0]["conditions"] == [condition("False")]
    assert json.dumps(adopt(device(), kept)) == json.dumps(kept)


def test_the_condition_of_a_device_that_is_healthy_again_is_dropped() -> None:
    live = device()
    live["spec"]["devices"][1] |= {"health": False, "conditions": [condition("False")]}
    assert adopt(device(), live) == device()


def test_a_condition_that_contradicts_the_health_is_dropped_and_others_stay_sorted() -> None:
    live = device()
    live["spec"]["devices"][0]["conditions"] = [
        *(condition("True"), condition("True", "Warm"), condition("False", "Cold"))
    ]
    kept: Any = adopt(device(), live)
    assert [c["type"] for c in kept["spec"]["devices"][0]["conditions"]] == ["Cold", "Warm"]


def test_another_kind_is_left_alone() -> None:
    assert adopt({"kind": "Node"}, {"zones": []}) == {"kind": "Node"}


def test_an_object_of_koordinator_s_own_agent_is_taken_over_in_place() -> None:
    # It keeps the label that others select by, and koordlet's `[]` or `null` don't matter.
    live = {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n1",
            "resourceVersion": "7",
            "labels": {"app.kubernetes.io/managed-by": "Koordinator"},
            "annotations": {"node.koordinator.sh/pod-cpu-allocs": "[]", "other": "x"},
        },
        "topologyPolicies": ["None"],
        "zones": [
            {"name": "node-0", "type": "Node", "resources": [resource("kubernetes.io/batch-cpu")]}
        ],
    }
    kept: Any = adopt(topology(), live)
    assert kept["metadata"] == topology()["metadata"]
    assert kept["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Koordinator"}
    assert "kubernetes.io/batch-cpu" in names(kept)
