"""The Device in Koordinator's language: what can be given out of GPUs and RDMA NICs, and where."""

import json
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.devices import NVIDIA, DeviceKind, Gpu, PciDevice
from numa_agent.core.links import PciPath
from numa_agent.core.nvml import NvmlError, NvmlGpu
from numa_agent.core.schedulers.koordinator import publish
from numa_agent.core.view import View
from tests.consumers.koordinator_machines import TWO_SOCKETS, recorded, view
from tests.machine_tree import pci_device

UNTOLD = NvmlGpu(
    index=0,
    address=None,
    uuid=None,
    minor=None,
    name=None,
    memory_bytes=None,
    persistence=None,
    memory_node=None,
    addressing_mode=None,
    c2c=None,
    memory_nodes=None,
    mig_mode=None,
    mig_pending=None,
    mig=(),
    nvlinks=(),
    common_ancestors={},
    p2p={},
    fabric=None,
    lost=False,
    errors=(),
)
"""A GPU of which NVML gives nothing but its being there."""

ROOT = PciPath(roots=("pci0000:16",), bridges=())


def gpu(number: int = 0, **facts: Any) -> Gpu:
    """An NVIDIA GPU on node 0; `facts` are its own or NVML's, `told=False` if NVML has none."""
    told = facts.pop("told", True)
    of_nvml: dict[str, Any] = {
        "index": number,
        "uuid": f"GPU-{number}",
        "minor": number,
        "name": "NVIDIA A100 80GB PCIe",
        "memory_bytes": 80 << 30,
        "mig_mode": False,
    }
    own: dict[str, Any] = {
        "kind": DeviceKind.GPU,
        "vendor": NVIDIA,
        "driver": "nvidia",
        "node": 0,
        "path": ROOT,
    }
    for key, value in facts.items():
        (of_nvml if hasattr(UNTOLD, key) else own)[key] = value
    return Gpu(
        device=pci_device(f"0000:{0x18 + number:02x}:00.0", **own),
        cpus=None,
        memory_node=None,
        nics=(),
        nvml=replace(UNTOLD, **of_nvml) if told else None,
    )


def nic(address: str, **facts: Any) -> PciDevice:
    """An RDMA NIC on node 1."""
    given: dict[str, Any] = {
        "kind": DeviceKind.NIC,
        "rdma": ("mlx5_0",),
        "node": 1,
        "path": ROOT,
    } | facts
    return pci_device(address, **given)


def with_devices(*gpus: Gpu, pci: tuple[PciDevice, ...] = ()) -> View:
    """A machine with these."""
    return view(replace(TWO_SOCKETS, gpus=gpus, pci_devices=pci))


def device_of(seen: View) -> Any:
    """The Device, None where there is none."""
    found = [manifest for manifest in publish(seen).manifests if manifest["kind"] == "Device"]
    return found[0] if found else None


def devices(seen: View) -> list[Any]:
    """The Device's devices."""
    listed: list[Any] = device_of(seen)["spec"]["devices"]
    return listed


def codes(seen: View) -> list[str]:
    """The codes of the conditions."""
    return [condition.code for condition in publish(seen).conditions]


def test_the_object_is_whole() -> None:
    virtual = nic("0000:19:00.2", physical_function=nic("0000:19:00.0").address)
    assert device_of(with_devices(gpu(), pci=(nic("0000:19:00.0"), virtual))) == {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {
            "name": "n1",
            "labels": {
                "node.koordinator.sh/gpu-model": "A100-80GB-PCIe",
                "node.koordinator.sh/gpu-vendor": "nvidia",
            },
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
        },
        "spec": {
            "devices": [
                {
                    "type": "gpu",
                    "id": "GPU-0",
                    "minor": 0,
                    "health": True,
                    "resources": {
                        "koordinator.sh/gpu-core": "100",
                        "koordinator.sh/gpu-memory": "80Gi",
                        "koordinator.sh/gpu-memory-ratio": "100",
                    },
                    "topology": {
                        "socketID": -1,
                        "nodeID": 0,
                        "pcieID": "pci0000:16",
                        "busID": "0000:18:00.0",
                    },
                },
                {
                    "type": "rdma",
                    "id": "0000:19:00.0",
                    "minor": 0,
                    "health": True,
                    "resources": {"koordinator.sh/rdma": "100"},
                    "topology": {
                        "socketID": -1,
                        "nodeID": 1,
                        "pcieID": "pci0000:16",
                        "busID": "0000:19:00.0",
                    },
                    "vfGroups": [{"vfs": [{"minor": -1, "busID": "0000:19:00.2"}]}],
                },
            ]
        },
    }


