"""The pools that pods share, and the CPUs that kubelet pinned pods to."""

import json
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.pods import Pod
from numa_agent.core.schedulers.koordinator import publish
from numa_agent.core.view import View
from tests.consumers.koordinator_machines import topology, view
from tests.machine_tree import cpus, numa_node, pod, uid

LS = "node.koordinator.sh/cpu-shared-pools"
BE = "node.koordinator.sh/be-cpu-shared-pools"
ALLOCS = "node.koordinator.sh/pod-cpu-allocs"
RESERVATION = "node.koordinator.sh/reservation"
SYSTEM_QOS = "node.koordinator.sh/system-qos-resource"


def annotation(seen: View, key: str) -> Any:
    """An annotation's JSON."""
    (nrt,) = publish(seen).manifests
    metadata: Any = nrt["metadata"]
    return json.loads(metadata["annotations"][key])


def sets(seen: View, key: str) -> list[str | None]:
    """The pools' CPUs, None for a pool without any."""
    return [pool.get("cpuset") for pool in annotation(seen, key)]


def labelled(number: int, qos_class: str | None, **facts: Any) -> Pod:
    """A pod of one of Koordinator's classes."""
    labels = {} if qos_class is None else {"koordinator.sh/qosClass": qos_class}
    return replace(pod(number, **facts), labels=labels)


def test_without_pods_both_pools_are_all_cpus() -> None:
    assert annotation(view(), LS) == annotation(view(), BE)
    assert annotation(view(), LS) == [
        {"socket": 0, "node": 0, "cpuset": "0-1,4-5"},
        {"socket": 1, "node": 1, "cpuset": "2-3,6-7"},
    ]


@pytest.mark.parametrize("qos_class", ["LSR", "LS", "SYSTEM", None])
def test_an_assigned_pod_s_cpus_are_shared_with_best_effort_pods_only(
    qos_class: str | None,
) -> None:
    seen = view(pods=(labelled(1, qos_class),), assigned={uid(1): "2,6"})
    assert sets(seen, LS) == ["0-1,4-5", "3,7"]
    assert sets(seen, BE) == ["0-1,4-5", "2-3,6-7"]


