"""What Koordinator makes of our objects, and that each of its rules can be broken."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.pods import Pod
from numa_agent.core.schedulers.koordinator import publish
from numa_agent.core.view import View
from tests.consumers import koordinator as reader
from tests.consumers.koordinator_machines import recorded, topology, view
from tests.machine_tree import cpus, numa_node, pod, uid
from tests.recorded import MACHINES

NAMES = [machine.name for machine in MACHINES]


def objects(seen: View) -> tuple[Any, Any]:
    """The NodeResourceTopology and the Device, None where there is none."""
    by_kind = {manifest["kind"]: manifest for manifest in publish(seen).manifests}
    return by_kind.get("NodeResourceTopology"), by_kind.get("Device")


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_machine_is_told_by_all_the_rules(name: str) -> None:
    nrt, device = objects(recorded(name))
    assert reader.broken(reader.NRT_RULES, nrt) == []
    if device is not None:
        assert reader.broken(reader.DEVICE_RULES, device) == []


@pytest.mark.parametrize("name", NAMES)
def test_two_renderings_of_a_machine_are_byte_for_byte_the_same(name: str) -> None:
    first, second = (json.dumps(publish(recorded(name)).manifests) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", NAMES)
def test_the_scheduler_knows_every_online_cpu_with_its_siblings(name: str) -> None:
    seen = recorded(name)
    options = reader.scheduler_reads(objects(seen)[0])
    assert options.can_bind()
    assert frozenset(cpu.id for cpu in options.cpus) == seen.topology.online
    cores: dict[int, set[int]] = {}
    for cpu in options.cpus:
        cores.setdefault(cpu.core, set()).add(cpu.id)
    assert {frozenset(core) for core in cores.values()} == set(seen.topology.cores or ())


@pytest.mark.parametrize("name", NAMES)
def test_the_scheduler_finds_a_zone_for_each_node_with_cpus_and_for_no_other(name: str) -> None:
    seen = recorded(name)
    options = reader.scheduler_reads(objects(seen)[0])
    assert options.zones.keys() == {node.id for node in seen.topology.cpu_nodes}


def test_what_kubelet_pinned_and_reserved_is_taken_off_once_by_the_scheduler() -> None:
    # four-node-snc: kubelet keeps 0 and 24 and has pinned a pod to 3-4,27-28 of node 1.
    options = reader.scheduler_reads(objects(recorded("four-node-snc"))[0])
    assert options.reserved == cpus("0,24,3-4,27-28")
    assert options.zones[0]["cpu"] == 12
    assert [options.free(zone) for zone in (0, 1)] == [10, 8]
    assert options.policy == "SingleNUMANode"


def test_a_reservation_and_exclusive_system_cpus_are_the_scheduler_s_reserved_cpus() -> None:
    said = {
        reader.RESERVATION: '{"resources": {"cpu": "2"}}',
        reader.SYSTEM_QOS: '{"cpuset": "3"}',
    }
    assert reader.scheduler_reads(objects(view(annotations=said))[0]).reserved == cpus("0,4,3")


def test_shared_system_cpus_are_not() -> None:
    said = {reader.SYSTEM_QOS: '{"cpuset": "3", "cpusetExclusive": false}'}
    assert reader.scheduler_reads(objects(view(annotations=said))[0]).reserved == frozenset()


@pytest.mark.parametrize(
    ("policy", "scope", "read_as"),
    [
        ("single-numa-node", "pod", "SingleNUMANode"),
        ("single-numa-node", "container", ""),
        ("restricted", "pod", ""),
        ("best-effort", "pod", ""),
        ("none", "pod", ""),
    ],
)
def test_the_scheduler_keeps_to_one_topology_policy_only(
    policy: str, scope: str, read_as: str
) -> None:
    seen = view(topology_policy=policy, topology_scope=scope)
    assert reader.scheduler_reads(objects(seen)[0]).policy == read_as


def test_the_scheduler_ignores_attributes_and_needs_the_policies() -> None:
    nrt, _ = objects(view())
    policy = [{"name": "topologyManagerPolicy", "value": "single-numa-node"}]
    assert reader.scheduler_reads({**nrt, "attributes": policy}).policy == ""


def test_the_scheduler_takes_what_is_allocatable_and_never_what_is_available() -> None:
    nrt, _ = objects(view())
    changed = copy.deepcopy(nrt)
    changed["zones"][0]["resources"][0]["available"] = "1"
    assert reader.scheduler_reads(changed) == reader.scheduler_reads(nrt)


def test_the_scheduler_finds_no_zones_by_other_names_or_of_other_types() -> None:
    nrt = copy.deepcopy(objects(view())[0])
    nrt["zones"][0]["name"] = "zone-0"
    nrt["zones"][1]["type"] = "Socket"
    assert reader.scheduler_reads(nrt).zones == {}


def test_without_the_map_of_cpus_no_pod_gets_its_own() -> None:
    nrt = copy.deepcopy(objects(view())[0])
    del nrt["metadata"]["annotations"][reader.CPU_TOPOLOGY]
    assert not reader.scheduler_reads(nrt).can_bind()


def test_kubelet_s_full_cores_option_is_followed() -> None:
    settings = KubeletSettings(
        cpu_manager_policy="static", cpu_manager_options={"full-pcpus-only": "true"}
    )
    assert reader.scheduler_reads(objects(view(settings=settings))[0]).full_cores
    assert not reader.scheduler_reads(objects(view())[0]).full_cores


def test_the_manager_takes_zones_by_place_which_we_warn_of_where_it_misleads() -> None:
    # Case 14.
    rendering = publish(recorded("sparse-offline"))
    assert reader.manager_zones(rendering.manifests[0]) == ["node-0", "node-8"]
    assert [c.code for c in rendering.conditions] == ["koordinator-zone-positions"]


def test_twelve_nodes_are_sorted_as_text_which_we_warn_of_too() -> None:
    nodes = [numa_node(number, str(number)) for number in range(12)]
    single = " ".join(map(str, range(12)))
    rendering = publish(view(topology(*nodes, cores=single, packages="0-11")))
    nrt = rendering.manifests[0]
    assert reader.manager_zones(nrt)[:4] == ["node-0", "node-1", "node-10", "node-11"]
    assert reader.broken(reader.NRT_RULES, nrt) == []
    assert reader.scheduler_reads(nrt).zones.keys() == set(range(12))
    assert "0, 1, 10, 11, 2" in rendering.conditions[0].message


def test_the_manager_counts_healthy_gpus_only() -> None:
    _, device = objects(recorded("mig-mixed"))
    assert reader.node_resources(device)["koordinator.sh/gpu-core"] == 100
    assert reader.device_totals(device)["gpu", 0] == {}


def test_gpus_are_grouped_by_node_and_root_complex() -> None:
    _, device = objects(recorded("two-socket-8gpu"))
    scopes = reader.gpu_scopes(device)
    assert scopes is not None
    assert sorted(minors for (node, _), minors in scopes.items() if node == 0) == [
        (0,),
        (1,),
        (2,),
        (3,),
    ]


def test_a_gpu_whose_node_is_unknown_is_near_no_node() -> None:
    _, device = objects(recorded("vm-unknown-locality"))
    assert reader.devices_of_nodes(device) == {}


def test_finished_pods_hold_no_cpus() -> None:
    done: Pod = pod(1, "2,6", phase="Succeeded")
    nrt, _ = objects(view(pods=(done,), assigned={uid(1): "2,6"}))
    pools = json.loads(nrt["metadata"]["annotations"][reader.POOLS[0]])
    assert [pool["cpuset"] for pool in pools] == ["0-1,4-5", "2-3,6-7"]


def annotated(key: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A change of one annotation's JSON."""

    def apply(nrt: Any) -> None:
        said = nrt["metadata"]["annotations"]
        said[key] = json.dumps(change(json.loads(said[key])))

    return apply