def test_a_node_without_such_devices_has_no_device_object() -> None:
    plain = pci_device("0000:01:00.0", kind=DeviceKind.NIC)
    assert device_of(with_devices(pci=(plain,))) is None
    assert codes(with_devices(pci=(plain,))) == []


def test_gpus_come_by_minor_and_nics_by_address() -> None:
    pci = (nic("0000:aa:00.1"), nic("0000:aa:00.0"), nic("10000:01:00.0"))
    listed = devices(with_devices(gpu(10), gpu(2), gpu(0), pci=pci))
    assert [(entry["type"], entry["minor"]) for entry in listed] == [
        *(("gpu", 0), ("gpu", 2), ("gpu", 10)),
        *(("rdma", 0), ("rdma", 1), ("rdma", 2)),
    ]
    assert [entry["id"] for entry in listed[3:]] == [
        "0000:aa:00.0",
        "0000:aa:00.1",
        "10000:01:00.0",
    ]


def test_where_nvml_tells_nothing_the_list_is_never_emptied() -> None:
    seen = with_devices(gpu(0, told=False), gpu(1, told=False), pci=(nic("0000:aa:00.0"),))
    assert device_of(seen) is None
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-devices-unknown"
    assert "0000:18:00.0, 0000:19:00.0" in condition.message


@pytest.mark.parametrize("driver", ["vfio-pci", "pci-stub"])
def test_a_gpu_that_a_guest_has_isn_t_waited_for(driver: str) -> None:
    seen = with_devices(gpu(0, told=False, driver=driver), gpu(1))
    assert [entry["minor"] for entry in devices(seen)] == [1]
    assert codes(seen) == []


def test_another_maker_s_gpu_isn_t_told() -> None:
    seen = with_devices(gpu(0, told=False, vendor=0x1002), gpu(1))
    assert [entry["minor"] for entry in devices(seen)] == [1]
    assert device_of(with_devices(gpu(0, told=False, vendor=0x1002))) is None


@pytest.mark.parametrize("fact", ["uuid", "minor"])
def test_a_gpu_that_can_t_be_named_costs_itself_alone(fact: str) -> None:
    seen = with_devices(gpu(0, **{fact: None}), gpu(1))
    assert [entry["minor"] for entry in devices(seen)] == [1]
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-gpu-left-out"
    assert "0000:18:00.0" in condition.message


def test_where_no_gpu_can_be_named_the_nics_are_told() -> None:
    seen = with_devices(gpu(0, uuid=None), pci=(nic("0000:aa:00.0"),))
    assert [entry["type"] for entry in devices(seen)] == ["rdma"]
    assert "labels" not in device_of(seen)["metadata"]


def test_a_lost_gpu_is_told_as_unhealthy_with_its_minor_and_no_changing_time() -> None:
    lost = gpu(0, lost=True, errors=(NvmlError(call="name", argument=None, error="GpuIsLost"),))
    seen = with_devices(lost, gpu(1))
    first, second = devices(seen)
    assert first["minor"] == 0
    assert (first["health"], second["health"]) == (False, True)
    assert "conditions" not in first
    assert '"minor": 0, "health": false' in json.dumps(first)
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-gpu-unhealthy"
    assert "NVML says lost" in condition.message


@pytest.mark.parametrize(
    ("facts", "why"),
    [({"mig_mode": True}, "MIG mode"), ({"memory_bytes": None}, "memory")],
)
def test_a_gpu_that_can_t_be_given_out_whole_is_told_as_unhealthy(
    facts: dict[str, Any], why: str
) -> None:
    seen = with_devices(gpu(0, **facts), gpu(1))
    assert [entry["health"] for entry in devices(seen)] == [False, True]
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-gpu-unhealthy"
    assert why in condition.message


