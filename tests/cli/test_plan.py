"""`numa-agent plan` and `restore`: what would be written, and what takes it back."""

import json
from pathlib import Path

import pytest

from numa_agent.cli import main
from tests.recorded import MACHINES, copied, machine

OWN = "56-67,168-179"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    copied(machine("two-socket-8gpu"), tmp_path / "machine")
    return tmp_path / "machine"


def planned(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    status = main(["plan", "--host-root", str(root), "-o", "json"])
    return status, json.loads(capsys.readouterr().out)


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_plan_names_every_write_with_its_reason_and_writes_nothing(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(copy)
    status, plan = planned(copy, capsys)
    assert status == 0
    assert plan["format"] == "numa-agent.plan/v1"
    steps = plan["steps"]
    assert isinstance(steps, list)
    assert steps[0] == {
        "path": "kubepods.slice/kubepods-pod275ef510_9903_477e_8b7c_66bbd1930b1f.slice",
        "file": "cpus",
        "from": "",
        "to": OWN,
        "pod": "ml/train-0",
        "container": "",
        "reason": f"scheduling.koordinator.sh/resource-status gives it CPUs {OWN}",
    }
    assert files(copy) == before


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_what_was_planned_is_what_a_pass_writes_and_then_nothing_is_left_to_do(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(folder, root)
    _, plan = planned(root, capsys)
    main(["run", "--once", "--host-root", str(root), "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    done = [(each["cgroup"], each["file"], each["after"]) for each in report["writes"]]
    steps = plan["steps"]
    assert isinstance(steps, list)
    assert done == [(each["path"], each["file"], each["to"]) for each in steps]
    assert all(each["error"] is None for each in report["writes"])
    assert planned(root, capsys)[1]["steps"] == []


def test_a_table_shows_the_same_for_people(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--host-root", str(copy)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("POD ")
    assert "shop/web-5f7c9d8b6c-4tq2x" in said
    main(["run", "--once", "--host-root", str(copy)])
    capsys.readouterr()
    main(["plan", "--host-root", str(copy)])
    assert capsys.readouterr().out.startswith("nothing is to be written")


def test_a_refused_assignment_is_in_the_plan_and_makes_it_bad(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = copy / "answers" / "pods.json"
    pods.write_text(pods.read_text().replace(OWN, "56-67,999"))
    status, plan = planned(copy, capsys)
    assert status == 1
    refused = plan["refused"]
    assert isinstance(refused, list)
    assert [each["reason"] for each in refused] == ["cpus-not-online"]


def test_a_pod_that_opted_out_is_left_alone_and_said_so(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = json.loads((copy / "answers" / "pods.json").read_text())
    web = next(pod for pod in pods["items"] if pod["metadata"]["name"].startswith("web"))
    web["metadata"].setdefault("annotations", {})["numa-agent.io/bind"] = "off"
    (copy / "answers" / "pods.json").write_text(json.dumps(pods))
    status, plan = planned(copy, capsys)
    assert status == 0
    assert [(each["pod"], each["reason"]) for each in plan["left_alone"]] == [  # type: ignore[attr-defined]
        ("shop/web-5f7c9d8b6c-4tq2x", "opted-out")
    ]
    assert "shop/web" not in json.dumps(plan["steps"])


def test_restore_gives_one_pod_everything_back_and_a_pass_binds_it_again(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "--once", "--host-root", str(copy)])
    capsys.readouterr()
    (group,) = (copy / "sys/fs/cgroup/kubepods.slice").glob("kubepods-pod*.slice")
    assert main(["restore", "--host-root", str(copy), "--pod", "ml/train-0"]) == 0
    assert f"ml/train-0: cpus {OWN} -> 0-223" in capsys.readouterr().out
    assert (group / "cpuset.cpus").read_text() == "0-223\n"
    assert (group / "cpuset.cpus.effective").read_text() == "0-223\n"
    assert len(planned(copy, capsys)[1]["steps"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_restore_takes_back_every_pod_and_a_second_one_has_nothing_to_do(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(folder, root)
    main(["run", "--once", "--host-root", str(root)])
    capsys.readouterr()
    words = ["restore", "--host-root", str(root), "--all"]
    assert main(words) == 0
    capsys.readouterr()
    assert main(words) == 0
    said = capsys.readouterr().out.splitlines()
    ends = ("has all that is in force around it", "has no cgroup here")
    assert all(line.endswith(ends) or "is left as it is" in line for line in said)


def test_a_pod_that_isnt_here_is_named_with_those_that_are(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["restore", "--host-root", str(copy), "--pod", "ml/gone"]) == 2
    assert "no pod ml/gone runs here" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--all", "--pod", "a/b"]])
def test_restore_wants_one_pod_or_all(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["restore", *words])
    assert caught.value.code == 2


@pytest.mark.parametrize("state", ["absent", "damaged"])
def test_nothing_is_restored_while_kubelet_s_state_isnt_known(
    state: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A container with CPUs of kubelet's would get everybody else's as well.
    main(["run", "--once", "--host-root", str(copy)])
    capsys.readouterr()
    file = copy / "var/lib/kubelet/cpu_manager_state"
    if state == "damaged":
        file.write_text("{")
    else:
        file.unlink(missing_ok=True)
        settings = copy / "var/lib/kubelet/config.yaml"
        settings.write_text("kind: KubeletConfiguration\ncpuManagerPolicy: static\n")
    before = files(copy)
    assert main(["restore", "--host-root", str(copy), "--all"]) == 1
    assert "no CPU is given out" in capsys.readouterr().err
    assert files(copy) == before


def test_kubelet_s_own_pods_are_not_restored_though_they_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(machine("four-node-snc"), root)
    pods = json.loads((root / "answers" / "pods.json").read_text())
    uid = "8359375b-ad7f-4647-ae87-3494cfafa041"
    metadata = next(each["metadata"] for each in pods["items"] if each["metadata"]["uid"] == uid)
    name = f"{metadata['namespace']}/{metadata['name']}"
    before = files(root)
    main(["restore", "--host-root", str(root), "--pod", name])
    assert f"{name} is left as it is: kubelet's static CPU manager" in capsys.readouterr().out
    assert files(root) == before
