"""This computer's own v1 cpuset hierarchy, where it has one and we are root."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

CPUSET = Path("/sys/fs/cgroup/cpuset")


def _unfit() -> str | None:
    if not (CPUSET / "cpuset.cpus").is_file():
        return "no v1 cpuset hierarchy is mounted at /sys/fs/cgroup/cpuset"
    if os.geteuid() != 0:
        return "only root may make cgroups"
    if (os.cpu_count() or 1) < 2:
        return "one CPU can't be narrowed"
    return None


needs_v1_cpuset = pytest.mark.skipif(_unfit() is not None, reason=_unfit() or "")


@contextmanager
def process_in(groups: Sequence[Path]) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the last of these cgroups, which are made, each with its parent's sets."""
    for group in groups:
        group.mkdir()
        for name in ("cpuset.cpus", "cpuset.mems"):
            (group / name).write_text((group.parent / name).read_text())
    process = subprocess.Popen(["sleep", "300"])
    try:
        (groups[-1] / "cgroup.procs").write_text(str(process.pid))
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)
        for group in reversed(groups):
            if group.is_dir():
                group.rmdir()
