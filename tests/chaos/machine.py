"""A live machine in a folder, for an agent that runs as a process of its own.

Its cgroups are plain files in a kernel's place. What is written to a pod's `cpuset.cpus` is in
force at once, for the pod and its container, since their `effective` files are hard links to it.
A plain file keeps what a shorter text leaves over, so sets that follow each other in one file must
be equally long or longer.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[2] / "fixtures" / "sysfs" / "two-socket-8gpu"
CPUS = "sys/devices/system/cpu"
CGROUPS = "sys/fs/cgroup"
KUBEPODS = f"{CGROUPS}/kubepods.slice"
KUBELET = "var/lib/kubelet"
SOCKET = f"{KUBELET}/pod-resources/kubelet.sock"
ALL_CPUS = "0-223"

NO_POLICY = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'

_OWN = ("cgroup.controllers", "cgroup.subtree_control", "cgroup.type")


class Machine:
    """The root of a machine without pods, whose API server and kubelet are to be asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Linked, since it is thousands of files; those that are written to are made anew.
        shutil.copytree(
            RECORDED,
            root,
            symlinks=True,
            copy_function=os.link,
            ignore=shutil.ignore_patterns("cpu"),
        )
        (root / CPUS).symlink_to(RECORDED / CPUS)
        (root / "recorded.yaml").unlink()
        shutil.rmtree(root / "answers")
        for name in os.listdir(root / KUBELET):
            path = root / KUBELET / name
            content = path.read_text()
            path.unlink()
            path.write_text(content)
        for path in (root / KUBEPODS).glob("kubepods-*.slice"):
            for pod in (path, *path.glob("*-pod*.slice")):
                if "-pod" in pod.name.removeprefix("kubepods"):
                    shutil.rmtree(pod)
        (root / SOCKET).parent.mkdir()

    @property
    def cgroups(self) -> Path:
        return self.root / CGROUPS

    @property
    def socket(self) -> Path:
        return self.root / SOCKET

    @property
    def lock(self) -> Path:
        return self.root / "run/numa-agent/lock"

    @property
    def cpu_state(self) -> Path:
        return self.root / KUBELET / "cpu_manager_state"

    def state(self, text: str) -> None:
        """Replace the CPU manager's state whole, as kubelet does."""
        fresh = self.cpu_state.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.cpu_state)

    def start(self, pod: dict[str, Any]) -> Path:
        """Make the cgroups of a Guaranteed pod and its container; answers its cpuset.cpus."""
        uid = pod["metadata"]["uid"].replace("-", "_")
        made = self.root / f"pod-{uid}"
        made.mkdir()
        self._fill(made, ALL_CPUS, tasks="")
        container = made / f"cri-containerd-{container_id(pod)}.scope"
        container.mkdir()
        self._fill(container, "", tasks="20001\n")
        cpus = made / "cpuset.cpus"
        for each in (made, container):
            os.link(cpus, each / "cpuset.cpus.effective")
        made.rename(self._slice(pod))
        return self._slice(pod) / "cpuset.cpus"

    def end(self, pod: dict[str, Any]) -> None:
        """Remove a pod's cgroups, where it has some."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self._slice(pod))

    def close(self) -> None:
        """Remove it all."""
        shutil.rmtree(self.root)

    def _slice(self, pod: dict[str, Any]) -> Path:
        uid = pod["metadata"]["uid"].replace("-", "_")
        return self.root / KUBEPODS / f"kubepods-pod{uid}.slice"

    def _fill(self, folder: Path, cpus: str, tasks: str) -> None:
        for name in _OWN:
            (folder / name).write_text((self.root / KUBEPODS / name).read_text())
        for name, content in {
            "cgroup.procs": tasks,
            "cgroup.threads": tasks,
            "cpuset.cpus": f"{cpus}\n",
            "cpuset.mems": "\n",
            "cpuset.mems.effective": "0-1\n",
        }.items():
            (folder / name).write_text(content)


def container_id(pod: dict[str, Any]) -> str:
    """The id that a pod's one container gets, 64 hexadecimal digits of its uid."""
    return str(pod["metadata"]["uid"]).replace("-", "") * 2


def settle(cpus: Path, text: str) -> None:
    """Write a set as somebody else would, who closes the file."""
    with cpus.open("w") as file:
        file.write(f"{text}\n")


def holds(cpus: Path, text: str) -> Callable[[], bool]:
    """Asks whether a file holds a set."""
    return lambda: cpus.read_text() == f"{text}\n"
