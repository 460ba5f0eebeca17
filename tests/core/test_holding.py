"""Which devices a container holds, by kubelet or by its open files, and where they are."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.devices import DeviceKind, NodeSource
from numa_agent.core.grants import ContainerGrant, DeviceGrant, DynamicGrant, PodResources
from numa_agent.core.holding import Holders
from tests.core.test_koordinator_device import UNTOLD
from tests.machine_tree import TWO_NODES, pci_device, pod
from tests.serve.reports import gpu

GPU = "0000:01:00.0"
NIC = "0000:02:00.0"
UUID = "GPU-aaaa"
POD = pod(1)

_DEVICE = pci_device(GPU, kind=DeviceKind.GPU, node=1, nodes=(1,), node_source=NodeSource.BRIDGE)
MACHINE = replace(
    TWO_NODES,
    pci_devices=(_DEVICE, pci_device(NIC, kind=DeviceKind.NIC, nodes=(0, 1))),
    gpus=(replace(gpu(GPU, _DEVICE), nvml=replace(UNTOLD, uuid=UUID, minor=3)),),
)


def granted(*devices: DeviceGrant, dynamic: tuple[DynamicGrant, ...] = ()) -> PodResources:
    grant = ContainerGrant(
        namespace="shop",
        pod="p1",
        container="c1",
        cpus=frozenset(),
        devices=devices,
        memory=(),
        dynamic=dynamic,
    )
    return PodResources(pods=frozenset({("shop", "p1")}), containers=(grant,), offer=None)


def units(resource: str, *ids: str, nodes: tuple[int, ...] = ()) -> DeviceGrant:
    return DeviceGrant(resource=resource, ids=ids, nodes=nodes)


def held(answer: PodResources | None) -> Any:
    found = Holders(MACHINE, answer, "kubelet isn't there").of(POD, "c1")
    return [(each.id, each.kind, each.nodes, each.node_source) for each in found.devices]


def test_our_map_knows_a_device_by_its_uuid_its_address_and_a_part_of_it() -> None:
    bridge = ("gpu", (1,), "bridge")
    assert held(granted(units("nvidia.com/gpu", UUID))) == [(UUID, *bridge)]
    assert held(granted(units("nvidia.com/gpu", f"{UUID}::4"))) == [(UUID, *bridge)]
    assert held(granted(units("x/y", NIC))) == [(NIC, "nic", (0, 1), "unknown")]


def test_a_device_that_the_map_lacks_is_where_its_plugin_says() -> None:
    assert held(granted(units("example.com/gpu", "7", nodes=(0,)))) == [
        ("7", "example.com/gpu", (0,), "plugin")
    ]


@pytest.mark.parametrize(
    ("resource", "counts"),
    [
        ("nvidia.com/mig-1g.10gb", True),
        ("rdma/hca_shared_devices_a", True),
        ("huawei.com/Ascend-npu", True),
        ("devices.kubevirt.io/kvm", False),
        ("smarter-devices/fuse", False),
    ],
)
def test_only_devices_that_have_a_place_can_lack_one(resource: str, counts: bool) -> None:
    assert bool(held(granted(units(resource, "7")))) is counts


def test_a_claimed_device_is_known_by_its_cdi_name() -> None:
    claim = DynamicGrant(
        claim_namespace="shop",
        claim_name="c",
        driver="gpu.nvidia.com",
        pool="n",
        device="gpu-0",
        cdi_devices=(f"nvidia.com/gpu={UUID}",),
    )
    assert held(granted(dynamic=(claim,)))[0][0] == UUID
    strange = replace(claim, cdi_devices=())
    assert held(granted(dynamic=(strange,))) == [("gpu-0", "gpu.nvidia.com", (), "unknown")]
    assert held(granted(dynamic=(replace(strange, driver="dra.cpu"),))) == []


def test_what_kubelet_did_not_say_is_unseen_and_why() -> None:
    def unseen(answer: PodResources | None, name: str = "p1") -> str | None:
        of = replace(POD, name=name)
        return Holders(MACHINE, answer, "kubelet isn't there").of(of, "c1").unseen

    assert unseen(None) == "kubelet isn't there"
    assert unseen(granted()) is None
    assert unseen(granted(), "p2") == "kubelet doesn't name the pod yet"
    damaged = replace(granted(), problems=("odd",))
    assert unseen(damaged) == "kubelet's answer isn't whole: odd"


def test_open_files_add_what_is_known_of_them_and_never_make_it_whole() -> None:
    holders = Holders(MACHINE, None, "kubelet isn't there")
    found = holders.by_files({"nvidia3", "nvidiactl", "null"}, holders.of(POD, "c1"))
    assert [(each.id, each.nodes, each.seen_by) for each in found.devices] == [
        (UUID, (1,), "open-files")
    ]
    assert found.unseen == "kubelet isn't there"
