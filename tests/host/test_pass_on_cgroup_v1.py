"""One pass against this computer's own v1 cpuset hierarchy, where it has one and we are root."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live_folder
from tests.v1_cpuset import CPUSET, needs_v1_cpuset, process_in

ROOT = f"/numa-agent-test-{os.getpid()}"


pytestmark = needs_v1_cpuset


@pytest.fixture
def confined() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a container's cgroup as kubelet and containerd lay it, below a root of ours."""
    leaf = CPUSET / live_folder.container_path(ROOT)
    groups = [leaf, *list(leaf.parents)[:3]][::-1]
    with process_in(groups) as process:
        yield process


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
