"""The answers become values, whatever spelling they come in and however odd a part is."""

from typing import Any

import pytest

from numa_agent.core.grants import (
    ContainerGrant,
    DeviceGrant,
    DynamicGrant,
    MemoryGrant,
    Offer,
)
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.core.podresources.part import MOST_PROBLEMS

GPU = "nvidia.com/gpu"
EMPTY: dict[str, Any] = {"list": {}, "allocatable": {}}


def answer(container: dict[str, Any], *, pod: str = "p", **more: Any) -> dict[str, Any]:
    """An answer with one pod that has one container."""
    entry = {"name": pod, "namespace": "ns", "containers": [{"name": "c", **container}], **more}
    return {"list": {"podResources": [entry]}, "allocatable": None}


def only(document: dict[str, Any]) -> ContainerGrant:
    """The one container of an answer without problems."""
    parsed = parse_pod_resources(document)
    assert parsed.problems == ()
    (container,) = parsed.containers
    return container


def device(unit: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {"resourceName": GPU, "deviceIds": [unit], "topology": {"nodes": list(nodes)}}


def test_an_empty_answer_is_no_pods_and_an_offer_of_nothing() -> None:
    parsed = parse_pod_resources(EMPTY)
    assert parsed.pods == frozenset()
    assert parsed.offer == Offer(cpus=frozenset(), devices=(), memory=())
    assert parsed.problems == ()


def test_a_kubelet_that_doesn_t_tell_offers_none() -> None:
    assert parse_pod_resources({"list": {}, "allocatable": None}).offer is None
    assert parse_pod_resources({"list": {}}).offer is None


def test_a_pod_that_holds_nothing_is_among_the_pods() -> None:
    parsed = parse_pod_resources({"list": {"podResources": [{"name": "p", "namespace": "ns"}]}})
    assert parsed.pods == {("ns", "p")}
    assert parsed.containers == ()


@pytest.mark.parametrize(
    "container",
    [
        {"cpuIds": ["3", "2", "2"]},
        {"cpu_ids": [3, 2, 2]},
        {"cpuIds": [3, "2"]},
        {"cpu_ids": ["2", "3"], "cpuIds": None},
    ],
)
def test_cpus_are_a_set_in_any_spelling(container: dict[str, Any]) -> None:
    assert only(answer(container)).cpus == {2, 3}


def test_the_api_s_own_names_say_the_same_as_the_json_names() -> None:
    json_names = {
        "devices": [device("GPU-a", {"ID": "1"})],
        "memory": [{"memoryType": "memory", "size": "4096", "topology": {"nodes": [{}]}}],
        "dynamicResources": [
            {
                "claimName": "gpus",
                "claimNamespace": "ml",
                "claimResources": [
                    {
                        "cdiDevices": [{"name": "x/gpu=1"}, {"name": "x/gpu=0"}],
                        "driverName": "gpu.example.com",
                        "poolName": "worker",
                        "deviceName": "gpu-0",
                        "shareId": "s",
                    }
                ],
            }
        ],
    }
    proto_names = {
        "devices": [
            {"resource_name": GPU, "device_ids": ["GPU-a"], "topology": {"nodes": [{"ID": 1}]}}
        ],
        "memory": [{"memory_type": "memory", "size": 4096, "topology": {"nodes": [{"ID": 0}]}}],
        "dynamic_resources": [
            {
                "claim_name": "gpus",
                "claim_namespace": "ml",
                "claim_resources": [
                    {
                        "cdi_devices": [{"name": "x/gpu=0"}, {"name": "x/gpu=1"}],
                        "driver_name": "gpu.example.com",
                        "pool_name": "worker",
                        "device_name": "gpu-0",
                    }
                ],
            }
        ],
    }
    found = only(answer(json_names))
    assert found == only(answer(proto_names))
    assert found.devices == (DeviceGrant(resource=GPU, ids=("GPU-a",), nodes=(1,)),)
    assert found.memory == (MemoryGrant(kind="memory", size=4096, nodes=(0,)),)
    assert found.dynamic == (
        DynamicGrant(
            claim_namespace="ml",
            claim_name="gpus",
            driver="gpu.example.com",
            pool="worker",
            device="gpu-0",
            cdi_devices=("x/gpu=0", "x/gpu=1"),
        ),
    )


def test_a_node_without_id_is_node_0_and_no_node_is_no_affinity() -> None:
    """https://github.com/kubernetes/kubernetes/issues/101522."""
    cases: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
        "element without ID": ({"topology": {"nodes": [{}]}}, (0,)),
        "element with a null ID": ({"topology": {"nodes": [{"ID": None}]}}, (0,)),
        "node 1": ({"topology": {"nodes": [{"ID": 1}]}}, (1,)),
        "no elements": ({"topology": {"nodes": []}}, ()),
        "no nodes": ({"topology": {}}, ()),
        "null nodes": ({"topology": {"nodes": None}}, ()),
        "null topology": ({"topology": None}, ()),
        "no topology": ({}, ()),
        "minus one": ({"topology": {"nodes": [{"ID": "-1"}]}}, ()),
    }
    for name, (topology, nodes) in cases.items():
        entry = {"resourceName": GPU, "deviceIds": ["GPU-a"], **topology}
        found = only(answer({"devices": [entry]}))
        assert found.devices == (DeviceGrant(resource=GPU, ids=("GPU-a",), nodes=nodes),), name
        block = {"memoryType": "memory", "size": "1", **topology}
        assert only(answer({"memory": [block]})).memory[0].nodes == nodes, name


