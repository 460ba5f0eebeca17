"""Beside kubelet's Topology Manager and its static memory manager: pods on one NUMA node."""

import json

import pytest

from numa_agent.core import cpulist
from tests.e2e.cluster import TOPOLOGIES, Born, Cluster
from tests.e2e.managers import KUBELET, NumaBench, container_cpus, given, quarrels
from tests.e2e.pods import Json, assigned, container, pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [NumaBench], indirect=True, scope="session"),
]

MIB = 1 << 20
MEMORY = 256


def wanting(name: str, cpus: int, annotations: dict[str, str] | None = None) -> Json:
    """A pod that kubelet gives CPUs and memory of one NUMA node, or refuses."""
    amounts = {"cpu": str(cpus), "memory": f"{MEMORY}Mi"}
    return pod(name, container(guaranteed=True, **amounts), annotations=annotations)


def memory_nodes(cluster: Cluster, name: str) -> list[list[int]]:
    """The NUMA nodes of each block of memory that kubelet's state gives a pod."""
    uid = (cluster.pod(name) or {})["metadata"]["uid"]
    state = json.loads(cluster.node.read(f"{KUBELET}/memory_manager_state"))
    return [each["numaAffinity"] for each in state["entries"][uid]["app"]]


def test_the_object_has_kubelets_policies_and_what_it_reserves(cluster: Cluster) -> None:
    published = cluster.plane.ask("GET", f"{TOPOLOGIES}/{cluster.node.name}")
    attributes = {each["name"]: each["value"] for each in published["attributes"]}
    said = {
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
        "reservedSystemCPUs": "0,4",
        "reservedMemory": f"0:memory={100 * MIB};1:memory={100 * MIB}",
    }
    assert {name: attributes.get(name) for name in said} == said
    assert cluster.available() == {"node-0": "3", "node-1": "3"}
    # kubelet's own figures of memory, to the byte.
    state = json.loads(cluster.node.read(f"{KUBELET}/memory_manager_state"))
    allocatable = {
        f"node-{node}": str(each["memoryMap"]["memory"]["allocatable"])
        for node, each in state["machineState"].items()
    }
    assert cluster.available("memory", field="allocatable") == allocatable


def test_a_pod_that_kubelet_aligned_is_aligned_and_touched_by_nobody(cluster: Cluster) -> None:
    cpus_before, memory_before = cluster.available(), cluster.available("memory")
    cluster.apply(wanting("fits", cpus=2))
    cluster.running("fits")
    cpus, [[node]] = given(cluster)["fits/app"], memory_nodes(cluster, "fits")
    assert {cpu // 4 for cpu in cpulist.parse(cpus)} == {node}
    assert cluster.born("fits") == Born(cpus=cpus, mems=str(node))
    told = cluster.verify("fits")["app"]
    assert (told["verdict"], told["asked"]["has_it"]) == ("aligned", True), told
    assert told["asked"]["decided_by"] == "kubelet's static CPU manager"
    zone = f"node-{node}"
    less = lessened(cpus_before, zone, 2), lessened(memory_before, zone, MEMORY * MIB)
    cluster.until(
        "its CPUs and its memory aren't available",
        lambda: (cluster.available(), cluster.available("memory")) == less,
    )
    for file in ("cpuset.cpus", "cpuset.mems"):
        assert cluster.cgroup("fits", file) == ""
    assert container_cpus(cluster, "fits") == {"", cpus}
    assert quarrels(cluster) == {}


def test_an_assignment_that_kubelet_decided_otherwise_is_refused(cluster: Cluster) -> None:
    cluster.apply(wanting("both", cpus=2, annotations=assigned("5,7", mems="1")))
    cluster.running("both")
    cpus = given(cluster)["both/app"]
    said = cluster.until("refused", lambda: cluster.events("both").get("CPUSetRefused"))
    assert said.startswith("kubelet-exclusive: ")
    assert f"gave it {cpus} and keeps them" in said
    assert cluster.verify("both")["app"]["cpus"]["effective"] == cpus
    assert cluster.cgroup("both", "cpuset.cpus") == ""


def test_a_pod_that_kubelet_refused_is_explained_and_holds_nothing(cluster: Cluster) -> None:
    before = cluster.available()
    # No node has four CPUs that aren't reserved, which the plain scheduler doesn't know.
    cluster.apply(wanting("refused", cpus=4))

    def status() -> Json:
        return dict((cluster.pod("refused") or {}).get("status", {}))

    cluster.until("kubelet refuses it", lambda: status().get("phase") == "Failed")
    assert status()["reason"] == "TopologyAffinityError"
    story = cluster.ask_agent("explain", "default/refused").decode()
    assert "Guaranteed pod, Failed" in story
    for node in (0, 1):
        assert f"{cluster.node.name} node {node}: lacks 1 CPU" in story, story
    assert "TopologyAffinityError" in story
    judged = json.loads(cluster.ask_agent("verify", "-o", "json"))["containers"]
    assert [each["pod"] for each in judged if each["pod"] == "default/refused"] == []
    assert cluster.available() == before


def lessened(available: dict[str, str], zone: str, count: int) -> dict[str, str]:
    """An availability with so much less of one zone."""
    return {**available, zone: str(int(available[zone]) - count)}
