"""What one pass does to a container on this kernel: argument `v2` or `v1`, the cgroup version."""

import json
import subprocess
import sys
from pathlib import Path

from numa_agent.core.report import to_json
from tests import live_folder
from tests.vm.scripts.attempt import cpus_allowed, read, sleeper

ASSIGNED = "5-6"


def main() -> None:
    """Print what the kernel had before, what the passes reported, and what it has after."""
    leaves = leaves_of(sys.argv[1])
    leaf = leaves[0]
    folder = live_folder.lay(Path("/tmp/machine"), cpuset=ASSIGNED)
    with sleeper() as pid:
        for each in leaves:
            (each / "cgroup.procs").write_text(str(pid))
        before = cpus_allowed(pid)
        report = _pass(folder)
        after = cpus_allowed(pid)
        again = _pass(folder)
    json.dump(
        {
            "before": before,
            "after": after,
            "report": report,
            "second": again,
            "configured": read(leaf / "cpuset.cpus"),
        },
        sys.stdout,
    )


def _pass(folder: Path) -> dict[str, object]:
    return to_json(live_folder.take_pass(folder))


def leaves_of(version: str) -> list[Path]:
    """The container's cgroups in this version's hierarchies, that with its CPUs first."""
    return [_v2_leaf()] if version == "v2" else [_v1_leaf(), _v1_memory()]


def _v2_leaf() -> Path:
    """The container's cgroup as kubelet hands controllers down to it, all sets empty."""
    leaf = Path("/sys/fs/cgroup") / live_folder.container_path()
    leaf.mkdir(parents=True)
    for group in (leaf.parents[1], leaf.parents[0]):
        (group / "cgroup.subtree_control").write_text("+cpuset +memory")
    return leaf


def _v1_leaf() -> Path:
    """The container's cgroup as a runtime makes it: every level holds its parent's sets."""
    leaf = Path("/sys/fs/cgroup/cpuset") / live_folder.container_path()
    for group in (leaf.parents[1], leaf.parents[0], leaf):
        group.mkdir()
        for name in ("cpuset.cpus", "cpuset.mems"):
            (group / name).write_text(read(group.parent / name))
    return leaf


def _v1_memory() -> Path:
    """Where the container's memory is charged."""
    mount = Path("/sys/fs/cgroup/memory")
    mount.mkdir()
    command = ("mount", "-t", "cgroup", "-o", "memory", "memory", str(mount))
    subprocess.run(command, check=True, timeout=10)
    leaf = mount / live_folder.container_path()
    leaf.mkdir(parents=True)
    return leaf


if __name__ == "__main__":
    main()
