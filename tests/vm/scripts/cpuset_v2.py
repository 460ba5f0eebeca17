"""What cpuset of cgroup v2 answers, on a machine with 8 CPUs and the nodes 0 and 1."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.vm.scripts.attempt import (
    cpus_allowed,
    mems_allowed,
    read,
    remove,
    sleeper,
    wait_for_hotplug,
    write,
)
from tests.vm.scripts.layout import layout

ROOT = Path("/sys/fs/cgroup")


def main() -> None:
    """Print everything that was seen, as JSON."""
    seen: dict[str, Any] = {"layout": layout(), "controllers": read(ROOT / "cgroup.controllers")}
    for probe in (new, populated, nested, refused, offline):
        seen[probe.__name__] = _in_a_pod(probe)
    print(json.dumps(seen))


def _in_a_pod(probe: Callable[[Path, Path, int], Any]) -> Any:
    """What `probe` sees with a pod's group, a container's in it, and a process in that."""
    pod = ROOT / f"pod-{probe.__name__}"
    container = pod / "container"
    container.mkdir(parents=True)
    write(pod / "cgroup.subtree_control", "+cpuset")
    with sleeper() as pid:
        write(container / "cgroup.procs", str(pid))
        return probe(pod, container, pid)


def new(pod: Path, container: Path, pid: int) -> Any:
    """A group that nobody has written to."""
    return {
        "pod cpus": read(pod / "cpuset.cpus"),
        "container effective cpus": read(container / "cpuset.cpus.effective"),
        "container effective mems": read(container / "cpuset.mems.effective"),
        "process cpus": cpus_allowed(pid),
    }


def populated(pod: Path, container: Path, pid: int) -> Any:
    """A group with a value and a process, that is then to be without a value."""
    cpus = container / "cpuset.cpus"
    return {
        "write": [write(cpus, "2-3"), write(container / "cpuset.mems", "1")],
        "process": [cpus_allowed(pid), mems_allowed(pid)],
        "clear": [write(cpus, "\n"), write(container / "cpuset.mems", "\n"), read(cpus)],
        "nothing": [write(cpus, ""), read(cpus)],
        "everything": [write(cpus, "0-7"), cpus_allowed(pid)],
        "remove": remove(container),
    }


def nested(pod: Path, container: Path, pid: int) -> Any:
    """A container's set against its pod's."""
    effective = container / "cpuset.cpus.effective"
    seen: dict[str, Any] = {"pod": write(pod / "cpuset.cpus", "4-7")}
    for name, cpus in {"inside": "4-5", "overlapping": "2-5", "disjoint": "0-1"}.items():
        written = write(container / "cpuset.cpus", cpus)
        seen[name] = [written, read(effective), cpus_allowed(pid)]
    write(container / "cpuset.cpus", "4-5")
    seen["narrowed pod"] = [write(pod / "cpuset.cpus", "6-7"), read(effective)]
    seen["container file"] = read(container / "cpuset.cpus")
    return seen


def refused(pod: Path, container: Path, pid: int) -> Any:
    """Writes that name what is not there."""
    write(pod / "cpuset.cpus", "0-3")
    return {
        "cpu beyond nr_cpu_ids": write(pod / "cpuset.cpus", "4096"),
        "not a list": write(pod / "cpuset.cpus", "three"),
        "reversed": write(pod / "cpuset.cpus", "3-1"),
        "absent node": write(pod / "cpuset.mems", "5"),
        "node beyond the largest": write(pod / "cpuset.mems", "1024"),
        "process above a subtree": _above_a_subtree(pod, pid),
        "unchanged": read(pod / "cpuset.cpus"),
    }


def offline(pod: Path, container: Path, pid: int) -> Any:
    """A set of CPUs that are taken away, and given back."""
    online = Path("/sys/devices/system/cpu/cpu7/online")
    seen: dict[str, Any] = {"only cpu 7": write(container / "cpuset.cpus", "7")}
    seen["before"] = cpus_allowed(pid)
    seen["offline"] = write(online, "0")
    wait_for_hotplug(ROOT)
    seen["effective"] = read(container / "cpuset.cpus.effective")
    seen["file"] = read(container / "cpuset.cpus")
    seen["write again"] = write(container / "cpuset.cpus", "7")
    seen["online"] = write(online, "1")
    wait_for_hotplug(ROOT)
    seen["after"] = read(container / "cpuset.cpus.effective")
    return seen


def _above_a_subtree(pod: Path, pid: int) -> str:
    """Move a process to a group that hands the memory controller down."""
    write(pod / "cgroup.subtree_control", "+memory")
    return write(pod / "cgroup.procs", str(pid))


if __name__ == "__main__":
    main()
