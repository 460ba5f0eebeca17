"""One pass against a real API server, and what is verified and explained of its pods."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY, MERGE, TOPOLOGIES, topology
from tests.podresources.servers import kubelet
from tests.recorded import copied

pytestmark = pytest.mark.apiserver

MACHINE = Path(__file__).parents[2] / "fixtures" / "sysfs" / "two-socket-8gpu"
NODE = "pass-node"
NODE_INFO = (
    *("machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion"),
    *("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
)
"""What else the API server wants to know of a Node that has a bootID."""
PODS = "/api/v1/namespaces/default/pods"
TOPOLOGY = f"/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/{NODE}"


@pytest.fixture(scope="module")
def live_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine's root without recorded answers: the API server and kubelet are asked for them."""
    root = tmp_path_factory.mktemp("live") / "host"
    copied(MACHINE, root)
    (root / "recorded.yaml").unlink()
    shutil.rmtree(root / "answers")
    socket = root / "var/lib/kubelet/pod-resources/kubelet.sock"
    socket.parent.mkdir(parents=True, exist_ok=True)
    with kubelet(socket, _pod_resources()):
        yield root


def _pod_resources() -> dict[str, Any]:
    """The recorded answer for the assigned pod alone, in the namespace that it has here."""
    answer: dict[str, Any] = json.loads((MACHINE / "answers/podresources.json").read_text())
    pods = answer["list"]["podResources"]
    own = next(pod for pod in pods if pod["name"] == "train-0")
    return {**answer, "list": {"podResources": [{**own, "namespace": "default"}]}}


@pytest.fixture(scope="module")
def assigned_pod(control_plane: ControlPlane) -> dict[str, Any]:
    """The recorded machine's assigned pod, running on a Node of the real cluster."""
    control_plane.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
    pods = json.loads((MACHINE / "answers" / "pods.json").read_text())["items"]
    recorded = next(pod for pod in pods if pod["metadata"]["name"] == "train-0")
    pod = {
        "metadata": {
            "name": "train-0",
            "namespace": "default",
            "annotations": recorded["metadata"]["annotations"],
        },
        "spec": {**_plain(recorded["spec"]), "nodeName": NODE},
    }
    created = control_plane.ask("POST", "/api/v1/namespaces/default/pods", pod)
    path = "/api/v1/namespaces/default/pods/train-0/status"
    status = {**created, "status": recorded["status"]}
    return control_plane.ask("PUT", path, status)


def _plain(spec: dict[str, Any]) -> dict[str, Any]:
    containers = [
        {"name": c["name"], "image": "pause", "resources": c["resources"]}
        for c in spec["containers"]
    ]
    return {"containers": containers, "automountServiceAccountToken": False}


def _configuration(tmp_path: Path, root: Path, control_plane: ControlPlane) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(
        f"hostRoot: {root}\nliveRoot: {root}\nnodeName: {NODE}\n"
        f"kubeconfig: {control_plane.kubeconfig}\n"
    )
    return str(path)


def _pod(plane: ControlPlane, name: str, cpus: str, node: str | None = None) -> Any:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": cpus}}}
    spec: dict[str, Any] = {"containers": [container], "automountServiceAccountToken": False}
    if node is not None:
        spec["nodeName"] = node
    return plane.ask("POST", PODS, {"metadata": {"name": name}, "spec": spec})


def _cgroup_of(root: Path, pod: dict[str, Any]) -> Path:
    """The cgroup of the pod's container, laid where kubelet would for the uid the server gave."""
    uid = pod["metadata"]["uid"].replace("-", "_")
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    kubepods = root / "sys/fs/cgroup/kubepods.slice"
    template = next(kubepods.glob("kubepods-pod*.slice/*.scope"))
    qos = "" if pod["status"]["qosClass"] == "Guaranteed" else pod["status"]["qosClass"].lower()
    assert not qos, "the recorded pod is a Guaranteed one"
    leaf = kubepods / f"kubepods-pod{uid}.slice" / f"cri-containerd-{container}.scope"
    if not leaf.exists():
        shutil.copytree(template.parent, leaf.parent, ignore=shutil.ignore_patterns("*.scope"))
        shutil.copytree(template, leaf)
    return leaf


