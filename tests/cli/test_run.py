"""`numa-agent run --once` and `numa-agent demo` on recorded machines."""

import json
from pathlib import Path

import pytest

from numa_agent.cli import demo, main
from numa_agent.config import load
from tests.recorded import copied, machine


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the 8-GPU machine, since a pass writes to it."""
    folder = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), folder)
    return folder


def _report(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    status = main(["run", "--once", "--host-root", str(root), "-o", "json"])
    report: dict[str, object] = json.loads(capsys.readouterr().out)
    return status, report


def test_a_pass_writes_the_assigned_cpus_and_proves_them(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = _report(copy, capsys)
    assert status == 0
    assert report["containers"] == [
        {
            "pod": "ml/train-0",
            "container": "trainer",
            "verdict": "aligned",
            "reason": "CPUs 56-67,168-179 are in force, all in node 1, with 6 MiB of"
            " memory and 4 GPUs",
            "decided": "56-67,168-179",
            "effective": "56-67,168-179",
            "tasks_seen": 0,
            "tasks_unseen": 1,
            "cpu_quota": None,
            "notes": ["1 of its tasks isn't seen from here"],
        }
    ]


def test_a_second_pass_writes_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _report(copy, capsys)
    _, report = _report(copy, capsys)
    assert report["writes"] == []
    assert report["good"] is True


def test_an_assignment_that_cannot_be_followed_is_refused_by_name_and_costs_that_pod_alone(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copy / "answers" / "pods.json"
    pods = json.loads(path.read_text())
    web = next(pod for pod in pods["items"] if pod["metadata"]["name"].startswith("web"))
    web["metadata"].setdefault("annotations", {})["scheduling.koordinator.sh/resource-status"] = (
        '{"cpuset": "0-999"}'
    )
    path.write_text(json.dumps(pods))
    assert main(["run", "--once", "--host-root", str(copy)]) == 1
    said, errors = capsys.readouterr()
    assert f"refused: pod {web['metadata']['namespace']}/{web['metadata']['name']}: " in said
    assert "of which 224-999 aren't online" in said
    assert "aligned" in said
    assert errors.startswith("numa-agent run: refused: pod ")
    assert main(["run", "--once", "--host-root", str(copy), "-o", "json"]) == 1
    assert capsys.readouterr().err == errors


def test_answers_that_are_not_json_are_named_and_nothing_is_written_or_published(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "answers" / "pods.json").write_text("{")
    status, report = _report(copy, capsys)
    assert status == 1
    assert str(copy / "answers" / "pods.json") in str(report["failures"])
    assert report["publications"] == []
    assert report["writes"] == []


def test_a_failed_write_and_what_it_leaves_are_named_on_stderr(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (scope,) = (copy / "sys/fs/cgroup/kubepods.slice").rglob("cri-containerd-ab78*.scope")
    (scope.parent / "cpuset.cpus").unlink()
    (scope.parent / "cpuset.cpus").mkdir()
    assert main(["run", "--once", "--host-root", str(copy), "-o", "json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["good"] is False
    assert f"{scope.parent.name}" in printed.err
    assert "ml/train-0 trainer" in printed.err


def test_a_good_pass_says_nothing_on_stderr(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--once", "--host-root", str(copy)]) == 0
    assert capsys.readouterr().err == ""


def test_the_configuration_shown_in_the_help_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    help_lines = capsys.readouterr().out.splitlines()
    lines = [line.strip() for line in help_lines if "Root: " in line]
    assert [line.split("  ")[0] for line in lines] == ["hostRoot: /host", "liveRoot: /host"]
    path = tmp_path / "config.yaml"
    path.write_text("\n".join(lines))
    assert load(path, {}, {}).live


def test_a_bare_folder_is_a_map_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--once", "--host-root", str(tmp_path)]) == 2
    assert "is a map only" in capsys.readouterr().err


def test_the_live_machine_needs_the_name_of_its_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    assert main(["run", "--once"]) == 2
    assert "--node-name" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["two-socket-8gpu", "cgroup-v1-systemd"])
def test_the_demo_shows_all_four_steps_and_leaves_the_machine_as_it_was(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine(name)
    before = {path: path.read_bytes() for path in (folder / "sys/fs/cgroup").rglob("cpuset.*")}
    assert main(["demo", str(folder)]) == 0
    said = capsys.readouterr().out
    assert [
        step for step in ("1. map", "2. publish", "3. bind", "4. prove") if step not in said
    ] == []
    assert "aligned" in said
    assert {path: path.read_bytes() for path in before} == before


def test_the_demo_installed_without_machines_says_where_some_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_MACHINE", tmp_path / "fixtures")
    assert main(["demo"]) == 2
    said = capsys.readouterr().err
    assert "give a recorded machine's folder" in said
    assert "fixtures/sysfs/" in said


@pytest.mark.parametrize("given", ["", "gone", "a\0b"])
def test_the_demo_of_a_folder_that_is_no_recorded_machine_names_it(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", given]) == 2
    assert f"{given!r} has no recorded.yaml" in capsys.readouterr().err


def test_a_recorded_machine_whose_cgroups_lead_elsewhere_writes_nothing_there(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    (copy / "sys/fs/cgroup").rename(outside)
    (copy / "sys/fs/cgroup").symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("cpuset.*")}
    assert main(["run", "--once", "--host-root", str(copy)]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in before} == before