def test_eight_nodes_with_one_that_vanished_are_all_there() -> None:
    """https://github.com/NVIDIA/k8s-device-plugin/issues/1643."""
    told: list[dict[str, Any]] = [
        *({"ID": "6"}, {"ID": "6"}, {}, {"ID": "4"}, {"ID": "5"}, {"ID": "1"}),
    ]
    devices = [device(f"MIG-{place}", node) for place, node in enumerate(told)]
    found = only(answer({"devices": devices})).devices
    assert {unit: grant.nodes for grant in found for unit in grant.ids} == {
        "MIG-0": (6,),
        "MIG-1": (6,),
        "MIG-2": (0,),
        "MIG-3": (4,),
        "MIG-4": (5,),
        "MIG-5": (1,),
    }


def test_a_device_that_is_told_once_for_each_node_is_on_all_of_them() -> None:
    devices = [device("GPU-a", {"ID": 1}), device("GPU-b", {"ID": 1}), device("GPU-a", {})]
    assert only(answer({"devices": devices})).devices == (
        DeviceGrant(resource=GPU, ids=("GPU-a",), nodes=(0, 1)),
        DeviceGrant(resource=GPU, ids=("GPU-b",), nodes=(1,)),
    )


def test_the_same_id_of_another_resource_is_another_device() -> None:
    other = {"resourceName": "x/nic", "deviceIds": ["0"], "topology": {"nodes": [{"ID": 1}]}}
    found = only(answer({"devices": [device("0", {}), other]})).devices
    assert [(grant.resource, grant.nodes) for grant in found] == [(GPU, (0,)), ("x/nic", (1,))]


def test_two_memory_blocks_that_are_alike_are_two() -> None:
    block = {"memoryType": "hugepages-2Mi", "size": "2097152", "topology": {"nodes": [{}]}}
    found = only(answer({"memory": [block, block]})).memory
    assert found == (MemoryGrant(kind="hugepages-2Mi", size=2097152, nodes=(0,)),) * 2


def test_a_pod_s_own_cpus_and_memory_are_not_added_to_its_containers() -> None:
    block = {"memoryType": "memory", "size": "4096", "topology": {"nodes": [{}]}}
    document = answer({"cpuIds": ["2"], "memory": [block]}, cpuIds=["2", "3"], memory=[block])
    found = only(document)
    assert found.cpus == {2}
    assert len(found.memory) == 1


def test_a_claim_of_a_kubelet_before_1_31_has_only_its_cdi_devices() -> None:
    claim = {
        "className": "gpus",
        "claimName": "gpus",
        "claimNamespace": "ml",
        "claimResources": [{"cdiDevices": [{"name": "x/gpu=0"}]}],
    }
    (found,) = only(answer({"dynamicResources": [claim]})).dynamic
    assert (found.driver, found.pool, found.device) == ("", "", "")
    assert found.cdi_devices == ("x/gpu=0",)