def test_a_pod_of_class_lse_shares_its_cpus_with_nobody() -> None:
    seen = view(pods=(labelled(1, "LSE"),), assigned={uid(1): "2,6"})
    assert sets(seen, LS) == sets(seen, BE) == ["0-1,4-5", "3,7"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("qos_class", ["LSE", "LSR"])
def test_a_finished_pod_holds_nothing(qos_class: str, phase: str) -> None:
    seen = view(pods=(labelled(1, qos_class, phase=phase),), assigned={uid(1): "2,6"})
    assert sets(seen, LS) == sets(seen, BE) == ["0-1,4-5", "2-3,6-7"]


def test_an_assignment_in_force_counts_though_its_pod_isn_t_listed() -> None:
    assert sets(view(assigned={uid(9): "2,6"}), LS) == ["0-1,4-5", "3,7"]


def test_an_annotation_that_isn_t_in_force_takes_no_cpu() -> None:
    assert sets(view(pods=(pod(1, "0-1"),)), LS) == ["0-1,4-5", "2-3,6-7"]


def test_a_pool_that_pods_emptied_is_gone() -> None:
    seen = view(pods=(labelled(1, "LSR"),), assigned={uid(1): "2-3,6-7"})
    assert [pool["node"] for pool in annotation(seen, LS)] == [0]


def test_without_any_shared_cpu_the_list_is_empty() -> None:
    seen = view(pods=(labelled(1, "LSE"),), assigned={uid(1): "0-7"})
    assert annotation(seen, LS) == annotation(seen, BE) == []


def test_a_pool_that_the_admin_s_reservation_emptied_stays_without_cpus() -> None:
    seen = view(annotations={RESERVATION: '{"reservedCPUs": "0-1,4-5"}'})
    assert annotation(seen, LS)[0] == {"socket": 0, "node": 0}
    assert sets(seen, BE) == [None, "2-3,6-7"]


def test_system_cpus_leave_the_pools_unless_they_are_shared() -> None:
    assert sets(view(annotations={SYSTEM_QOS: '{"cpuset": "0"}'}), LS)[0] == "1,4-5"
    shared = '{"cpuset": "0", "cpusetExclusive": false}'
    assert sets(view(annotations={SYSTEM_QOS: shared}), LS)[0] == "0-1,4-5"


def test_the_cpus_that_kubelet_keeps_stay_in_the_pools() -> None:
    assert sets(view(reserved=cpus("0,4")), LS)[0] == "0-1,4-5"


def test_a_node_of_several_sockets_has_one_pool_of_no_socket() -> None:
    # Case 43: each virtual CPU is a socket.
    vm = topology(numa_node(0, "0-3"), cores="0 1 2 3", packages="0 1 2 3")
    for assigned in ({}, {uid(1): "0"}, {uid(1): "1-3"}):
        seen = view(vm, assigned=assigned)
        assert [(pool["socket"], pool["node"]) for pool in annotation(seen, LS)] == [(-1, 0)]


def test_pools_are_sorted_by_socket_and_then_node() -> None:
    crossed = topology(
        numa_node(0, "0-1"),
        numa_node(1, "2"),
        numa_node(2, "3"),
        cores="0 1 2 3",
        packages="2 3 0-1",
    )
    # The package with CPU 0 is socket 0.
    assert [(p["socket"], p["node"]) for p in annotation(view(crossed), LS)] == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    spread = topology(
        numa_node(0, "0"),
        numa_node(1, "1,3"),
        numa_node(2, "2"),
        cores="0 1 2 3",
        packages="0 1 2-3",
    )
    assert [(p["socket"], p["node"]) for p in annotation(view(spread), LS)] == [
        (-1, 1),
        (0, 0),
        (2, 2),
    ]


def test_pods_that_kubelet_pinned_are_listed_by_uid_and_out_of_both_pools() -> None:
    seen = view(pods=(pod(2), pod(1)), kubelet={uid(2): "7,3", uid(1): "1"})
    assert annotation(seen, ALLOCS) == [
        {
            "namespace": "shop",
            "name": "p1",
            "uid": uid(1),
            "cpuset": "1",
            "managedByKubelet": True,
        },
        {
            "namespace": "shop",
            "name": "p2",
            "uid": uid(2),
            "cpuset": "3,7",
            "managedByKubelet": True,
        },
    ]
    assert sets(seen, LS) == sets(seen, BE) == ["0,4-5", "2,6"]


def test_a_pinned_pod_that_isn_t_listed_is_told_by_its_uid() -> None:
    assert annotation(view(kubelet={"x": "1"}), ALLOCS) == [
        {"uid": "x", "cpuset": "1", "managedByKubelet": True}
    ]


def test_a_static_pod_is_found_by_the_uid_that_kubelet_knows_it_by() -> None:
    config = "0123456789abcdef0123456789abcdef"
    mirror = {"kubernetes.io/config.mirror": config, "kubernetes.io/config.hash": config}
    seen = view(pods=(pod(1, annotations=mirror),), kubelet={config: "1"})
    (entry,) = annotation(seen, ALLOCS)
    assert (entry["name"], entry["uid"]) == ("p1", config)


@pytest.mark.parametrize("qos_class", ["LS", "BE"])
def test_a_pinned_pod_that_koordinator_manages_isn_t_kubelet_s(qos_class: str) -> None:
    seen = view(pods=(labelled(1, qos_class),), kubelet={uid(1): "1"})
    assert annotation(seen, ALLOCS) is None
    assert sets(seen, LS)[0] == "0-1,4-5"


def test_a_pinned_pod_with_an_assignment_counts_by_its_assignment() -> None:
    seen = view(pods=(labelled(1, "LSR"),), kubelet={uid(1): "1"}, assigned={uid(1): "2"})
    assert annotation(seen, ALLOCS) is None
    assert sets(seen, LS) == ["0-1,4-5", "3,6-7"]


def test_an_entry_without_cpus_is_no_allocation() -> None:
    assert annotation(view(kubelet={"x": ""}), ALLOCS) is None
