"""A node in a guest: pods that an API server on loopback lists, and passes over them."""

import contextlib
import hashlib
import io
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from numa_agent.cli import main as numa_agent
from numa_agent.config import Config
from numa_agent.core.cpulist import parse, render
from numa_agent.core.report import Report
from numa_agent.host.cgroups import Put
from numa_agent.wiring.passes import run_once
from numa_agent.wiring.plans import plan_once
from tests.cluster.loopback import Loopback, kubeconfig_of, loopback
from tests.vm import containers
from tests.vm.containers import ROOTS, Container, Hierarchy, Runtime
from tests.vm.scripts.attempt import cpus_allowed, mems_allowed, read, remove

NAME = "live"
KUBELET = Path("/var/lib/kubelet")
SETTINGS = Path("/tmp/numa-agent.yaml")
WITHOUT = 'nvml: "off"\npodresources: "off"\n'


@dataclass(kw_only=True)
class Pod:
    """A pod of kubelet's. Its containers are those that run, by name; `listed` are in its status.

    `memory` is its limit, and `hugepages` that of hugepages of 2 MiB.
    """

    name: str
    qos: Literal["Guaranteed", "Burstable", "BestEffort"] = "Guaranteed"
    driver: Literal["cgroupfs", "systemd"] = "cgroupfs"
    annotations: dict[str, str] = field(default_factory=dict)
    memory: str = ""
    hugepages: str = ""
    running: dict[str, Container] = field(default_factory=dict)
    listed: dict[str, str] = field(default_factory=dict)
    sandbox: Container | None = None

    @property
    def uid(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, self.name))

    @property
    def path(self) -> str:
        """Its cgroup below the mount, as kubelet's driver names it."""
        levels = [] if self.qos == "Guaranteed" else [self.qos.lower()]
        names = ["kubepods", *levels, f"pod{self.uid}"]
        if self.driver == "cgroupfs":
            return "/".join(names)
        parts = [name.replace("-", "_") for name in names]
        return "/".join(f"{'-'.join(parts[: depth + 1])}.slice" for depth in range(len(parts)))

    def leaf(self, container_id: str) -> str:
        """A container's cgroup below the mount, as containerd names it."""
        systemd = self.driver == "systemd"
        name = f"cri-containerd-{container_id}.scope" if systemd else container_id
        return f"{self.path}/{name}"

    def document(self, number: int) -> dict[str, Any]:
        """The pod as the API server has it; `number` tells which started first."""
        wanted = {"memory": self.memory, "hugepages-2Mi": self.hugepages}
        limits = {name: amount for name, amount in wanted.items() if amount}
        return {
            "metadata": {
                "namespace": "default",
                "name": self.name,
                "uid": self.uid,
                "annotations": self.annotations,
            },
            "spec": {"containers": [{"name": "app", "resources": {"limits": limits}}]},
            "status": {
                "phase": "Running" if self.listed else "Pending",
                "qosClass": self.qos,
                "startTime": f"2026-01-01T00:00:{number:02}Z",
                "containerStatuses": [
                    {"name": name, "containerID": f"containerd://{each}", "state": {"running": {}}}
                    for name, each in self.listed.items()
                ],
            },
        }


