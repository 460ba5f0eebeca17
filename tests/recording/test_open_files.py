"""The GPUs that processes have open are in a recording, and nothing else of their files."""

import json
import os
from pathlib import Path

import pytest

from numa_agent.host.cgroups.device_files import MAX_FILES, MAX_PROCESSES
from tests.recording.machines import GROUPS, copied, put
from tests.recording.replay import COMMANDS, answers, mapped_back, record
from tests.recording.test_secrets import assert_absent

VERIFY = {"verify": COMMANDS["verify"]}
SECRET = "hunterzwei"
OTHERS = (
    *(f"/data/{SECRET}/model.bin", f"socket:[{SECRET}]", f"/dev/shm/{SECRET}", "/dev/nvidiactl"),
    *(
        "/dev/nvidia7",
        f"/dev/nvidia0/{SECRET}",
        f"/dev/nvidia0 ({SECRET})",
        "../../../dev/nvidia9",
    ),
    *(
        f"/memfd:{SECRET} (deleted)",
        "anon_inode:[eventpoll]",
        "/dev/../etc/nvidia0",
        "/dev/nvidia",
    ),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine whose kubelet doesn't answer, and whose processes have GPUs' files open."""
    root = copied("mig-mixed", tmp_path / "machine")
    (root / "answers/podresources.json").unlink()
    gpus = json.loads((root / "answers/nvml.json").read_text())["gpus"]
    assert [gpu["minor_number"] for gpu in gpus] == [0, 1]
    for number, pid in enumerate(sorted(processes(root))):
        open_files(root, pid, [*OTHERS, f"/dev/nvidia{number % 2}", f"/dev/nvidia{number % 2}"])
    return root


def lists(root: Path) -> list[Path]:
    """The lists of processes of containers' cgroups."""
    return sorted((root / GROUPS / "kubepods.slice").rglob("cri-containerd-*.scope/cgroup.procs"))


def processes(root: Path) -> list[int]:
    return [int(pid) for path in lists(root) for pid in path.read_text().split()]


def open_files(root: Path, pid: int, targets: list[str], start: int = 0) -> None:
    folder = root / f"proc/{pid}/fd"
    folder.mkdir(parents=True, exist_ok=True)
    for number, target in enumerate(targets, start):
        (folder / str(number)).symlink_to(target)


def test_verify_finds_the_same_devices_in_the_replay(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = record(root, tmp_path)
    expected = answers(root, capsys, VERIFY)
    assert '"id": "GPU-' in expected["verify"]
    found = answers(made.folder, capsys, VERIFY)
    assert {key: mapped_back(text, made.names) for key, text in found.items()} == expected


def test_no_other_file_s_name_is_in_it(root: Path, tmp_path: Path) -> None:
    for keep_names in (False, True):
        made = record(root, tmp_path / str(keep_names), keep_names=keep_names)
        assert_absent(made, SECRET)
        links = [path for path in made.paths if "/fd/" in path]
        assert {os.readlink(made.folder / path) for path in links} == {
            "../../../dev/nvidia0",
            "../../../dev/nvidia1",
        }
        assert len(links) == 2 * len(set(processes(root)))
        assert not [path for path in made.paths if path.startswith("dev")]


def test_a_recording_of_the_recording_has_the_same_links(root: Path, tmp_path: Path) -> None:
    first = record(root, tmp_path / "first", keep_names=True)
    second = record(first.folder, tmp_path / "second", keep_names=True)
    assert second.paths == first.paths


def test_as_many_files_are_looked_at_as_by_a_pass(root: Path, tmp_path: Path) -> None:
    pid = min(processes(root))
    folder = root / f"proc/{pid}/fd"
    for link in list(folder.iterdir()):
        link.unlink()
    open_files(root, pid, ["/dev/null"] * MAX_FILES)
    open_files(root, pid, ["/dev/nvidia0"], start=MAX_FILES)
    assert not [path for path in record(root, tmp_path).paths if path.startswith(f"proc/{pid}/fd")]
    (folder / "7").unlink()
    made = record(root, tmp_path / "again")
    assert f"proc/{pid}/fd/{MAX_FILES}" in made.paths


def test_as_many_processes_are_looked_into_as_by_a_pass(root: Path, tmp_path: Path) -> None:
    group = lists(root)[0]
    pids = range(900_000, 900_000 + MAX_PROCESSES + 1)
    put(group, "".join(f"{pid}\n" for pid in reversed(pids)))
    for pid in pids:
        open_files(root, pid, ["/dev/nvidia0"])
    paths = record(root, tmp_path).paths
    assert {pid for pid in pids if f"proc/{pid}/fd/0" in paths} == set(pids[1:])


def test_without_nvml_no_file_is_a_gpu_s(root: Path, tmp_path: Path) -> None:
    (root / "answers/nvml.json").unlink()
    assert not [path for path in record(root, tmp_path).paths if "/fd" in path]


@pytest.mark.parametrize("minor", [{"error": "NotSupported"}, "0", -1, True, None, 1.0])
def test_a_minor_number_that_is_none_names_no_file(
    minor: object, root: Path, tmp_path: Path
) -> None:
    path = root / "answers/nvml.json"
    document = json.loads(path.read_text())
    for gpu in document["gpus"]:
        gpu["minor_number"] = minor
    path.write_text(json.dumps(document))
    assert not [path for path in record(root, tmp_path).paths if "/fd" in path]


def test_a_hostile_folder_of_open_files_is_bounded_and_not_followed(
    root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    open_files(outside, 1, ["/dev/nvidia0"])
    first, second, *_ = sorted(set(processes(root)))
    for pid in (first, second):
        folder = root / f"proc/{pid}/fd"
        for link in list(folder.iterdir()):
            link.unlink()
        folder.rmdir()
    (root / f"proc/{first}/fd").symlink_to(outside / "proc/1/fd")
    folder = root / f"proc/{second}/fd"
    folder.mkdir()
    os.mkfifo(folder / "0")
    (folder / "1").mkdir()
    put(folder / "2", "/dev/nvidia0")
    (folder / "x\n").symlink_to("/dev/nvidia0")
    (folder / "٣").symlink_to("/dev/nvidia0")
    made = record(root, tmp_path)
    assert not [
        path for path in made.paths if path.startswith((f"proc/{first}/fd", f"proc/{second}/fd"))
    ]
    assert f"proc/{first}/fd" in made.left_out
