"""What the doctor says of this kernel: as it should be set, and once it is set as it shouldn't."""

import contextlib
import fcntl
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numa_agent.cli import main as numa_agent

CGROUPS = Path("/sys/fs/cgroup")
HUGE = Path("/sys/kernel/mm/transparent_hugepage")
NODES = Path("/sys/devices/system/node")
LOCK = Path("/run/numa-agent/lock")


def main() -> None:
    """Print both answers."""
    _set_right()
    with _agent():
        right = _answer()
    _set_wrong()
    with _irqbalance():
        wrong = _answer()
    json.dump({"right": right, "wrong": wrong}, sys.stdout)


def _answer() -> Any:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        numa_agent(["doctor", "--kubeconfig", "/tmp/none", "-o", "json"])
    return json.loads(said.getvalue())


def _set_right() -> None:
    Path("/proc/sys/kernel/numa_balancing").write_text("0")
    Path("/proc/sys/vm/zone_reclaim_mode").write_text("0")
    (HUGE / "enabled").write_text("madvise")
    (HUGE / "defrag").write_text("madvise")
    for node in ("node0", "node1"):
        (NODES / node / "hugepages/hugepages-2048kB/nr_hugepages").write_text("4")
    (CGROUPS / "kubepods").mkdir()
    (CGROUPS / "kubepods/cgroup.subtree_control").write_text("+cpuset")


def _set_wrong() -> None:
    Path("/proc/sys/kernel/numa_balancing").write_text("1")
    Path("/proc/sys/vm/zone_reclaim_mode").write_text("1")
    (HUGE / "enabled").write_text("always")
    (HUGE / "defrag").write_text("always")
    (NODES / "node0/hugepages/hugepages-2048kB/nr_hugepages").write_text("0")
    Path("/sys/devices/system/cpu/cpu7/online").write_text("0")
    (CGROUPS / "kubepods/cgroup.subtree_control").write_text("-cpuset")
    (CGROUPS / "kubepods.slice").mkdir()
    (CGROUPS / "kubepods.slice/cgroup.subtree_control").write_text("+cpuset")


@contextlib.contextmanager
def _agent() -> Iterator[None]:
    """Hold the lock as an agent does."""
    LOCK.parent.mkdir(parents=True)
    with LOCK.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _irqbalance() -> Iterator[None]:
    """A process of that name, which waits for the end of its input."""
    program = Path("/tmp/irqbalance")
    program.write_text("#!/bin/sh\nread line\n")
    program.chmod(0o755)
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE):
        yield


if __name__ == "__main__":
    main()