def with_member(member: str, value: object) -> Callable[[Any], Any]:
    """A change of a member of cpu-topology's first CPU."""

    def change(said: Any) -> Any:
        said["detail"][0][member] = value
        return said

    return change


def zone_0(**members: object) -> Callable[[Any], None]:
    """A change of the first zone."""
    return lambda nrt: nrt["zones"][0].update(members)


def cpu_of_zone_0(**members: object) -> Callable[[Any], None]:
    """A change of the first zone's first resource, cpu."""
    return lambda nrt: nrt["zones"][0]["resources"][0].update(members)


TOPOLOGY = reader.CPU_TOPOLOGY
GPU = {"name": "koordinator.sh/gpu", "capacity": "1", "allocatable": "1", "available": "1"}
ALL_3 = {"capacity": "3", "allocatable": "3", "available": "3"}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("the_scheduler_survives", annotated(TOPOLOGY, with_member("core", 1.5))),
        ("the_scheduler_survives", annotated(TOPOLOGY, with_member("core", "1"))),
        ("the_scheduler_survives", annotated(TOPOLOGY, lambda said: [])),
        ("the_scheduler_survives", lambda nrt: nrt.pop("topologyPolicies")),
        ("cpus_can_be_bound", annotated(TOPOLOGY, lambda said: {"detail": []})),
        ("cores_are_whole", annotated(TOPOLOGY, with_member("core", 3))),
        ("zones_are_the_cpus_nodes", zone_0(name="zone-0")),
        ("zones_are_the_cpus_nodes", zone_0(type="Socket")),
        ("zones_are_sorted_by_name", lambda nrt: nrt["zones"].reverse()),
        ("a_zone_holds_all_its_cpus", cpu_of_zone_0(**ALL_3)),
        ("amounts_are_equal", cpu_of_zone_0(available="1")),
        ("one_policy_is_told", lambda nrt: nrt["topologyPolicies"].append("None")),
        ("zones_hold_no_gpu", lambda nrt: nrt["zones"][0]["resources"].append(GPU)),
        (
            "nothing_is_amplified",
            lambda nrt: nrt["metadata"]["annotations"].update({reader.AMPLIFICATION: "{}"}),
        ),
        ("pools_are_lists_of_places", annotated(reader.POOLS[0], lambda said: said[::-1])),
        (
            "every_annotation_is_there",
            lambda nrt: nrt["metadata"]["annotations"].pop(reader.POD_CPU_ALLOCS),
        ),
    ],
)
def test_each_rule_of_the_topology_sees_its_fault(
    rule: str, change: Callable[[Any], object]
) -> None:
    nrt = copy.deepcopy(objects(view())[0])
    assert reader.broken(reader.NRT_RULES, nrt) == []
    change(nrt)
    chosen = tuple(found for found in reader.NRT_RULES if found.__name__ == rule)
    assert reader.broken(chosen, nrt) == [rule]


def first(**members: object) -> Callable[[Any], None]:
    """A change of the first device."""
    return lambda device: device["spec"]["devices"][0].update(members)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("every_device_has_a_minor", first(minor=None)),
        ("minors_are_different", first(minor=1)),
        ("devices_are_sorted", lambda device: device["spec"]["devices"].reverse()),
        ("health_is_told", first(health=None)),
        ("places_are_whole", first(topology={"nodeID": 0, "pcieID": "pci0000:16"})),
        ("conditions_have_a_time", first(conditions=[{"type": "Healthy", "status": "False"}])),
        ("gpus_have_all_their_resources", first(resources={"koordinator.sh/gpu-core": "100"})),
    ],
)
def test_each_rule_of_the_device_sees_its_fault(
    rule: str, change: Callable[[Any], object]
) -> None:
    device = copy.deepcopy(objects(recorded("two-socket-8gpu"))[1])
    assert reader.broken(reader.DEVICE_RULES, device) == []
    change(device)
    chosen = tuple(found for found in reader.DEVICE_RULES if found.__name__ == rule)
    assert reader.broken(chosen, device) == [rule]