def test_two_gpus_of_one_minor_are_no_list() -> None:
    seen = with_devices(gpu(0), replace(gpu(1), nvml=gpu(0).nvml))
    assert device_of(seen) is None
    assert codes(seen) == ["koordinator-devices-unknown"]


def test_an_unknown_node_is_minus_one_and_said() -> None:
    seen = with_devices(gpu(0, node=None))
    assert devices(seen)[0]["topology"]["nodeID"] == -1
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-gpu-place-unknown"
    assert "NUMA node of GPU 0000:18:00.0" in condition.message


def test_a_gpu_whose_root_complex_is_unknown_has_no_topology_and_is_said() -> None:
    seen = with_devices(gpu(0, path=None), gpu(1))
    assert ["topology" in entry for entry in devices(seen)] == [False, True]
    (condition,) = publish(seen).conditions
    assert condition.code == "koordinator-gpu-place-unknown"
    assert "PCIe root of GPU 0000:18:00.0" in condition.message


def test_the_root_is_the_outermost_one_whatever_digits_it_has() -> None:
    path = PciPath(roots=("pci0000:d7", "pci10000:e0"), bridges=("10000:e0:02.0",))
    assert devices(with_devices(gpu(0, path=path)))[0]["topology"]["pcieID"] == "pci0000:d7"
    hexadecimal = PciPath(roots=("pci000a:00",), bridges=())
    seen = with_devices(gpu(0, path=hexadecimal))
    assert devices(seen)[0]["topology"]["pcieID"] == "pci000a:00"


@pytest.mark.parametrize(
    ("names", "model"),
    [
        (("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"), "H100-80GB-HBM3"),
        (("Tesla T4", "Tesla T4"), "Tesla-T4"),
        (("NVIDIA L40S", None), "L40S"),
        (("NVIDIA L40S", "NVIDIA A10"), None),
        ((None, None), None),
        # The API server refuses these as a label's value, and with it the whole object.
        (("NVIDIA X (rev 2)", "NVIDIA X (rev 2)"), None),
        (("G" * 64, "G" * 64), None),
    ],
)
def test_the_model_is_a_label_where_all_gpus_are_of_one(
    names: tuple[str | None, str | None], model: str | None
) -> None:
    seen = with_devices(gpu(0, name=names[0]), gpu(1, name=names[1]))
    labels = device_of(seen)["metadata"]["labels"]
    assert labels.get("node.koordinator.sh/gpu-model") == model
    assert labels["node.koordinator.sh/gpu-vendor"] == "nvidia"


def test_a_nic_without_rdma_isn_t_told() -> None:
    pci = (nic("0000:aa:00.0", rdma=()), nic("0000:bb:00.0"))
    assert [entry["id"] for entry in devices(with_devices(pci=pci))] == ["0000:bb:00.0"]


def test_virtual_functions_are_sorted_and_no_devices_of_their_own() -> None:
    owner = nic("0000:aa:00.0").address
    pci = (
        nic("0000:aa:00.0"),
        nic("0000:aa:01.0", physical_function=owner),
        nic("0000:aa:00.7", physical_function=owner),
    )
    (entry,) = devices(with_devices(pci=pci))
    assert [function["busID"] for function in entry["vfGroups"][0]["vfs"]] == [
        "0000:aa:00.7",
        "0000:aa:01.0",
    ]


def test_a_recorded_lost_gpu_costs_itself_alone() -> None:
    seen = recorded("lost-gpu")
    assert [e["minor"] for e in devices(seen) if e["type"] == "gpu"] == [0, 1, 3]
    assert codes(seen) == ["koordinator-gpu-left-out"]


def test_a_recorded_gpu_in_mig_mode_leaves_the_others_alone() -> None:
    seen = recorded("mig-mixed")
    assert [e["health"] for e in devices(seen) if e["type"] == "gpu"] == [False, True]
