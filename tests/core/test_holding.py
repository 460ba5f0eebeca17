"""Which devices a container holds, by kubelet or by its open files, and where they are."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.devices import NVIDIA, DeviceKind, NodeSource
from numa_agent.core.grants import ContainerGrant, DeviceGrant, DynamicGrant, PodResources
from numa_agent.core.holding import Holders
from numa_agent.core.placeless import DRIVERS
from numa_agent.core.pods import Pod
from numa_agent.core.recording import words
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.topology import Topology
from tests.core.test_koordinator_device import UNTOLD
from tests.machine_tree import TWO_NODES, machine, numa_node, pci_device, pod
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
        ("huawei.com/Ascend910", True),
        ("aws.amazon.com/neuron", True),
        ("google.com/tpu", True),
        ("nvidia.com/GRID_T4-1Q", True),
        ("kvm", True),
        ("devices.kubevirt.io/kvm", False),
        ("devices.kubevirt.io/vhost-net", False),
        ("smarter-devices/fuse", False),
        ("squat.ai/input", False),
    ],
)
def test_only_devices_that_have_a_place_can_lack_one(resource: str, counts: bool) -> None:
    assert bool(held(granted(units(resource, "7")))) is counts
    # A recording tells the same of its pseudonym.
    names = Names(b"key")
    words.resource(names, resource)
    names.settle()
    assert bool(held(granted(units(words.resource(names, resource), "7")))) is counts


TIERED = replace(
    MACHINE,
    nodes=(
        *TWO_NODES.nodes,
        numa_node(2, "", near=(1,)),
        numa_node(3, "", near=(0, 1)),
        numa_node(4, None),
    ),
)


@pytest.mark.parametrize(
    ("said", "nodes", "source"),
    [
        ((2,), (1,), "plugin"),
        ((1, 2), (1,), "plugin"),
        ((0, 2), (0, 1), "plugin"),
        ((3,), (0, 1), "plugin"),
        ((4,), (), "unknown"),
        ((7,), (), "unknown"),
        ((0, 7), (), "unknown"),
    ],
)
def test_a_plugin_s_node_without_cpus_is_where_its_nearest_cpus_are(
    said: tuple[int, ...], nodes: tuple[int, ...], source: str
) -> None:
    answer = granted(units("example.com/fpga", "7", nodes=said))
    (found,) = Holders(TIERED, answer, "").of(POD, "c1").devices
    assert (found.nodes, found.node_source) == (nodes, source)


def asking(**containers: dict[str, int]) -> Pod:
    """A pod whose init containers ask for this."""
    demands = [
        Demand(container=name, role=Role.INIT, requests=requests)
        for name, requests in containers.items()
    ]
    return replace(POD, demands=Demands(containers=tuple(demands)))


@pytest.mark.parametrize(
    ("requests", "why"),
    [
        ({"nvidia.com/gpu": 1}, "kubelet doesn't tell what it gave of nvidia.com/gpu"),
        ({"nvidia.com/gpu": 0}, None),
        ({"cpu": 2000, "hugepages-2Mi": 4096, "squat.ai/fuse": 1}, None),
        ({}, None),
    ],
)
def test_what_an_init_container_asks_for_is_unseen_for_kubelet_does_not_list_it(
    requests: dict[str, int], why: str | None
) -> None:
    holders = Holders(MACHINE, granted(), "")
    found = holders.of(asking(before=requests), "before")
    assert (found.unseen, found.asked) == (why, why is not None)
    nobody = Holders(MACHINE, None, "kubelet isn't there").of(asking(c1=requests), "c1")
    assert (nobody.unseen, nobody.asked) == ("kubelet isn't there", why is not None)


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
    assert len(held(granted(dynamic=(replace(strange, driver="dra.net"),)))) == 1


@pytest.mark.parametrize("driver", ["dra.cpu", "compute-domain.nvidia.com", "dra.net", "a.b"])
def test_a_recording_tells_of_the_same_drivers_that_they_have_no_place(driver: str) -> None:
    names = Names(b"key")
    words.driver_domain(names, driver)
    names.settle()
    assert (words.driver_domain(names, driver) in DRIVERS) is (driver in DRIVERS)


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


def test_devices_that_two_plugins_call_alike_are_two() -> None:
    found = held(granted(units("a.com/x", "0", nodes=(1,)), units("b.com/y", "0", nodes=(0,))))
    assert [each[1:3] for each in found] == [("a.com/x", (1,)), ("b.com/y", (0,))]


def claimed(driver: str, device: str, *cdi_devices: str) -> DynamicGrant:
    return DynamicGrant(
        claim_namespace="shop",
        claim_name="c",
        driver=driver,
        pool="n",
        device=device,
        cdi_devices=cdi_devices,
    )


def test_devices_that_two_drivers_call_alike_are_two() -> None:
    found = held(granted(dynamic=(claimed("a.com", "dev-0"), claimed("b.com", "dev-0"))))
    assert [each[1] for each in found] == ["a.com", "b.com"]


def test_a_claimed_device_may_be_several_of_the_map() -> None:
    both = claimed("a.com", "pair", f"a.com/gpu={UUID}", f"a.com/nic={NIC}", "a.com/x=claim")
    assert [each[0] for each in held(granted(dynamic=(both,)))] == [UUID, NIC]


def test_what_is_told_counts_beside_what_is_not() -> None:
    demand = Demand(
        container="c1", role=Role.APP, requests={"nvidia.com/gpu": 1, "koordinator.sh/rdma": 1}
    )
    of = replace(POD, demands=Demands(containers=(demand,)))
    found = Holders(MACHINE, granted(units("nvidia.com/gpu", UUID)), "").of(of, "c1")
    assert [each.id for each in found.devices] == [UUID]
    assert found.unseen == "kubelet doesn't tell what it gave of koordinator.sh/rdma"
    assert (found.asked, found.unlisted) == (True, True)
    nobody = Holders(MACHINE, None, "kubelet isn't there").of(of, "c1")
    assert (nobody.unseen, nobody.unlisted) == ("kubelet isn't there", False)


def test_on_a_machine_with_cpus_in_one_node_every_device_is_there() -> None:
    one = machine(numa_node(0, "0-3"), numa_node(1, "", near=(0,)))

    def places(answer: PodResources, of: Topology = one) -> list[tuple[tuple[int, ...], str]]:
        found = Holders(of, answer, "").of(POD, "c1").devices
        return [(each.nodes, each.node_source) for each in found]

    nobody_says = granted(units("rdma/hca", "7"))
    assert places(nobody_says) == [((0,), "single-node")]
    assert places(granted(dynamic=(claimed("a.com", "dev-0"),))) == [((0,), "single-node")]
    # What its plugin says can't be followed, or another node may have CPUs.
    assert places(granted(units("rdma/hca", "7", nodes=(5,)))) == [((), "unknown")]
    unsure = machine(numa_node(0, "0-3"), numa_node(1, None), online="0-7")
    assert places(nobody_says, unsure) == [((), "unknown")]


def test_the_memory_of_a_gpu_that_only_its_plugin_names_is_told_where_one_can_be_it() -> None:
    device = pci_device(GPU, kind=DeviceKind.GPU, vendor=NVIDIA, node=0, nodes=(0,))
    hopper = replace(
        machine(numa_node(0, "0-3"), numa_node(1, "", near=(0,)), numa_node(2, "4-7")),
        pci_devices=(device,),
        gpus=(replace(gpu(GPU, device), memory_node=1),),
    )
    answer = granted(units("nvidia.com/gpu", "GPU-bbbb", nodes=(0,)))
    (found,) = Holders(hopper, answer, "").of(POD, "c1").devices
    assert (found.nodes, found.memory_node, found.memory_may_be) == ((0,), 1, (1,))
