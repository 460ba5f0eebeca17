"""The agent's pod on this machine as kubelet would start it, with a made-up kubelet beside it."""

import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import TOPOLOGIES
from tests.manifests.container import ACCOUNT_DIR, Container
from tests.manifests.objects import NAMESPACE, Json, make_agent, named
from tests.podresources.servers import kubelet
from tests.ports import free_address
from tests.recorded import machine

READY_SECONDS = 120
ENDS_SECONDS = 30
"""It has five on a node: here too, where nobody else wants the CPUs."""
AGENT = [sys.executable, "-m", "numa_agent"]
HIDDEN = ("pods", "pki", "plugins", "plugins_registry", "device-plugins", "checkpoints")
SECRETS = (
    "pods/uid/volumes/kubernetes.io~secret/key/tls.key",
    "pki/kubelet-client-current.pem",
    "checkpoints/checkpoint-web_shop-app.tar",
)
STATE = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
MEMORY_STATE = '{"policyName":"None","machineState":{},"checksum":4236770233}'


@contextmanager
def kubelet_folder(folder: Path) -> Iterator[Path]:
    """kubelet's folder with its state, its socket and what is none of the agent's business."""
    for name in (*HIDDEN, "pod-resources"):
        (folder / name).mkdir(parents=True)
    for name in SECRETS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    (folder / "cpu_manager_state").write_text(STATE)
    (folder / "memory_manager_state").write_text(MEMORY_STATE)
    kind = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    (folder / "config.yaml").write_text(kind)
    recorded = machine("single-node") / "answers" / "podresources.json"
    answer: dict[str, Any] = json.loads(recorded.read_text())
    answer["list"] = {"podResources": []}
    with kubelet(folder / "pod-resources" / "kubelet.sock", answer):
        yield folder


def container_of(objects: list[Json], folder: Path, kubelet_dir: Path) -> Container:
    """The container of a profile's DaemonSet, with folders of the test's own for kubelet's."""
    daemon_set = named(objects, "DaemonSet", "numa-agent")
    config = named(objects, "ConfigMap", "numa-agent")["data"]
    run = folder / "run"
    run.mkdir()
    return Container(
        spec=daemon_set["spec"]["template"]["spec"],
        folder=folder,
        files={"config": config},
        sources={"/var/lib/kubelet": kubelet_dir, "/run/numa-agent": run},
    )


@dataclass(frozen=True, slots=True)
class Installed:
    """The container with its token and environment, on a Node of that name."""

    plane: ControlPlane
    box: Container
    environment: dict[str, str]
    node: str
    address: str

    @property
    def agent(self) -> Json:
        """The container's spec."""
        (agent,) = self.box.spec["containers"]
        found: Json = agent
        return found

    @contextmanager
    def running(self) -> Iterator["Popen[str]"]:
        """The agent from its first publication to SIGTERM, which it must obey in time."""
        with self.box.running([*AGENT, *self.agent["args"]], self.environment) as process:
            self._wait(process)
            yield process
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=ENDS_SECONDS)
        assert process.returncode == 0, said

    def zones(self) -> list[Json]:
        """The zones that are published of the node, none before the first time."""
        for each in self.plane.ask("GET", TOPOLOGIES)["items"]:
            if each["metadata"]["name"] == self.node:
                found: list[Json] = each["zones"]
                return found
        return []

    def _wait(self, process: "Popen[str]") -> None:
        end = time.monotonic() + READY_SECONDS
        while not self.zones():
            if process.poll() is not None or time.monotonic() > end:
                process.terminate()
                raise AssertionError(f"the agent doesn't publish: {process.communicate()}")
            time.sleep(0.2)


def install(
    plane: ControlPlane,
    objects: list[Json],
    box: Container,
    node: str,
    files: Mapping[str, Mapping[str, str]],
) -> Installed:
    """Make the Node and the pod, and put its token and these files in place.

    What is served is served on a free port of loopback.
    """
    token = make_agent(plane, named(objects, "DaemonSet", "numa-agent"), node)
    account = {"token": token, "ca.crt": plane.ca_file.read_text(), "namespace": NAMESPACE}
    address = free_address()
    config = box.files["config"]["config.yaml"]
    assert "metrics: 0.0.0.0:9316\n" in config
    files = {
        **files,
        "config": {"config.yaml": config.replace("0.0.0.0:9316", address)},
        ACCOUNT_DIR: account,
    }
    environment = {
        "NODE_NAME": node,
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": plane.url.rpartition(":")[2],
    }
    inside = Container(spec=box.spec, folder=box.folder, files=files, sources=box.sources)
    return Installed(plane, inside, environment, node, address)
