"""One pass against this computer's own v1 cpuset hierarchy, where it has one and we are root."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live_folder

CPUSET = Path("/sys/fs/cgroup/cpuset")
ROOT = f"/numa-agent-test-{os.getpid()}"


def _unfit() -> str | None:
    if not (CPUSET / "cpuset.cpus").is_file():
        return "no v1 cpuset hierarchy is mounted at /sys/fs/cgroup/cpuset"
    if os.geteuid() != 0:
        return "only root may make cgroups"
    if (os.cpu_count() or 1) < 2:
        return "one CPU can't be narrowed"
    return None


pytestmark = pytest.mark.skipif(_unfit() is not None, reason=_unfit() or "")


@pytest.fixture
def confined() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a container's cgroup as kubelet and containerd lay it, below a root of ours."""
    leaf = CPUSET / live_folder.container_path(ROOT)
    groups = [leaf, *list(leaf.parents)[:3]][::-1]
    for group in groups:
        group.mkdir()
        for name in ("cpuset.cpus", "cpuset.mems"):
            (group / name).write_text((group.parent / name).read_text())
    process = subprocess.Popen(["sleep", "300"])
    try:
        (leaf / "cgroup.procs").write_text(str(process.pid))
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)
        for group in reversed(groups):
            group.rmdir()


def _allowed(process: subprocess.Popen[bytes]) -> str:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next(
        line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list")
    )


def test_a_pass_confines_a_running_process_of_a_v1_container_to_its_assigned_cpus(
    confined: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    folder = live_folder.lay(tmp_path / "machine", cpuset="1", cgroup_root=ROOT)
    report = live_folder.take_pass(folder)
    assert _allowed(confined) == "1"
    assert report.good


def test_cpus_that_the_pods_own_cgroup_lacks_are_refused_and_change_nothing(
    confined: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    pod = (CPUSET / live_folder.container_path(ROOT)).parent
    (pod / live_folder.CONTAINER_ID / "cpuset.cpus").write_text("0\n")
    (pod / "cpuset.cpus").write_text("0\n")
    folder = live_folder.lay(tmp_path / "machine", cpuset="1", cgroup_root=ROOT)
    report = live_folder.take_pass(folder)
    assert [refusal.code for refusal in report.refusals] == ["cpus-outside-parent"]
    assert report.writes == ()
    assert _allowed(confined) == "0"
