"""ACK's language: koordlet's object, the GPUs' ConfigMap where asked for, and what is amiss."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.accounting import Sources, account
from numa_agent.core.assembly import assemble
from numa_agent.core.conditions import Condition
from numa_agent.core.devices import Link
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.nvml import NvmlError
from numa_agent.core.schedulers import ack, koordinator
from numa_agent.core.topology import Topology
from numa_agent.core.view import View
from numa_agent.host.nvml import read_recorded
from numa_agent.host.sysfs import read_facts
from tests.recorded import machine

LABEL = "ack.node.gpu.schedule"
TOPOLOGY = {LABEL: "topology"}
ASKED_FOR: dict[str, Any] = {
    "labels": TOPOLOGY,
    "annotations": {"numa-agent.io/publish-gputopo": "true"},
}


def recorded(name: str) -> Topology:
    root = machine(name)
    return assemble(read_facts(root), nvml=read_recorded(root, expected=True))


def view_of(
    name: str, *, settings: KubeletSettings | None = None, node: str = "n1", **facts: Any
) -> View:
    return viewed(recorded(name), settings=settings, node=node, **facts)


def viewed(
    topology: Topology,
    *,
    settings: KubeletSettings | None = None,
    node: str = "n1",
    uid: str | None = "u1",
    **facts: Any,
) -> View:
    me = Node(name=node, uid=uid, **facts)
    kubelet = settings or KubeletSettings()
    found = account(Sources(topology=topology, node=me, settings=kubelet))
    return View(
        node=me,
        topology=topology,
        accounts=found.nodes,
        settings=kubelet,
        pods=(),
        reserved=found.reserved,
    )


def config_maps(view: View) -> list[Any]:
    return [found for found in ack.publish(view).manifests if found["kind"] == "ConfigMap"]


def links(view: View) -> list[list[str]]:
    (found,) = config_maps(view)
    matrix: list[list[str]] = json.loads(found["data"]["linkType"])
    return matrix


def amiss(view: View) -> list[Condition]:
    own = ack.publish(view).conditions
    return [condition for condition in own if condition.code.startswith("ack-")]


def codes(view: View) -> list[str]:
    return [condition.code for condition in amiss(view)]


@pytest.mark.parametrize("name", ["two-socket-8gpu", "cxl-expander", "sparse-offline"])
def test_the_node_resource_topology_is_koordlets(name: str) -> None:
    view = view_of(name, labels=TOPOLOGY)
    (found,) = ack.publish(view).manifests
    (koordlets,) = [
        manifest
        for manifest in koordinator.publish(view).manifests
        if manifest["kind"] == "NodeResourceTopology"
    ]
    assert found == koordlets


@pytest.mark.parametrize(
    "facts",
    [
        {"labels": TOPOLOGY},
        {"labels": TOPOLOGY, "annotations": {"numa-agent.io/publish-gputopo": "false"}},
        {"annotations": ASKED_FOR["annotations"]},
        {"labels": {LABEL: "default"}, "annotations": ASKED_FOR["annotations"]},
    ],
)
def test_no_config_map_is_published_unless_asked_for_in_topology_mode(
    facts: dict[str, Any],
) -> None:
    assert config_maps(view_of("two-socket-8gpu", **facts)) == []


def test_the_config_map_is_whole() -> None:
    (found,) = config_maps(view_of("single-node", **ASKED_FOR))
    assert found == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "numa-agent-gputopo-n1",
            "namespace": "kube-system",
            "labels": {LABEL: "topology", "nodename": "n1"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}],
        },
        "data": {"devices": '{"0":"Healthy"}', "linkType": '[["N-A"]]'},
    }


def test_a_node_without_uid_owns_nothing() -> None:
    (found,) = config_maps(viewed(recorded("single-node"), uid=None, **ASKED_FOR))
    assert "ownerReferences" not in found["metadata"]


def test_links_of_the_v100_cube_mesh_are_those_that_nvidia_smi_shows() -> None:
    matrix = links(view_of("v100-cube-mesh", **ASKED_FOR))
    assert matrix[0] == ["N-A", "NV1", "NV2", "NV1", "SYS", "SYS", "SYS", "NV2"]
    assert matrix[5] == ["SYS", "SYS", "NV1", "SYS", "NV2", "N-A", "NV1", "NV2"]
    assert all(matrix[a][b] == matrix[b][a] for a in range(8) for b in range(8))
    assert [matrix[i][i] for i in range(8)] == ["N-A"] * 8


def test_links_through_a_switch_are_nvlinks_and_others_are_the_level_of_their_path() -> None:
    everyone = set().union(*links(view_of("two-socket-8gpu", **ASKED_FOR)))
    assert everyone == {"N-A", "NV18"}
    assert links(view_of("vm-unknown-locality", **ASKED_FOR)) == [["N-A", "PHB"], ["PHB", "N-A"]]


def test_rows_go_by_nvmls_index_and_not_by_address() -> None:
    topology = recorded("v100-cube-mesh")
    swapped = tuple(
        replace(gpu, nvml=replace(gpu.nvml, index=7 - gpu.nvml.index)) if gpu.nvml else gpu
        for gpu in topology.gpus
    )
    straight = links(viewed(topology, **ASKED_FOR))
    turned = links(viewed(replace(topology, gpus=swapped), **ASKED_FOR))
    assert turned == [row[::-1] for row in straight[::-1]]


def test_a_lost_gpu_is_unhealthy_and_costs_nobody_else_a_link() -> None:
    view = view_of("lost-gpu", **ASKED_FOR)
    (found,) = config_maps(view)
    health = json.loads(found["data"]["devices"])
    assert health == {"0": "Healthy", "1": "Healthy", "2": "Unhealthy", "3": "Healthy"}
    assert {len(row) for row in links(view)} == {4}
    assert codes(view) == []


def test_a_gpu_in_mig_mode_is_nobodys_whole_gpu() -> None:
    view = view_of("mig-mixed", **ASKED_FOR)
    modes = [gpu.nvml.mig_mode for gpu in view.topology.gpus if gpu.nvml]
    (found,) = config_maps(view)
    health = json.loads(found["data"]["devices"])
    assert [health[str(index)] for index in range(len(modes))] == [
        "Unhealthy" if mig else "Healthy" for mig in modes
    ]
    (condition,) = amiss(view)
    assert condition.code == "ack-gpu-mig-mode"
    assert f"GPU {modes.index(True)} in MIG mode" in condition.message


@pytest.mark.parametrize(
    "ailment",
    [
        {"errors": (NvmlError(call="name", argument=None, error="ResetRequired"),)},
        {"errors": (NvmlError(call="handle", argument=None, error="Unknown"),)},
    ],
)
def test_a_gpu_that_isn_t_known_to_be_well_is_unhealthy(ailment: dict[str, Any]) -> None:
    topology = recorded("two-socket-8gpu")
    first = topology.gpus[0]
    assert first.nvml is not None
    ill = replace(first, nvml=replace(first.nvml, **ailment))
    (found,) = config_maps(viewed(replace(topology, gpus=(ill, *topology.gpus[1:])), **ASKED_FOR))
    assert json.loads(found["data"]["devices"])["0"] == "Unhealthy"


def without_first(topology: Topology) -> Topology:
    return replace(topology, links=tuple(x for x in topology.links if not is_first(topology, x)))


def with_first(topology: Topology, **facts: Any) -> Topology:
    changed = (
        replace(link, **facts) if is_first(topology, link) else link for link in topology.links
    )
    return replace(topology, links=tuple(changed))


def is_first(topology: Topology, link: Link) -> bool:
    """Whether it is the link of the first two GPUs."""
    first, second = (gpu.device.address for gpu in topology.gpus[:2])
    return (link.a, link.b) == (first, second)


@pytest.mark.parametrize(
    "untell",
    [
        without_first,
        lambda topology: with_first(topology, nvlinks=None),
        lambda topology: with_first(topology, nvlinks=0, level=None),
    ],
)
def test_links_that_no_source_tells_are_named_and_keep_the_config_map_away(
    untell: Callable[[Topology], Topology],
) -> None:
    view = viewed(untell(recorded("two-socket-8gpu")), **ASKED_FOR)
    assert config_maps(view) == []
    assert amiss(view) == [
        Condition(
            code="ack-gpu-links-unknown",
            subject="n1",
            message="node n1: no source tells the links of GPUs 0-1",
        )
    ]


@pytest.mark.parametrize("position", [0, 3])
def test_a_gpu_that_nvml_doesn_t_know_leaves_all_without_an_index(position: int) -> None:
    topology = recorded("lost-gpu")
    mute = tuple(
        replace(gpu, nvml=None) if place == position else gpu
        for place, gpu in enumerate(topology.gpus)
    )
    view = viewed(replace(topology, gpus=mute), **ASKED_FOR)
    assert config_maps(view) == []
    (condition,) = amiss(view)
    assert condition.code == "ack-gpu-links-unknown"
    assert all(str(gpu.device.address) in condition.message for gpu in topology.gpus)


def test_a_gpu_that_nvml_knows_is_nvidias_whatever_its_files_say() -> None:
    topology = recorded("single-node")
    (gpu,) = topology.gpus
    nameless = replace(gpu, device=replace(gpu.device, vendor=None))
    assert links(viewed(replace(topology, gpus=(nameless,)), **ASKED_FOR)) == [["N-A"]]


def test_accelerators_and_gpus_given_to_a_guest_are_not_acks() -> None:
    view = view_of("accelerators", **ASKED_FOR)
    assert codes(view) == []
    assert len(links(view)) == 3


@pytest.mark.parametrize("name", ["amd-8gpu", "cgroup-v1-systemd"])
def test_topology_mode_on_a_node_without_nvidia_gpus_is_told(name: str) -> None:
    view = view_of(name, **ASKED_FOR)
    assert codes(view) == ["ack-gpu-mode-without-gpus"]
    assert config_maps(view) == []


@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [
        (None, "ack-gpu-mode-absent", "8 NVIDIA GPUs and no label"),
        ("default", "ack-gpu-mode-other", "nvidia.com/gpu"),
        ("cgpu", "ack-gpu-mode-other", "shared GPUs, isolated memory"),
        ("core_mem", "ack-gpu-mode-other", "isolated memory and compute"),
        ("share", "ack-gpu-mode-other", "not isolated"),
        ("mps", "ack-gpu-mode-other", "MPS"),
        ("Topology", "ack-gpu-mode-unknown", "default, cgpu, core_mem, share, mps, topology"),
        ("", "ack-gpu-mode-unknown", "default, cgpu, core_mem, share, mps, topology"),
    ],
)
def test_gpus_without_topology_mode_are_told_with_what_to_set(
    mode: str | None, code: str, words: str
) -> None:
    (condition,) = amiss(view_of("two-socket-8gpu", labels={} if mode is None else {LABEL: mode}))
    assert (condition.code, condition.subject) == (code, "n1")
    assert words in condition.message


@pytest.mark.parametrize("name", ["amd-8gpu", "four-node-snc"])
def test_a_node_without_nvidia_gpus_needs_no_label(name: str) -> None:
    assert codes(view_of(name)) == []
    assert codes(view_of(name, labels={LABEL: "default"})) == []


def test_a_removed_label_is_told_by_what_the_node_still_counts() -> None:
    # "Deleting the label does not restore exclusive mode": doc-detail/191140.
    counts = {"aliyun.com/gpu": 8, "aliyun.com/gpu-mem": 0, "nvidia.com/gpu": 0}
    (condition,) = amiss(view_of("two-socket-8gpu", capacity=counts))
    assert condition.code == "ack-gpu-mode-removed"
    assert "still counts aliyun.com/gpu:" in condition.message
    assert "set ack.node.gpu.schedule=default" in condition.message


def test_resources_of_other_modes_that_are_nought_tell_nothing() -> None:
    counts = {"aliyun.com/gpu": 0, "aliyun.com/gpu-mem": 0, "nvidia.com/gpu": 8}
    assert codes(view_of("two-socket-8gpu", capacity=counts)) == ["ack-gpu-mode-absent"]


def test_kubelets_static_policy_is_told() -> None:
    view = view_of("single-node", labels=TOPOLOGY, settings=KubeletSettings())
    assert codes(view) == []
    static = KubeletSettings(cpu_manager_policy="static")
    (condition,) = amiss(view_of("single-node", labels=TOPOLOGY, settings=static))
    assert condition.code == "ack-cpu-manager-policy"
    assert "cpuManagerPolicy is static" in condition.message


def test_a_name_that_fits_no_label_keeps_the_config_map_away() -> None:
    fits, longer = "n" * 63, "n" * 64
    view = view_of("single-node", node=fits, **ASKED_FOR)
    assert (len(config_maps(view)), codes(view)) == (1, [])
    view = view_of("single-node", node=longer, **ASKED_FOR)
    assert config_maps(view) == []
    assert codes(view) == ["ack-node-name-too-long"]


def test_the_same_view_gives_the_same_bytes_whatever_the_order_of_links() -> None:
    topology = recorded("v100-cube-mesh")
    turned = replace(topology, links=topology.links[::-1], gpus=topology.gpus[::-1])
    one, other = (ack.publish(viewed(found, **ASKED_FOR)) for found in (topology, turned))
    assert json.dumps(one.manifests) == json.dumps(other.manifests)
    assert one.conditions == other.conditions


def test_conditions_come_sorted_koordinators_among_them() -> None:
    static = KubeletSettings(cpu_manager_policy="static")
    found = ack.publish(view_of("sparse-offline", settings=static)).conditions
    assert [condition.code for condition in found] == [
        "ack-cpu-manager-policy",
        "ack-gpu-mode-absent",
        "koordinator-zone-positions",
    ]


def test_a_config_map_is_applied_as_it_is_and_a_topology_as_koordinator_adopts_it() -> None:
    topology, config_map = ack.publish(view_of("single-node", **ASKED_FOR)).manifests
    assert ack.adopt(config_map, {"data": {"bandwith": "[[1]]"}}) == config_map
    live = {**topology, "topologyPolicies": ["None"]}
    assert ack.adopt(topology, live) == koordinator.adopt(topology, live)
