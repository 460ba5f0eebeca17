"""Pods' cgroups as kubelet makes them, and containers in them by a real runtime, in a guest.

Nothing but the cgroups is kubelet's: a container is a shell of busybox that writes down what it
may use before it does anything else. Bundles and what a runtime is told:
https://github.com/opencontainers/runtime-spec/blob/main/config.md
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.vm.kernel import SEARCH_PATH

Hierarchy = Literal["v2", "v1"]
Runtime = Literal["crun", "runc"]

RUNTIMES: tuple[Runtime, ...] = ("crun", "runc")
"""Each is a command, and the Debian package that has it."""

MOUNT = Path("/sys/fs/cgroup")
ROOTS = {"v2": MOUNT, "v1": MOUNT / "cpuset"}

CONTROLLERS_V1 = ("devices", "memory", "freezer", "pids", "cpu")
"""What runc and crun ask for beside cpuset; each has a hierarchy of its own."""

STATE = Path("/tmp/containers")
ROOTFS = STATE / "rootfs"
SEEN = ROOTFS / "seen"
WAIT_SECONDS = 30

PROGRAM = """\
while read -r name value; do
  case $name in Cpus_allowed_list:|Mems_allowed_list:) echo "$value";; esac
done </proc/self/status >/seen/{id}
: >/seen/{id}.started
busybox sleep 600 &
if [ {mib} -gt 0 ]; then
  read -r word </seen/{id}.take
  memory=$(printf '%{bytes}s' '')
  : >/seen/{id}.taken
fi
wait
"""
"""What a container runs: `/seen/<id>` gets what its first process may use, before all else. Told
through the FIFO `<id>.take`, the process takes memory and keeps it. But for that it starts no
process that ends, so that whoever lists its tasks finds them all."""


def missing_runtimes() -> list[str]:
    """The Debian packages of the runtimes that this host lacks."""
    return [name for name in RUNTIMES if shutil.which(name, path=SEARCH_PATH) is None]


def prepare(hierarchy: Hierarchy) -> None:
    """Make what the runtimes need: a root file system and, on v1, the other controllers."""
    for name in ("bin", "dev", "proc", "seen"):
        (ROOTFS / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox", path=SEARCH_PATH) or "busybox", ROOTFS / "bin")
    for controller in CONTROLLERS_V1 if hierarchy == "v1" else ():
        (MOUNT / controller).mkdir()
        mount = ("mount", "-t", "cgroup", "-o", controller, controller, MOUNT / controller)
        subprocess.run(mount, check=True, timeout=WAIT_SECONDS)


def make_pod(hierarchy: Hierarchy, path: str) -> Path:
    """A pod's cgroup and those above it as kubelet makes them, which hands all controllers down.

    On v1 each level gets its parent's sets, as runc's library does it for kubelet.
    """
    group = ROOTS[hierarchy]
    for name in path.split("/"):
        above, group = group, group / name
        group.mkdir(exist_ok=True)
        if hierarchy == "v2":
            controllers = (group / "cgroup.controllers").read_text().split()
            (group / "cgroup.subtree_control").write_text(
                " ".join(f"+{name}" for name in controllers)
            )
        else:
            _fill(above, group)
    return group


def _fill(above: Path, group: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):
        if not (group / name).read_text().strip():
            (group / name).write_text((above / name).read_text())


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container that a runtime has started; `pid` is that of its first process."""

    id: str
    runtime: Runtime
    group: Path
    pid: int

    @property
    def first(self) -> list[str]:
        """The CPUs and memory nodes that its first process read that it may use."""
        return (SEEN / self.id).read_text().split("\n")[:2]

    def take_memory(self) -> None:
        """Let it take the memory that it was started for."""
        (SEEN / f"{self.id}.take").write_text("now\n")
        _appears(SEEN / f"{self.id}.taken")

    def pages(self) -> dict[str, int]:
        """The pages of its memory by node, as /proc/<pid>/numa_maps has them.

        https://man7.org/linux/man-pages/man5/proc_pid_numa_maps.5.html
        """
        lines = Path(f"/proc/{self.pid}/numa_maps").read_text().splitlines()
        taken = max((_pages(line) for line in lines), key=lambda found: sum(found.values()))
        return dict(sorted(taken.items()))

    def tasks(self) -> Iterator[int]:
        """Every task in its cgroup and those below it."""
        for procs in sorted(self.group.rglob("cgroup.procs")):
            yield from map(int, procs.read_text().split())

    def delete(self) -> None:
        """End it, as kubelet has the runtime do."""
        _call(self.runtime, "delete", "--force", self.id)


def start(
    runtime: Runtime,
    hierarchy: Hierarchy,
    path: str,
    container_id: str,
    *,
    mib: int = 0,
    subgroup: str = "",
) -> Container:
    """Start a container in a cgroup of its own below the mount, and wait until it has looked.

    `mib` is the memory that it takes later. crun puts its processes into `subgroup`, if it is
    given.
    """
    bundle = STATE / container_id
    bundle.mkdir()
    (bundle / "config.json").write_text(json.dumps(_bundle(path, container_id, mib, subgroup)))
    options = ("--detach", "--bundle", str(bundle), "--pid-file", str(bundle / "pid"))
    os.mkfifo(SEEN / f"{container_id}.take")
    _call(runtime, "run", *options, container_id)
    _appears(SEEN / f"{container_id}.started")
    pid = int((bundle / "pid").read_text())
    group = ROOTS[hierarchy] / path
    return Container(id=container_id, runtime=runtime, group=group, pid=pid)


def _bundle(path: str, container_id: str, mib: int, subgroup: str) -> dict[str, object]:
    program = PROGRAM.format(id=container_id, mib=mib, bytes=mib << 20)
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(ROOTFS)},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "annotations": {"run.oci.delegate-cgroup": subgroup} if subgroup else {},
        "process": {
            "args": ["/bin/busybox", "sh", "-c", program],
            "env": ["PATH=/bin"],
            "cwd": "/",
            "user": {"uid": 0, "gid": 0},
        },
        "linux": {
            "cgroupsPath": f"/{path}",
            "namespaces": [{"type": "pid"}, {"type": "mount"}],
            "resources": {},
        },
    }


def _call(*command: str) -> None:
    """Run a command of a runtime. Its container keeps the output open, so that goes to a file."""
    said = STATE / "said"
    with said.open("wb") as out:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=WAIT_SECONDS
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {said.read_text()}")


def _appears(path: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{path} isn't there after {WAIT_SECONDS} s")
        time.sleep(0.02)


def _pages(line: str) -> dict[str, int]:
    """The pages by node in one mapping's line, none where it isn't the process's own memory."""
    words = line.split()
    if not any(word.startswith("anon=") for word in words):
        return {}
    counts = (word[1:].split("=") for word in words if word[0] == "N" and word[1].isdigit())
    return {node: int(pages) for node, pages in counts}