def test_the_order_of_kubelet_s_maps_does_not_matter() -> None:
    pods = [
        {
            "name": name,
            "namespace": "ns",
            "containers": [
                {"name": "b", "devices": [device("GPU-b", {}), device("GPU-a", {})]},
                {"name": "a", "cpuIds": ["9", "1"]},
            ],
        }
        for name in ("q", "p")
    ]
    backwards = [{**pod, "containers": pod["containers"][::-1]} for pod in pods[::-1]]
    assert parse_pod_resources({"list": {"podResources": pods}}) == parse_pod_resources(
        {"list": {"podResources": backwards}}
    )


def test_an_ended_pod_s_cpus_stay_apart_from_those_of_the_pod_that_has_them_now() -> None:
    """https://github.com/kubernetes/kubernetes/issues/119423: who has ended, the API knows."""
    pods = [
        {"name": name, "namespace": "ns", "containers": [{"name": "c", "cpuIds": ["2", "3"]}]}
        for name in ("ended", "running")
    ]
    parsed = parse_pod_resources({"list": {"podResources": pods}})
    assert parsed.problems == ()
    assert [(grant.pod, grant.cpus) for grant in parsed.containers] == [
        ("ended", frozenset({2, 3})),
        ("running", frozenset({2, 3})),
    ]


def test_a_pod_that_is_listed_twice_holds_its_things_once_and_is_named() -> None:
    pod = answer({"cpuIds": ["2"]})["list"]["podResources"][0]
    parsed = parse_pod_resources({"list": {"podResources": [pod, pod]}})
    assert [grant.cpus for grant in parsed.containers] == [{2}]
    assert parsed.problems == ("kubelet's list of pods: pod ns/p is in it 2 times",)


def test_a_pod_that_is_listed_twice_with_other_things_holds_both() -> None:
    pods = [answer({"cpuIds": [cpu]})["list"]["podResources"][0] for cpu in ("2", "3")]
    parsed = parse_pod_resources({"list": {"podResources": pods}})
    assert [grant.cpus for grant in parsed.containers] == [{2}, {3}]
    assert len(parsed.problems) == 1


def test_a_checkpoint_s_form_of_device_ids_is_no_podresources_answer() -> None:
    """kubelet's checkpoint file has ids by node; this API never has."""
    entry = {"resourceName": GPU, "deviceIds": {"0": ["GPU-a"]}}
    parsed = parse_pod_resources(answer({"devices": [entry]}))
    assert parsed.containers[0].devices == ()
    assert parsed.problems == (
        "device entry 1 of pod ns/p, container c: its device_ids an object aren't a list",
    )


@pytest.mark.parametrize(
    ("container", "problem"),
    [
        ({"cpuIds": ["2", "x"]}, "pod ns/p, container c: its cpu_ids 'x' aren't CPUs"),
        ({"cpuIds": [2, -1]}, "pod ns/p, container c: its cpu_ids -1 aren't CPUs"),
        ({"cpuIds": [2, 65536]}, "pod ns/p, container c: its cpu_ids 65536 aren't CPUs"),
        ({"cpuIds": [2, True]}, "pod ns/p, container c: its cpu_ids True aren't CPUs"),
        ({"cpuIds": [2, 2.5]}, "pod ns/p, container c: its cpu_ids 2.5 aren't CPUs"),
        ({"cpuIds": ["2", "٣"]}, "pod ns/p, container c: its cpu_ids '٣' aren't CPUs"),
        (
            {"cpuIds": [2, *range(-9, -4)]},
            "pod ns/p, container c: its cpu_ids -9, -8, -7 and 2 more aren't CPUs",
        ),
        (
            {"cpuIds": [2, 10**5000]},
            "pod ns/p, container c: its cpu_ids a number of many digits aren't CPUs",
        ),
    ],
)
def test_what_is_no_cpu_costs_itself_alone(container: dict[str, Any], problem: str) -> None:
    parsed = parse_pod_resources(answer(container))
    assert parsed.containers[0].cpus == {2}
    assert parsed.problems == (problem,)


