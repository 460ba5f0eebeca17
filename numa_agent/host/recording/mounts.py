"""The machine's cgroup mounts for a recording: proc/self/mountinfo, by what is read of it."""

import os
from pathlib import Path

from numa_agent.core.recording.groups import mount_line
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.host.cgroups.mount import PROC_DIR, MountLine, parse_mountinfo
from numa_agent.host.recording.kubelet import Written
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.tree import Tree

MOUNTS = f"{PROC_DIR}/self/mountinfo"
_LARGE = 1 << 22
_KINDS = {1: "cgroup", 2: "cgroup2"}


def read_mounts(tree: Tree, host_root: Path) -> Written | None:
    """The list of mounts of the process whose list counts, None where none has cgroups."""
    processes = ("self", "1") if os.path.realpath(host_root) == "/" else ("1", "self")
    for process in processes:
        lines = _lines(tree, process)
        if lines:
            return lambda names: _written(lines, names)
    return None


def _lines(tree: Tree, process: str) -> tuple[MountLine, ...]:
    try:
        data = tree.read(tree.resolve((PROC_DIR, process, "mountinfo")), _LARGE)
    except LeftOutError:
        return ()
    return parse_mountinfo(os.fsdecode(data))


def _written(lines: tuple[MountLine, ...], names: Names) -> str:
    return "".join(
        mount_line(names, number, line.point, line.root, _KINDS[line.version.value], line.options)
        + "\n"
        for number, line in enumerate(lines, start=30)
    )
