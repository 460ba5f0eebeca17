"""The control plane of the tests: what it says when it doesn't start."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.apiserver.control_plane import ControlPlane, ControlPlaneError

pytestmark = pytest.mark.apiserver

START_AND_WAIT = """\
import sys, time
from pathlib import Path
from tests.apiserver.control_plane import ControlPlane
with ControlPlane(Path(sys.argv[1])) as plane:
    print(plane.url, *plane.process_ids, flush=True)
    time.sleep(300)
"""


def test_a_program_that_ends_is_named_with_its_log(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "etcd").symlink_to(programs / "etcd")
    broken = tmp_path / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho unknown flag\nexit 3\n")
    broken.chmod(0o755)
    with (
        pytest.raises(ControlPlaneError, match=r"kube-apiserver ended with status 3:\nunknown"),
        ControlPlane(tmp_path),
    ):
        raise AssertionError("never entered")


def test_the_servers_die_with_a_test_run_that_is_killed(programs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START_AND_WAIT, str(programs)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        _, *process_ids = run.stdout.readline().split()
        run.kill()
    assert len(process_ids) == 2
    deadline = time.monotonic() + 60
    while alive(process_ids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(process_ids) == []


def alive(process_ids: list[str]) -> list[str]:
    return [each for each in process_ids if Path("/proc", each, "exe").exists()]
