"""The pods' cgroups lie where kubelet and the runtime put them, and keep cpuset's rules."""

import json
from posixpath import dirname
from typing import Any

import pytest

from numa_agent.core.cpulist import parse
from tools.machines.tree import Tree

ROOT = "sys/fs/cgroup"


def text(tree: Tree, path: str) -> str:
    entry = tree[path]
    assert isinstance(entry, str)
    return entry.strip()


def pods(tree: Tree) -> dict[str, Any]:
    items = json.loads(text(tree, "answers/pods.json"))["items"]
    return {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in items}


def container_folders(tree: Tree, pod: Any) -> list[str]:
    """The cgroups of a pod's containers, found by the ids that the API server tells."""
    statuses = pod["status"].get("containerStatuses", [])
    wanted = [status["containerID"].partition("://")[2] for status in statuses]
    procs = [dirname(path) for path in tree if path.endswith("/cgroup.procs")]
    return [folder for folder in procs for name in wanted if name in folder]


def test_what_is_in_force_lies_within_the_parents(machines: dict[str, Tree]) -> None:
    for name, tree in machines.items():
        for path in tree:
            folder, _, file = path.rpartition("/")
            above = f"{dirname(folder)}/{file}"
            if "effective" in file and above in tree:
                assert parse(text(tree, path)) <= parse(text(tree, above)), (name, path)


def test_every_running_container_has_a_cgroup_and_no_other_has(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        for pod in pods(tree).values():
            running = pod["status"]["phase"] == "Running"
            count = len(pod["spec"]["containers"]) if running else 0
            assert len(container_folders(tree, pod)) == count


def test_the_assigned_pod_has_still_the_whole_machine(machines: dict[str, Tree]) -> None:
    tree = machines["two-socket-8gpu"]
    pod = pods(tree)["ml/train-0"]
    annotation = pod["metadata"]["annotations"]["scheduling.koordinator.sh/resource-status"]
    assert len(parse(json.loads(annotation)["cpuset"])) == 24
    (folder,) = container_folders(tree, pod)
    assert (
        text(tree, f"{folder}/cpuset.cpus") == text(tree, f"{dirname(folder)}/cpuset.cpus") == ""
    )
    assert text(tree, f"{folder}/cpuset.cpus.effective") == "0-223"


def test_an_applied_assignment_is_in_the_pods_and_the_containers_cgroup(
    machines: dict[str, Tree],
) -> None:
    tree = machines["cxl-expander"]
    (folder,) = container_folders(tree, pods(tree)["db/main-0"])
    assert text(tree, f"{dirname(folder)}/cpuset.cpus") == "8-15"
    assert text(tree, f"{folder}/cpuset.cpus") == "8-15"
    assert text(tree, f"{folder}/cpuset.cpus.effective") == "8-15"


@pytest.mark.parametrize(
    ("machine", "pod", "below"),
    [
        (
            "two-socket-8gpu",
            "ml/train-0",
            "kubepods.slice/kubepods-pod{uid_}.slice/cri-containerd-{id}.scope",
        ),
        (
            "two-socket-8gpu",
            "batch/report-7lz5k",
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{uid_}.slice"
            "/cri-containerd-{id}.scope",
        ),
        (
            "four-node-snc",
            "telecom/upf-0",
            "kubepods.slice/kubepods-pod{uid_}.slice/crio-{id}.scope",
        ),
        ("single-node", "vision/detect-0", "kubepods/pod{uid}/{id}"),
        (
            "single-node",
            "kube-system/kube-proxy-single-node",
            "kubepods/besteffort/pod{hash}/{id}",
        ),
        (
            "cgroup-v1-systemd",
            "db/main-0",
            "cpuset/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid_}.slice"
            "/cri-containerd-{id}.scope",
        ),
    ],
)
def test_a_container_lies_where_its_driver_and_runtime_put_it(
    machines: dict[str, Tree], machine: str, pod: str, below: str
) -> None:
    tree = machines[machine]
    found = pods(tree)[pod]
    uid = found["metadata"]["uid"]
    names = {
        "uid": uid,
        "uid_": uid.replace("-", "_"),
        "hash": found["metadata"].get("annotations", {}).get("kubernetes.io/config.hash"),
        "id": found["status"]["containerStatuses"][0]["containerID"].partition("://")[2],
    }
    assert f"{ROOT}/{below.format(**names)}/cpuset.cpus" in tree


def test_only_where_cpuset_is_handed_on_does_v2_show_its_files(machines: dict[str, Tree]) -> None:
    tree = machines["two-socket-8gpu"]
    assert f"{ROOT}/system.slice/cpuset.cpus" in tree
    assert f"{ROOT}/system.slice/kubelet.service/cpuset.cpus" not in tree
    assert f"{ROOT}/cpuset.cpus" not in tree


def test_on_v1_every_cgroup_holds_full_sets_of_its_own(machines: dict[str, Tree]) -> None:
    tree = machines["cgroup-v1-systemd"]
    found = [path for path in tree if path.endswith("/cpuset.cpus")]
    assert len(found) == 10
    assert {text(tree, path) for path in found} == {"0-31"}
    assert {text(tree, f"{dirname(path)}/cpuset.mems") for path in found} == {"0-1"}


def test_shared_containers_get_what_the_static_policy_left(machines: dict[str, Tree]) -> None:
    tree = machines["four-node-snc"]
    state = json.loads(text(tree, "var/lib/kubelet/cpu_manager_state"))
    (shared,) = container_folders(tree, pods(tree)["shop/cache-0"])
    (exclusive,) = container_folders(tree, pods(tree)["telecom/upf-0"])
    assert text(tree, f"{shared}/cpuset.cpus") == state["defaultCpuSet"] == "0-2,5-26,29-47"
    assert text(tree, f"{exclusive}/cpuset.cpus") == "3-4,27-28"
    assert text(tree, f"{exclusive}/cpuset.mems.effective") == "1"
