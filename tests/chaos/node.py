"""A node of the real cluster: its machine, its kubelet's socket and the pods that run on it."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self

from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import MERGE, TOPOLOGIES
from tests.apiserver.proxy import Proxy
from tests.chaos.daemon import SECONDS, Daemon, Settings, eventually
from tests.chaos.machine import RECORDED, Machine, container_id
from tests.podresources.servers import kubelet
from tests.ports import free_port

Json = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
RESOURCES = {"cpu": "12", "memory": "1Gi"}
NOTHING: Json = {"list": {}, "allocatable": {}}

_NUMBERS = itertools.count(1)
_STARTING = threading.Lock()

# Equally long, so that one can follow the other in a plain file.
FIRST, SECOND = "56-67,168-179", "68-79,180-191"


class Node:
    """Everything around one agent; `name` is the Node's, and begins those of its pods."""

    def __init__(
        self, plane: ControlPlane, name: str, folder: Path, kubeconfig: Path | None = None
    ) -> None:
        self.plane = plane
        self.name = name
        self.folder = folder
        self.machine = Machine(folder / "host")
        self._socket = ExitStack()
        self._daemons: list[Daemon] = []
        self.make()
        self.kubelet_up()
        self.port = free_port()
        root = self.machine.root
        self.settings = Settings(
            folder / "config",
            {
                "hostRoot": root,
                "liveRoot": root,
                "nodeName": name,
                "kubeconfig": kubeconfig or plane.kubeconfig,
                "metrics": f"127.0.0.1:{self.port}",
                "nvml": "off",
                "mems": "off",
            },
        )

    def make(self) -> None:
        """Make the Node, as kubelet registers itself."""
        metadata = {"name": self.name}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        made = self.plane.ask("POST", NODES, node)
        recorded = json.loads((RECORDED / "answers/node.json").read_text())["status"]
        status = {
            # GPUs are NVML's to find and podresources' to give out, and neither is here.
            key: {name: amount for name, amount in recorded[key].items() if "gpu" not in name}
            for key in ("capacity", "allocatable")
        }
        self.plane.ask("PUT", f"{NODES}/{self.name}/status", {**made, "status": status})

    def kubelet_up(self) -> None:
        """Let kubelet's podresources answer."""
        self._socket.enter_context(kubelet(self.machine.socket, NOTHING))

    def kubelet_down(self) -> None:
        """End kubelet's podresources, socket and all."""
        self._socket.close()
        self.machine.socket.unlink(missing_ok=True)

    def agent(self, *options: str, **changes: Any) -> Daemon:
        """Start an agent; what it says is in a log of its own."""
        log = self.folder / f"agent-{len(self._daemons)}.log"
        log.touch()
        daemon = Daemon(self.settings, self.port, log, options=options, **changes)
        self._daemons.append(daemon)
        return daemon

    def running(self) -> Daemon:
        """An agent that is ready, of which nothing fails, and whose object is there."""
        self.settings.change(passSeconds=5)
        # One after another: a start takes a whole CPU.
        with _STARTING:
            agent = self.agent()
            eventually(agent.quiet)
        eventually(lambda: self.stored() is not None)
        return agent

    def said(self) -> str:
        """What its agents printed."""
        return "".join(f"{each.said()}\n" for each in self._daemons)

    def pod(self, name: str, cpus: str | None) -> Json:
        """Make a Guaranteed pod that runs here, with the CPUs that a scheduler assigned to it."""
        annotations = {} if cpus is None else {RESOURCE_STATUS: json.dumps({"cpuset": cpus})}
        resources = {"requests": RESOURCES, "limits": RESOURCES}
        metadata = {"name": f"{self.name}-{name}", "annotations": annotations}
        containers = [{"name": "main", "image": "none", "resources": resources}]
        spec = {
            "nodeName": self.name,
            "containers": containers,
            "automountServiceAccountToken": False,
        }
        made = self.plane.ask("POST", PODS, {"metadata": metadata, "spec": spec})
        running = {
            "name": "main",
            "containerID": f"containerd://{container_id(made)}",
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            "image": "none",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
        }
        status = {
            "phase": "Running",
            "qosClass": "Guaranteed",
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [running],
        }
        path = f"{PODS}/{made['metadata']['name']}"
        return self.plane.ask("PUT", f"{path}/status", {**made, "status": status})

    def assign(self, pod: Json, cpus: str) -> None:
        """Change a pod's assignment."""
        said = {"metadata": {"annotations": {RESOURCE_STATUS: json.dumps({"cpuset": cpus})}}}
        self.plane.ask("PATCH", f"{PODS}/{pod['metadata']['name']}", said, content_type=MERGE)

    def stored(self) -> Json | None:
        """The Node's object on the server, None where there is none."""
        found = self.plane.ask("GET", f"{TOPOLOGIES}?fieldSelector=metadata.name={self.name}")
        return next(iter(found["items"]), None)

    def version(self) -> str | None:
        """Its resourceVersion."""
        stored = self.stored()
        return None if stored is None else str(stored["metadata"]["resourceVersion"])

    def available(self) -> list[str]:
        """The CPUs that the object has as available, node by node; [] without one."""
        stored = self.stored() or {"zones": []}
        return [
            each["available"]
            for zone in stored["zones"]
            for each in zone["resources"]
            if each["name"] == "cpu"
        ]

    def events(self, reason: str) -> list[Json]:
        """The Events with that reason about this node's pods."""
        path = f"/api/v1/namespaces/default/events?fieldSelector=reason={reason}"
        found: Sequence[Mapping[str, Any]] = self.plane.ask("GET", path)["items"]
        return [
            dict(each)
            for each in found
            if each["involvedObject"]["name"].startswith(f"{self.name}-")
        ]

    def until(self, what: Callable[[], object], seconds: float = SECONDS) -> float:
        """Wait until something is true, with a pass every half a second; how long that took.

        kubelet writes its state again, as it is, which the agent has to look at.
        """
        last = time.monotonic()

        def poked() -> bool:
            nonlocal last
            if time.monotonic() > last + 0.5:
                last = time.monotonic()
                self.machine.state(self.machine.cpu_state.read_text())
            return bool(what())

        return eventually(poked, seconds)

    def close(self) -> None:
        for daemon in self._daemons:
            daemon.close()
        self._socket.close()
        self.machine.close()


class Nodes:
    """Makes nodes with names of their own; what was started on them ends with the block."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self._folder = folder
        self._made: list[Node] = []
        self._stack = ExitStack()

    def __call__(self, kubeconfig: Path | None = None) -> Node:
        # Short: a socket's path has 107 characters at most.
        folder = self._folder / str(len(self._made))
        folder.mkdir()
        node = Node(self._plane, f"chaos-{next(_NUMBERS)}", folder, kubeconfig)
        self._made.append(node)
        return self._stack.enter_context(closing(node))

    def said(self) -> str:
        """What their agents printed."""
        return "".join(each.said() for each in self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def through(proxy: Proxy, plane: ControlPlane, kubeconfig: Path) -> Path:
    """Write a kubeconfig that goes through the proxy."""
    path = kubeconfig.with_name(f"{kubeconfig.name}-{proxy.port}")
    path.write_text(kubeconfig.read_text().replace(plane.url, f"https://127.0.0.1:{proxy.port}"))
    return path
