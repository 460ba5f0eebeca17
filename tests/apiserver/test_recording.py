"""Recording a live machine: its answers come from a real API server and a podresources server."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from numa_agent.config import load
from tests.apiserver.control_plane import ControlPlane
from tests.podresources.servers import kubelet
from tests.recorded import copied
from tests.recording.replay import COMMANDS, answers, mapped_back, record

pytestmark = pytest.mark.apiserver

MACHINE = Path(__file__).parents[2] / "fixtures" / "sysfs" / "two-socket-8gpu"
NODE = "recorded-node"
NAMESPACE = "recorded-team"
POD = "recorded-pod"
SECRET = "hunterzwei"


@pytest.fixture(scope="module")
def live_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine's root whose answers are given by servers."""
    root = tmp_path_factory.mktemp("live") / "host"
    copied(MACHINE, root)
    (root / "recorded.yaml").unlink()
    shutil.rmtree(root / "answers")
    socket = root / "var/lib/kubelet/pod-resources/kubelet.sock"
    socket.parent.mkdir(parents=True, exist_ok=True)
    answer: dict[str, Any] = json.loads((MACHINE / "answers/podresources.json").read_text())
    own = next(pod for pod in answer["list"]["podResources"] if pod["name"] == "train-0")
    held = {**own, "namespace": NAMESPACE, "name": POD}
    with kubelet(socket, {**answer, "list": {"podResources": [held]}}):
        yield root


@pytest.fixture(scope="module")
def settings(
    live_machine: Path, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The agent's settings on that machine, with a pod of the real cluster on it."""
    control_plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    recorded = json.loads((MACHINE / "answers/node.json").read_text())
    labels = {"example.com/owner": SECRET, "ack.node.gpu.schedule": "topology"}
    metadata = {"name": NODE, "labels": labels, "annotations": {"example.com/note": SECRET}}
    node = control_plane.ask("POST", "/api/v1/nodes", {"metadata": metadata})
    sizes = {key: recorded["status"][key] for key in ("capacity", "allocatable")}
    addresses = [{"type": "Hostname", "address": f"{SECRET}.example"}]
    status = {**node, "status": {**sizes, "addresses": addresses}}
    control_plane.ask("PUT", f"/api/v1/nodes/{NODE}/status", status)
    pod = a_pod(control_plane)
    lay_cgroup(live_machine, pod)
    path = tmp_path_factory.mktemp("settings") / "config.yaml"
    path.write_text(
        f"hostRoot: {live_machine}\nliveRoot: {live_machine}\nnodeName: {NODE}\n"
        f"kubeconfig: {control_plane.kubeconfig}\nnvml: off\n"
    )
    return path


def a_pod(control_plane: ControlPlane) -> dict[str, Any]:
    """The recorded machine's assigned pod under another name, with what a Pod has of secrets."""
    pods = json.loads((MACHINE / "answers/pods.json").read_text())["items"]
    recorded = next(pod for pod in pods if pod["metadata"]["name"] == "train-0")
    containers = [
        {
            "name": each["name"],
            "image": f"registry.example/{SECRET}:1",
            "resources": each["resources"],
            "env": [{"name": "TOKEN", "value": SECRET}],
            "args": [f"--password={SECRET}"],
        }
        for each in recorded["spec"]["containers"]
    ]
    pod = {
        "metadata": {
            "name": POD,
            "annotations": {**recorded["metadata"]["annotations"], "example.com/a": SECRET},
            "labels": {**recorded["metadata"]["labels"], "example.com/l": SECRET},
        },
        "spec": {
            "containers": containers,
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "volumes": [{"name": SECRET, "emptyDir": {}}],
        },
    }
    created = control_plane.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", pod)
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}/status"
    return control_plane.ask("PUT", path, {**created, "status": recorded["status"]})


def lay_cgroup(root: Path, pod: dict[str, Any]) -> None:
    """The pod's cgroup under the uid that the server gave it, as kubelet would make it."""
    uid = pod["metadata"]["uid"].replace("-", "_")
    kubepods = root / "sys/fs/cgroup/kubepods.slice"
    template = next(kubepods.glob("kubepods-pod*.slice"))
    template.rename(template.with_name(f"kubepods-pod{uid}.slice"))


def test_the_recording_answers_as_the_live_machine_does(
    live_machine: Path, settings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = answers(live_machine, capsys, COMMANDS, "--config", str(settings))
    assert '"pod": "recorded-team/recorded-pod"' in expected["plan"]
    for keep in (True, False):
        made = record(
            live_machine, tmp_path / str(keep), keep_names=keep, config=load(settings, {})
        )
        assert made.made.failures == ()
        assert made.text("settings.yaml") == 'nvml: "off"\n'
        found = answers(made.folder, capsys, COMMANDS, "--nvml", "off")
        assert {key: mapped_back(each, made.names) for key, each in found.items()} == expected


def test_nothing_that_isn_t_read_of_the_cluster_is_in_it(
    live_machine: Path, settings: Path, tmp_path: Path
) -> None:
    for keep in (True, False):
        made = record(
            live_machine, tmp_path / str(keep), keep_names=keep, config=load(settings, {})
        )
        assert made.json("answers/pods.json")["items"]
        assert SECRET.encode() not in made.raw
        assert (NODE.encode() in made.raw) is keep
        assert (NAMESPACE.encode() in made.raw) is keep


def test_a_server_that_can_t_be_asked_costs_its_answers_alone(
    live_machine: Path, settings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "kubeconfig"
    text = yaml_with_port(settings)
    elsewhere.write_text(text)
    out = tmp_path / "out.tar.gz"
    status = main(["record", str(out), "--config", str(settings), "--kubeconfig", str(elsewhere)])
    assert status == 1
    said = capsys.readouterr().err
    assert said.count("numa-agent record: failed: ") == 2
    made = record(live_machine, tmp_path, config=load(settings, {"kubeconfig": str(elsewhere)}))
    assert made.left_out["answers/pods.json"] == "there was no answer"
    assert "answers/podresources.json" in made.paths
    assert "127.0.0.1" not in made.text("MANIFEST")


def yaml_with_port(settings: Path) -> str:
    """The kubeconfig with a port at which nobody listens."""
    line = next(each for each in settings.read_text().split("\n") if "kubeconfig" in each)
    text = Path(line.partition(": ")[2]).read_text()
    return re.sub(r"https://[^\s\"']+", "https://127.0.0.1:1", text)


MEASURED = """
import re, sys
from pathlib import Path
from numa_agent.cli import main
from tests.recorded import copied
status = main(sys.argv[1:])
# Not getrusage, which counts the parent's memory before exec too.
print(status, re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def test_it_fits_into_the_daemon_s_pod_beside_the_daemon(settings: Path, tmp_path: Path) -> None:
    words = ["record", str(tmp_path / "out.tar.zst"), "--config", str(settings)]
    command = [sys.executable, "-c", MEASURED, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=True)
    status, kibibytes = map(int, done.stdout.split())
    assert status == 0
    # The pod's limit is 128 MiB, and the daemon may take 60 of them.
    assert kibibytes < 66 << 10, kibibytes
