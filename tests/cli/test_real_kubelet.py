"""Nodes of a real kubelet with managers of its own, as the end-to-end bench recorded them."""

import json
from typing import Any

import pytest
import yaml

from numa_agent.cli import main
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.host.recorded import read_answer
from tests.recorded import machine

BY_KUBELET = "kubelet's static CPU manager"
ASSIGNMENT = "numa-agent.io/assignment"


def said(capsys: pytest.CaptureFixture[str], *words: str, root: str) -> Any:
    """What a command says in JSON of a recorded machine."""
    main([*words, "--host-root", str(machine(root)), "-o", "json"])
    return json.loads(capsys.readouterr().out)


def published(capsys: pytest.CaptureFixture[str], root: str) -> Any:
    """The object of kube-scheduler's language."""
    main(["render", "--scheduler", "kube-scheduler", "--host-root", str(machine(root))])
    return yaml.safe_load(capsys.readouterr().out)


def available(document: Any, resource: str) -> list[int]:
    """What each zone has available of a resource."""
    return [
        int(each["available"])
        for zone in document["zones"]
        for each in zone["resources"]
        if each["name"] == resource
    ]


def attributes(document: Any) -> dict[str, str]:
    """The attributes of an object."""
    return {each["name"]: each["value"] for each in document["attributes"]}


def cpus_by_decider(capsys: pytest.CaptureFixture[str], root: str) -> set[Any]:
    """Who decided the CPUs of each container, which it has in force, and whether as decided."""
    return {
        (
            each["asked"]["decided_by"],
            each["cpus"]["effective"],
            each["verdict"],
            each["asked"]["has_it"],
        )
        for each in said(capsys, "verify", root=root)["containers"]
    }


def test_static_one_pod_is_kubelets_one_the_agents_and_the_others_share(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cpus_by_decider(capsys, "kubelet-static") == {
        (BY_KUBELET, "2-3", "aligned", True),
        (ASSIGNMENT, "6-7", "aligned", True),
        # It asked for CPUs that kubelet reserves.
        (ASSIGNMENT, "0-1,4-5", "split", False),
        (None, "0-1,4-5", "split", None),
    }


def test_static_the_pods_directory_binds_whatever_kubelet_left_in_its_containers() -> None:
    bound = [
        file.parent
        for file in (machine("kubelet-static") / "sys/fs/cgroup").rglob("cpuset.cpus")
        if file.read_text() == "6-7\n"
    ]
    [pod] = bound
    inside = {
        (file.read_text(), file.with_name("cpuset.cpus.effective").read_text())
        for file in pod.glob("*/cpuset.cpus")
    }
    # The sandbox, of which kubelet knows nothing, and the container, which has all that's shared.
    assert inside == {("\n", "6-7\n"), ("0-1,4-7\n", "6-7\n")}


def test_static_nothing_is_left_to_write_and_kubelets_pod_is_left_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = said(capsys, "plan", root="kubelet-static")
    assert plan["steps"] == []
    assert [each["reason"] for each in plan["left_alone"]] == ["kubelet-exclusive"]
    assert [each["reason"] for each in plan["refused"]] == ["cpus-reserved"]
    assert plan["conditions"] == []


def test_static_what_kubelet_reserves_and_gave_out_is_not_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = published(capsys, "kubelet-static")
    assert available(document, "cpu") == [1, 1]
    told = attributes(document)
    assert (told["cpuManagerPolicy"], told["reservedSystemCPUs"]) == ("static", "0,4")


def test_static_podresources_names_the_cpus_of_kubelets_pod_alone() -> None:
    parsed = parse_pod_resources(read_answer(machine("kubelet-static"), "podresources"))
    held = sorted(sorted(grant.cpus) for grant in parsed.containers)
    assert held == [[], [], [], [], [2, 3]]
    assert parsed.offer is not None
    assert parsed.offer.cpus == {1, 2, 3, 5, 6, 7}
    assert parsed.problems == ()


def test_numa_both_pods_are_kubelets_and_each_is_aligned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cpus_by_decider(capsys, "kubelet-numa") == {
        (BY_KUBELET, "2-3", "aligned", True),
        (BY_KUBELET, "6-7", "aligned", True),
        (None, "0-1,4-5", "split", None),
    }
    plan = said(capsys, "plan", root="kubelet-numa")
    assert plan["steps"] == []
    assert [each["reason"] for each in plan["left_alone"]] == ["kubelet-exclusive"] * 2


def test_numa_the_object_has_kubelets_policies_and_its_own_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = published(capsys, "kubelet-numa")
    told = attributes(document)
    assert (told["topologyManagerPolicy"], told["topologyManagerScope"]) == (
        "single-numa-node",
        "pod",
    )
    assert (told["memoryManagerPolicy"], told["reservedSystemCPUs"]) == ("Static", "0,4")
    assert available(document, "cpu") == [1, 1]
    state = machine("kubelet-numa") / "var/lib/kubelet/memory_manager_state"
    pools = json.loads(state.read_text())["machineState"]
    free = [pools[node]["memoryMap"]["memory"]["free"] for node in ("0", "1")]
    assert available(document, "memory") == free


def test_numa_a_pod_that_kubelet_refused_holds_nothing_and_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = read_answer(machine("kubelet-numa"), "pods")["items"]
    assert isinstance(listed, list)
    [pod] = [each for each in listed if each["status"]["phase"] == "Failed"]
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    story = said(capsys, "explain", name, root="kubelet-numa")
    assert story["containers"] == []
    [room] = [each["lines"] for each in story["chapters"] if each["title"] == "room"]
    assert [line.rpartition(": ")[2] for line in room] == ["lacks 3 CPUs"] * 2
    [asked, *_] = [each["lines"] for each in story["chapters"] if each["title"] == "asked"]
    assert asked[0].startswith("Guaranteed pod, Failed (TopologyAffinityError)")
    assert story["todo"][0]["what"].startswith("kubelet's Topology Manager found no NUMA nodes")


def test_numa_podresources_has_each_pods_memory_on_the_node_of_its_cpus() -> None:
    parsed = parse_pod_resources(read_answer(machine("kubelet-numa"), "podresources"))
    held = {
        tuple(sorted(grant.cpus)): [(block.size >> 20, block.nodes) for block in grant.memory]
        for grant in parsed.containers
        if grant.cpus
    }
    assert {node for [(_, node)] in held.values()} == {(0,), (1,)}
    for cpus, [(_, [node])] in held.items():
        assert {cpu // 4 for cpu in cpus} == {node}
    assert sorted(size for [(size, _)] in held.values()) == [128, 256]
    assert parsed.problems == ()