def test_a_pass_publishes_to_the_api_server_and_writes_what_its_pods_were_assigned(
    control_plane: ControlPlane,
    live_machine: Path,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configuration = _configuration(tmp_path, live_machine, control_plane)
    leaf = _cgroup_of(live_machine, assigned_pod)
    main(["run", "--once", "--config", configuration, "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [each["outcome"] for each in report["publications"]] == ["created"]
    assert [write["error"] for write in report["writes"]] == [None]
    assert (leaf.parent / "cpuset.cpus").read_text() == "56-67,168-179\n"
    stored = control_plane.ask("GET", TOPOLOGY)
    assert [zone["name"] for zone in stored["zones"]] == ["node-0", "node-1"]
    assert stored["zones"][1]["resources"][0] == {
        "name": "cpu",
        "capacity": "112",
        "allocatable": "112",
        "available": "88",
    }


def test_a_second_pass_changes_nothing_on_the_server_or_the_machine(
    control_plane: ControlPlane,
    live_machine: Path,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configuration = _configuration(tmp_path, live_machine, control_plane)
    _cgroup_of(live_machine, assigned_pod)
    main(["run", "--once", "--config", configuration, "-o", "json"])
    before = control_plane.ask("GET", TOPOLOGY)["metadata"]["resourceVersion"]
    capsys.readouterr()
    main(["run", "--once", "--config", configuration, "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [each["outcome"] for each in report["publications"]] == ["unchanged"]
    assert report["writes"] == []
    assert control_plane.ask("GET", TOPOLOGY)["metadata"]["resourceVersion"] == before


def test_the_story_of_this_nodes_pod_names_who_decided_and_when(
    control_plane: ControlPlane,
    live_machine: Path,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configuration = _configuration(tmp_path, live_machine, control_plane)
    _cgroup_of(live_machine, assigned_pod)
    main(["explain", "default/train-0", "--config", configuration, "-o", "json"])
    story = json.loads(capsys.readouterr().out)
    chapters = {each["title"]: each["lines"] for each in story["chapters"]}
    assert chapters["decided"][0].startswith("container trainer: CPUs 56-67,168-179")
    # The API server knows who wrote the annotation, and when.
    assert " was written by " in chapters["decided"][-1]
    assert " at 20" in chapters["decided"][-1]
    main(["verify", "default/train-0", "--config", configuration, "-o", "json"])
    (container,) = json.loads(capsys.readouterr().out)["containers"]
    assert container["asked"]["decided_by"] == "scheduling.koordinator.sh/resource-status"
    assert {each["node"] for each in container["devices"]} == {1}


def test_a_pod_that_no_node_has_is_compared_with_what_agents_published(
    control_plane: ControlPlane,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    live_machine: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configuration = _configuration(tmp_path, live_machine, control_plane)
    for name, available in (("fit-roomy", "15500m"), ("fit-full", "1500m")):
        path = f"{TOPOLOGIES}/{name}?fieldManager=t&force=true"
        control_plane.ask("PATCH", path, topology(name, available), content_type=APPLY)
    _pod(control_plane, "waits", "4")
    assert main(["explain", "default/waits", "--config", configuration]) == 0
    said = capsys.readouterr().out
    assert "fit-roomy node-0: fits" in said
    assert "fit-full node-0: lacks 2.5 CPUs" in said
    assert "a node has room" in said


def test_a_pod_of_another_node_is_refused_with_where_to_ask(
    control_plane: ControlPlane,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    live_machine: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configuration = _configuration(tmp_path, live_machine, control_plane)
    control_plane.ask("POST", "/api/v1/nodes", {"metadata": {"name": "far-node"}})
    _pod(control_plane, "far", "1", "far-node")
    assert main(["explain", "default/far", "--config", configuration]) == 2
    assert "pod default/far is on node far-node" in capsys.readouterr().err
    assert main(["explain", "default/nobody", "--config", configuration]) == 2
    assert "no pod default/nobody" in capsys.readouterr().err


def test_a_node_that_is_another_machine_by_its_boot_id_is_not_published_to(
    control_plane: ControlPlane,
    live_machine: Path,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    boot_id = live_machine / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    boot_id.write_text("7f0c0000-0000-4000-8000-000000000001\n")
    path = f"/api/v1/nodes/{NODE}"
    node = control_plane.ask("GET", path)
    node["status"] = {"nodeInfo": {"bootID": "another", **dict.fromkeys(NODE_INFO, "x")}}
    control_plane.ask("PUT", f"{path}/status", node)
    before = control_plane.ask("GET", TOPOLOGY)["metadata"]["resourceVersion"]
    configuration = _configuration(tmp_path, live_machine, control_plane)
    try:
        assert main(["run", "--once", "--config", configuration, "-o", "json"]) == 1
    finally:
        shutil.rmtree(boot_id.parents[3] / "sys")
    report = json.loads(capsys.readouterr().out)
    assert "is another machine or has booted since" in str(report["failures"])
    assert control_plane.ask("GET", TOPOLOGY)["metadata"]["resourceVersion"] == before


@pytest.mark.parametrize("events", ["off", "on"])
def test_a_pod_whose_assignment_is_refused_has_an_event_where_those_are_wanted(
    events: str,
    control_plane: ControlPlane,
    live_machine: Path,
    assigned_pod: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = "/api/v1/namespaces/default/pods/train-0"
    metadata = assigned_pod["metadata"]
    said = {key: '{"cpuset": "4000"}' for key in metadata["annotations"] if "status" in key}
    changed = {"metadata": {"annotations": said}}
    control_plane.ask("PATCH", path, changed, content_type=MERGE)
    configuration = Path(_configuration(tmp_path, live_machine, control_plane))
    configuration.write_text(f"{configuration.read_text()}events: {events}\n")
    _cgroup_of(live_machine, assigned_pod)
    assert main(["run", "--once", "--config", str(configuration), "-o", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in report["refusals"]] == ["cpus-not-online"]
    selector = f"involvedObject.uid={metadata['uid']},reason=CPUSetRefused"
    found = control_plane.ask(
        "GET", f"/api/v1/namespaces/default/events?fieldSelector={selector}"
    )["items"]
    assert [each["type"] for each in found] == (["Warning"] if events == "on" else [])
    assert all("4000" in each["message"] for each in found)
