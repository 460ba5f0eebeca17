"""A live machine's root with 8 GPUs, and the cgroups of the pods that run on it."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numa_agent.core.cpulist import parse
from tests.podresources.servers import kubelet

FIXTURE = Path(__file__).parents[2] / "fixtures" / "sysfs" / "two-socket-8gpu"
KUBEPODS = "sys/fs/cgroup/kubepods.slice"
EVERY = "0-223"
TASKS = 4
"""Processes of each container."""

Json = dict[str, Any]


def nodes_of(cpus: str) -> str:
    """The memory nodes beside CPUs of this machine: 56 cores of two threads on each."""
    found = {cpu % 112 // 56 for cpu in parse(cpus)}
    return ",".join(str(node) for node in sorted(found))


class Machine:
    """A folder that looks like a machine's root.

    A set that is in force is the same file as the one that decides it (a hard link), so that what
    is written is in force, as the kernel has it.
    """

    def __init__(self, root: Path) -> None:
        shutil.copytree(FIXTURE, root, symlinks=True)
        (root / "recorded.yaml").unlink()
        shutil.rmtree(root / "answers")
        self.root = root
        self._template = next((root / KUBEPODS).glob("kubepods-pod*.slice/*.scope"))
        self._plain = root / "template"
        shutil.move(self._template, self._plain)
        for folder in (root / KUBEPODS).glob("**/kubepods-*pod*.slice"):
            shutil.rmtree(folder)
        self._tasks = 30000

    def start(self, pod: Json, cpus: str = EVERY) -> Path:
        """Make the cgroups of a pod whose tasks run on these CPUs, and answer its own.

        Its memory nodes are already those of its CPUs: no page has to move.
        """
        burstable = pod["status"]["qosClass"] == "Burstable"
        uid = pod["metadata"]["uid"].replace("-", "_")
        name = f"kubepods-{'burstable-' if burstable else ''}pod{uid}.slice"
        parent = self.root / KUBEPODS
        own = (parent / "kubepods-burstable.slice" if burstable else parent) / name
        # It appears whole, as far as a watcher can see.
        made = self._made(pod, self.root / name)
        if cpus != EVERY:
            (made / "cpuset.mems").write_text(f"{nodes_of(cpus)}\n")
        made.rename(own)
        self.run_on(own, cpus)
        return own

    def run_on(self, group: Path, cpus: str) -> None:
        """Let a pod's tasks run on these CPUs, as the kernel does when a set is written."""
        text = f"Name:\tapp\nNSpid:\t1\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n"
        for listed in group.glob("*/cgroup.procs"):
            for task in listed.read_text().split():
                (self.root / "proc" / task / "status").write_text(text)

    def end(self, group: Path) -> None:
        """Remove a pod's cgroups and its tasks."""
        for listed in group.glob("*/cgroup.procs"):
            for task in listed.read_text().split():
                shutil.rmtree(self.root / "proc" / task)
        shutil.rmtree(group)

    def _made(self, pod: Json, own: Path) -> Path:
        self._group(own, None)
        for each in pod["status"].get("containerStatuses", ()):
            identity = each["containerID"].removeprefix("containerd://")
            leaf = own / f"cri-containerd-{identity}.scope"
            self._group(leaf, own / "cpuset.cpus")
            listed = []
            for _ in range(TASKS):
                self._tasks += 1
                listed.append(f"{self._tasks}\n")
                (self.root / "proc" / str(self._tasks)).mkdir()
            (leaf / "cgroup.procs").write_text("".join(listed))
        return own

    def _group(self, folder: Path, decides: Path | None) -> None:
        shutil.copytree(self._plain, folder)
        (folder / "cgroup.procs").write_text("")
        effective = folder / "cpuset.cpus.effective"
        effective.unlink()
        own = folder / "cpuset.cpus"
        if decides is None:
            own.write_text(f"{EVERY}\n")
        os.link(decides or own, effective)

    @contextmanager
    def kubelet(self, pods: list[Json]) -> Iterator[None]:
        """Answer for kubelet's podresources: each of the first 8 pods has a GPU of the machine."""
        allocatable = json.loads((FIXTURE / "answers/podresources.json").read_text())[
            "allocatable"
        ]
        devices = [each for each in allocatable["devices"] if "gpu" in each["resourceName"]]
        listed = [
            {
                "name": pod["metadata"]["name"],
                "namespace": pod["metadata"]["namespace"],
                "containers": [
                    {
                        "name": each["name"],
                        "devices": devices[number : number + 1] if place == 0 else [],
                    }
                    for place, each in enumerate(pod["spec"]["containers"])
                ],
            }
            for number, pod in enumerate(pods)
        ]
        socket = self.root / "var/lib/kubelet/pod-resources/kubelet.sock"
        socket.parent.mkdir(parents=True, exist_ok=True)
        with kubelet(socket, {"list": {"podResources": listed}, "allocatable": allocatable}):
            yield
