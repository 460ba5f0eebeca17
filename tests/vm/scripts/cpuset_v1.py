"""What cpuset of cgroup v1 answers, on a machine with 4 CPUs and the nodes 0, 1 and 2."""

import json
from pathlib import Path
from typing import Any

from tests.vm.scripts.attempt import cpus_allowed, read, sleeper, wait_for_hotplug, write
from tests.vm.scripts.layout import layout

ROOT = Path("/sys/fs/cgroup/cpuset")


def main() -> None:
    """Print everything that was seen, as JSON."""
    pod = ROOT / "pod"
    container = pod / "container"
    container.mkdir(parents=True)
    seen: dict[str, Any] = {"layout": layout()}
    with sleeper() as pid:
        seen["new"] = [read(pod / "cpuset.cpus"), write(pod / "tasks", str(pid))]
        write(pod / "cpuset.cpus", "0-2")
        write(pod / "cpuset.mems", "0-1")
        seen["outside the parent"] = _outside(container)
        write(container / "cpuset.cpus", "1-2")
        write(container / "cpuset.mems", "1")
        seen["attach"] = [write(container / "tasks", str(pid)), cpus_allowed(pid)]
        seen["narrowed pod"] = write(pod / "cpuset.cpus", "0-1")
        seen["refused"] = _refused(container)
        seen["clear"] = [write(container / "cpuset.cpus", "\n"), read(container / "cpuset.cpus")]
        seen["offline"] = _offline(pod, container)
    print(json.dumps(seen))


def _outside(container: Path) -> list[str]:
    return [write(container / "cpuset.cpus", "3"), write(container / "cpuset.mems", "2")]


def _refused(container: Path) -> dict[str, str]:
    return {
        "cpu beyond nr_cpu_ids": write(container / "cpuset.cpus", "4096"),
        "not a list": write(container / "cpuset.cpus", "three"),
        "absent node": write(container / "cpuset.mems", "5"),
        "node beyond the largest": write(container / "cpuset.mems", "1024"),
    }


def _offline(pod: Path, container: Path) -> dict[str, str]:
    """Take CPU 2 away and give it back; the sets do not get it back."""
    online = Path("/sys/devices/system/cpu/cpu2/online")
    seen = {"offline": write(online, "0")}
    wait_for_hotplug(ROOT)
    seen["without"] = read(container / "cpuset.cpus")
    seen["write it"] = write(container / "cpuset.cpus", "1-2")
    seen["online"] = write(online, "1")
    wait_for_hotplug(ROOT)
    seen["pod"] = read(pod / "cpuset.cpus")
    seen["container"] = read(container / "cpuset.cpus")
    seen["write container"] = write(container / "cpuset.cpus", "1-2")
    seen["write pod"] = write(pod / "cpuset.cpus", "0-2")
    seen["write container again"] = write(container / "cpuset.cpus", "1-2")
    return seen


if __name__ == "__main__":
    main()