class Node:
    """The guest as a node of a cluster."""

    def __init__(self, hierarchy: Hierarchy, server: Loopback, kubeconfig: Path) -> None:
        self.hierarchy = hierarchy
        self.root = ROOTS[hierarchy]
        self.pods: list[Pod] = []
        self._server = server
        self._kubeconfig = kubeconfig
        self.config = Config(
            host_root=Path("/"),
            live_root=Path("/"),
            node_name=NAME,
            kubeconfig=kubeconfig,
            nvml="off",
            podresources="off",
        )
        self._ids = 0

    def admit(self, *pods: Pod) -> None:
        """Make the pods' cgroups, as kubelet does before anything else, and list the pods."""
        for pod in pods:
            containers.make_pod(self.hierarchy, pod.path)
            self.pods.append(pod)

    def start(
        self,
        pod: Pod,
        runtime: Runtime,
        *,
        name: str = "app",
        mib: int = 0,
        nested: bool = False,
        listed: bool = True,
    ) -> Container:
        """Start a container of a pod, and list it if it isn't the sandbox.

        The processes of a `nested` one are in a cgroup below its own, where there can be one.
        """
        self._ids += 1
        found = hashlib.sha256(f"{pod.name} {self._ids}".encode()).hexdigest()
        subgroup = "container" if nested and self.hierarchy == "v2" else ""
        container = containers.start(
            runtime, self.hierarchy, pod.leaf(found), found, mib=mib, subgroup=subgroup
        )
        if not listed:
            pod.sandbox = container
            return container
        pod.running[name] = container
        pod.listed[name] = found
        return container

    def stop(self, pod: Pod, name: str = "app") -> None:
        """End a container, which stays in the status for a while."""
        pod.running.pop(name).delete()

    def remove(self, *pods: Pod) -> None:
        """End pods, as kubelet does: containers, cgroup, object."""
        for pod in pods:
            for name in list(pod.running):
                self.stop(pod, name)
            if pod.sandbox is not None:
                pod.sandbox.delete()
            for file in sorted((self.root / pod.path).glob("*/"), reverse=True):
                remove(file)
            remove(self.root / pod.path)
            self.pods.remove(pod)

    def run_pass(self, put: Put | None = None, **settings: Any) -> dict[str, Any]:
        """Take one pass; what it wrote and said, without what it published."""
        self.list_pods()
        return shown(run_once(replace(self.config, **settings), put))

    def plan(self) -> list[list[str]]:
        """What a pass would write."""
        self.list_pods()
        planned = plan_once(self.config).planned
        steps = [] if planned is None else [step for _, own in planned.steps for step in own]
        return [[step.path, step.file, render(step.after)] for step in steps]

    def restore(self) -> dict[str, Any]:
        """Take everything back by the command; its exit code, output and complaints."""
        self.list_pods()
        printed, complaints = io.StringIO(), io.StringIO()
        SETTINGS.write_text(f"nodeName: {NAME}\nkubeconfig: {self._kubeconfig}\n{WITHOUT}")
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
            code = numa_agent(["restore", "--all", "--config", str(SETTINGS)])
        return {
            "code": code,
            "printed": printed.getvalue().splitlines(),
            "complaints": complaints.getvalue(),
        }

    def set_of(self, path: str, file: str = "cpuset.cpus") -> str:
        """What a file of a cgroup holds."""
        return read(self.root / path / file)

    def list_pods(self) -> None:
        """Have the API server list the pods as they are now."""
        documents = [pod.document(number) for number, pod in enumerate(self.pods)]
        # What was published is forgotten: to the server it has no owner.
        self._server.objects = {
            f"/api/v1/nodes/{NAME}": {"metadata": {"name": NAME, "uid": "u"}},
            "/api/v1/pods": {"metadata": {}, "items": documents},
        }


def cpus_of(pod: Pod, name: str = "app") -> str:
    """The CPUs on which a container's tasks may run, all of them together."""
    return _union(cpus_allowed(task) for task in pod.running[name].tasks())


def mems_of(pod: Pod, name: str = "app") -> str:
    """The memory nodes that a container's tasks may use, all of them together."""
    return _union(mems_allowed(task) for task in pod.running[name].tasks())


def _union(lists: Iterator[str]) -> str:
    return render(frozenset[int]().union(*map(parse, lists)))


def shown(report: Report) -> dict[str, Any]:
    """The parts of a report that tests look at."""
    return {
        "good": report.good,
        "writes": [
            [write.step.path, write.step.file, render(write.step.after)]
            for write in report.writes
            if write.error is None
        ],
        "errors": [write.error for write in report.writes if write.error is not None],
        "conditions": {each.code: each.message for each in report.conditions},
        "refusals": {each.code: each.message for each in report.refusals},
        "verdicts": {
            f"{proof.pod.name}/{proof.container.name}": proof.verdict.alignment.value
            for proof in report.proofs
        },
        "notes": [note for proof in report.proofs for note in proof.verdict.notes],
        # The server on loopback takes no Events.
        "failures": [
            each
            for each in (*report.failures, *report.problems)
            if not each.startswith("can't create Event")
        ],
    }


@contextmanager
def node(hierarchy: Hierarchy) -> Iterator[Node]:
    """This guest as a node, with an API server on loopback that holds nothing but it."""
    subprocess.run(["busybox", "ip", "link", "set", "lo", "up"], check=True, timeout=10)
    containers.prepare(hierarchy)
    KUBELET.mkdir(parents=True, exist_ok=True)
    (KUBELET / "config.yaml").write_text("cpuManagerPolicy: none\n")
    with loopback() as server:
        yield Node(hierarchy, server, kubeconfig_of(server.url, Path("/tmp")))