@pytest.mark.parametrize(
    ("topology", "problem"),
    [
        ({"nodes": [{"ID": "-7"}]}, "its node is an object, so its nodes are unknown"),
        ({"nodes": [{"ID": "x"}]}, "its node is an object, so its nodes are unknown"),
        ({"nodes": [{}, 1]}, "its node is 1, so its nodes are unknown"),
        ({"nodes": [None]}, "its node is absent, so its nodes are unknown"),
        ({"nodes": 0}, "its nodes 0 aren't a list"),
        ([], "its topology is a list, not an object"),
    ],
)
def test_nodes_that_can_t_be_read_are_unknown_and_never_half_known(
    topology: object, problem: str
) -> None:
    devices = [
        {"resourceName": GPU, "deviceIds": ["GPU-a"], "topology": topology},
        device("GPU-a", {"ID": 1}),
        device("GPU-b", {"ID": 1}),
    ]
    parsed = parse_pod_resources(answer({"devices": devices}))
    assert parsed.containers[0].devices == (
        DeviceGrant(resource=GPU, ids=("GPU-a",), nodes=()),
        DeviceGrant(resource=GPU, ids=("GPU-b",), nodes=(1,)),
    )
    assert parsed.problems == (f"device entry 1 of pod ns/p, container c: {problem}",)


@pytest.mark.parametrize("size", [-1, "-1", "1Gi", True, 1.5, 2**64, [], "9" * 400])
def test_a_memory_block_without_a_size_costs_itself_alone(size: object) -> None:
    good = {"memoryType": "memory", "size": "4096", "topology": {"nodes": [{}]}}
    parsed = parse_pod_resources(answer({"memory": [{**good, "size": size}, good]}))
    assert [block.size for block in parsed.containers[0].memory] == [4096]
    (problem,) = parsed.problems
    assert problem.startswith("memory block 1 of pod ns/p, container c: its size is ")


def test_what_has_no_name_costs_itself_alone() -> None:
    document = {
        "list": {
            "podResources": [
                {"namespace": "ns"},
                {"name": "p"},
                7,
                {"name": "p", "namespace": "ns", "containers": [{"cpuIds": [1]}, {"name": "c"}]},
            ]
        },
        "allocatable": {
            "devices": [{"deviceIds": ["GPU-a"]}, {"resourceName": GPU, "deviceIds": ["", "b"]}],
            "memory": [{"size": "1"}],
        },
    }
    parsed = parse_pod_resources(document)
    assert parsed.pods == {("ns", "p")}
    assert [grant.container for grant in parsed.containers] == ["c"]
    assert parsed.offer == Offer(
        cpus=frozenset(),
        devices=(DeviceGrant(resource=GPU, ids=("b",), nodes=()),),
        memory=(),
    )
    assert parsed.problems == (
        "pod 1 of kubelet's list of pods: its name is absent, not a name",
        "pod 2 of kubelet's list of pods: its namespace is absent, not a name",
        "kubelet's list of pods: its pod 3 is 7, not an object",
        "container 1 of pod ns/p: its name is absent, not a name",
        "device entry 1 of kubelet's allocatable resources: its resource_name is absent, not a"
        " name",
        "device entry 2 of kubelet's allocatable resources: its device id is '', not a name",
        "memory block 1 of kubelet's allocatable resources: its memory_type is absent, not a name",
    )


@pytest.mark.parametrize("listed", [None, [], "x"])
def test_a_list_that_is_not_there_is_a_problem_and_not_an_empty_machine(listed: object) -> None:
    (problem,) = parse_pod_resources({"list": listed}).problems
    assert problem.startswith("kubelet's list of pods: it is ")


def test_an_offer_that_is_no_object_is_none_and_named() -> None:
    parsed = parse_pod_resources({"list": {}, "allocatable": [1]})
    assert parsed.offer is None
    assert parsed.problems == ("kubelet's allocatable resources: it is a list, not an object",)


def test_a_million_problems_are_a_hundred_sentences() -> None:
    parsed = parse_pod_resources({"list": {"podResources": [0] * 1_000_000}})
    assert len(parsed.problems) == MOST_PROBLEMS + 1
    assert parsed.problems[-1] == "kubelet's answer has more problems than are told here"
