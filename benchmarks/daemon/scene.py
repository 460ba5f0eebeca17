"""What is measured: a node with its pods, the agent on it, and a publisher that polls."""

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import yaml

from benchmarks.daemon.agent import Agent
from benchmarks.daemon.machine import EVERY, Machine
from benchmarks.daemon.plane import CRD, NODE, Json, Plane, lay_node, make_pod
from tests.apiserver.control_plane import build

OWN = 12
"""Pods with CPUs of their own: seven of each."""

BINDING_SECONDS = 10.0


def own_cpus(number: int, turn: int = 0) -> str:
    """The CPUs of a pod with its own, one of two sets by turns; those of its GPU's node."""
    # The siblings of node 0's CPUs come between those of node 1's, and GPU 7 is in node 1.
    place = {7: 11, 11: 7}.get(number, number)
    first = 1 + place * 16 + turn % 2 * 8
    return f"{first}-{first + 6}"


class Scene:
    """Everything that runs; it ends with the stack."""

    def __init__(self, stack: ExitStack, pods: int, *, by_kubeconfig: bool) -> None:
        """Make so many pods and then start the agent, as a pod is or by a kubeconfig."""
        self.plane = stack.enter_context(Plane(build()))
        self.plane.install_crd(yaml.safe_load(CRD.read_text()))
        lay_node(self.plane)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="numa-agent-bench-")))
        self.machine = Machine(folder / "host")
        self.pods: list[Json] = []
        self.groups: list[Path] = []
        for number in range(pods):
            cpus = own_cpus(number) if number < OWN else None
            pod = make_pod(self.plane, number, cpus)
            self.pods.append(pod)
            self.groups.append(self.machine.start(pod, cpus or EVERY))
        stack.enter_context(self.machine.kubelet(self.pods))
        lines = [f"kubeconfig: {self.plane.kubeconfig}"] if by_kubeconfig else []
        account = None if by_kubeconfig else self.plane.account(folder / "account")
        self.agent = Agent(self.machine.root, self.plane.url, account, *lines)
        stack.callback(self.agent.close)

    def sets_written(self) -> dict[Path, int]:
        """When each cgroup file was written last."""
        found = (self.machine.root / "sys/fs/cgroup").rglob("cpuset.*")
        return {file: file.stat().st_mtime_ns for file in found}

    def until_held(self, group: Path, cpus: str) -> float:
        """The seconds until a pod's cgroup has these CPUs; then its tasks run on them."""
        began = time.monotonic()
        while (held := (group / "cpuset.cpus").read_text().strip()) != cpus:
            if time.monotonic() - began > BINDING_SECONDS:
                print(self.agent.said()[-3000:], file=sys.stderr)
                raise SystemExit(f"{group} holds {held}, not {cpus}")
            time.sleep(0.0005)
        seconds = time.monotonic() - began
        self.machine.run_on(group, cpus)
        return seconds


class Naive:
    """The publisher that polls."""

    def __init__(self, kubeconfig: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.daemon.naive", str(kubeconfig), NODE]
        self._process = subprocess.Popen(command)
        self.pid = self._process.pid

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(10)
