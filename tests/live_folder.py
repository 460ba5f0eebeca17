"""A recorded machine whose kernel is a live one: a folder that links to /sys and /proc.

The pass reads this kernel's map, takes the pods from a file and is told to write to the kernel,
which it never does to a recorded machine by itself.
"""

import json
from pathlib import Path

from numa_agent.config import Config
from numa_agent.core.report import Report
from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS
from numa_agent.host.cgroups import put_to_kernel
from numa_agent.wiring.passes import run_once

POD_UID = "6f1c2d3e-0000-4000-8000-000000000001"
CONTAINER_ID = "c0ffee00" * 8


def lay(folder: Path, *, cpuset: str, cgroup_root: str = "") -> Path:
    """Make the folder for one Guaranteed pod with one running container, assigned a CPU set."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sys").symlink_to("/sys")
    (folder / "proc").symlink_to("/proc")
    (folder / "recorded.yaml").write_text("format: numa-agent.recorded/v1\n")
    answers = folder / "answers"
    answers.mkdir()
    (answers / "node.json").write_text(json.dumps({"metadata": {"name": "live", "uid": "u"}}))
    (answers / "podresources.json").write_text(json.dumps({"list": {}, "allocatable": {}}))
    (answers / "pods.json").write_text(json.dumps({"items": [_pod(cpuset)]}))
    kubelet = folder / "var/lib/kubelet"
    kubelet.mkdir(parents=True)
    (kubelet / "config.yaml").write_text(f"cgroupRoot: {json.dumps(cgroup_root)}\n")
    return folder


def take_pass(folder: Path) -> Report:
    """One pass over the folder that writes this kernel's cgroups."""
    config = Config(host_root=folder, live_root=Path("/"), node_name=None, kubeconfig=None)
    return run_once(config, put_to_kernel)


def container_path(cgroup_root: str = "") -> str:
    """Where kubelet's cgroupfs driver and containerd put that container's cgroup."""
    return f"{cgroup_root.lstrip('/')}/kubepods/pod{POD_UID}/{CONTAINER_ID}".lstrip("/")


def _pod(cpuset: str) -> dict[str, object]:
    return {
        "metadata": {
            "namespace": "default",
            "name": "pinned",
            "uid": POD_UID,
            "annotations": {RESOURCE_STATUS: json.dumps({"cpuset": cpuset})},
        },
        "status": {
            "phase": "Running",
            "qosClass": "Guaranteed",
            "containerStatuses": [
                {
                    "name": "app",
                    "containerID": f"containerd://{CONTAINER_ID}",
                    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                }
            ],
        },
    }
