"""`numa-agent doctor`: what people and programs read, its exit code; it writes nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from numa_agent.core.doctor import CHECKS
from tests.recorded import MACHINES, copied, machine

WATCHED = """\
import os, sys
from pathlib import Path
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
changing = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod",
            "os.chown", "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "fcntl.flock",
            "fcntl.lockf", "shutil.move", "shutil.rmtree", "os.system", "os.exec", "os.fork",
            "subprocess.Popen", "os.posix_spawn", "ctypes.dlsym/handle", "os.kill"}
seen = []
def hook(event, words):
    if event == "open" and isinstance(words[2], int) and words[2] & writing:
        seen.append((event, *map(str, words)))
    if event in changing:
        seen.append((event, *map(str, words)))
sys.addaudithook(hook)
from numa_agent.cli import main
status = main(sys.argv[1:])
sys.stdout.flush()
assert not seen, seen
Path_was_seen = []
sys.addaudithook(lambda event, words: Path_was_seen.append(event) if event == "open" else None)
open(os.devnull).close()
assert Path_was_seen, "the hook is blind"
sys.exit(status)
"""


def doctor(root: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    status = main(["doctor", "--host-root", str(root), *more])
    return status, capsys.readouterr().out


def told(root: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    status, text = doctor(root, capsys, "-o", "json", *more)
    return status, json.loads(text)


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_every_check_is_well_or_has_a_finding_or_says_what_it_lacks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, answer = told(folder, capsys)
    assert answer["format"] == "numa-agent.doctor/v1"
    faults = [each for each in answer["findings"] if each["weight"] == "fault"]
    assert status == (1 if faults else 0)
    assert answer["good"] is not bool(faults)
    found = {each["code"] for each in answer["findings"]}
    lacking = {name for each in answer["not_looked"] for name in each["checks"]}
    for check in CHECKS:
        spoken = bool(found & {rule.code for rule in check.rules}) or check.name in lacking
        assert (check.name in answer["well"]) is not spoken


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_people_read_all_that_programs_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, answer = told(folder, capsys)
    _, text = doctor(folder, capsys)
    words = " ".join(text.split())
    for each in answer["findings"]:
        assert f"{each['code']}: {each['subject']}" in words
        for key in ("evidence", "costs", "fix", "source"):
            assert " ".join(each[key].split()) in words
    for each in answer["not_looked"]:
        assert f"{each['fact']}: {each['why']} (for {', '.join(each['checks'])})" in words
    unbroken = [line for line in text.splitlines() if " " in line.strip()[9:]]
    assert all(len(line) <= 140 for line in unbroken)


def test_a_fault_makes_the_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = doctor(machine("vm-unknown-locality"), capsys)
    assert status == 1
    assert text.startswith("FAULT    gpu-place-unknown: 2 GPUs\n  seen   ")
    assert text.splitlines()[-1].startswith("1 fault, ")


def test_what_a_terminal_would_obey_is_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    (root / "var/lib/kubelet/config.yaml").write_text('"cgroupRoot\\e[2J": ]\x9b2J\n')
    _, text = doctor(root, capsys)
    assert "kubelet-state-unreadable" in text
    assert all(line.isprintable() for line in text.splitlines())


def test_the_scheduler_decides_what_of_kubelet_is_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = machine("four-node-snc")
    alone = {each["code"] for each in told(root, capsys)[1]["findings"]}
    beside = {
        each["code"] for each in told(root, capsys, "--scheduler", "koordinator")[1]["findings"]
    }
    assert "kubelet-assigns-too" not in alone
    assert {"kubelet-assigns-too", "kubelet-admits-too"} <= beside


def test_a_folder_that_isn_t_there_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--host-root", str(tmp_path / "none")]) == 2
    assert "numa-agent doctor: error: host root" in capsys.readouterr().err


def test_settings_that_can_t_be_used_are_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["doctor", "--host-root", str(machine("single-node")), "--nvml", ""]
    assert main(words) == 2
    assert "numa-agent doctor: error" in capsys.readouterr().err


def watched(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that ends badly where it writes, locks or starts anything."""
    command = [sys.executable, "-B", "-c", WATCHED, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_nothing_of_a_recorded_machine_is_written(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    done = watched("doctor", "--host-root", str(root))
    assert (done.returncode, done.stderr) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(list(root.rglob("*"))) == len(list(machine("two-socket-8gpu").rglob("*")))


def test_nothing_of_this_machine_is_written(tmp_path: Path) -> None:
    done = watched("doctor", "--kubeconfig", str(tmp_path / "none"))
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    assert "couldn't be looked at:" in done.stdout


def test_the_watch_sees_a_write(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    done = watched("run", "--once", "--host-root", str(root))
    assert done.returncode == 1
    assert "cpuset.cpus" in done.stderr
