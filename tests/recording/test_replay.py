"""A recording is the machine to every command that looks at it."""

from pathlib import Path

import pytest

from numa_agent.host.recording.packing import Packing
from tests.recorded import MACHINES, machine
from tests.recording.machines import pod_group, put, whole_machine
from tests.recording.replay import answers, mapped_back, record

NAMED = pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)


@NAMED
def test_with_names_kept_every_command_answers_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = record(folder, tmp_path, keep_names=True)
    assert made.left_out == {}
    assert answers(made.folder, capsys) == answers(folder, capsys)


@NAMED
@pytest.mark.parametrize("packing", [Packing.ZSTD, Packing.NONE], ids=lambda each: each.value[0])
def test_with_pseudonyms_every_command_answers_the_same_once_they_are_mapped_back(
    packing: Packing, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = record(folder, tmp_path, packing=packing)
    expected, found = answers(folder, capsys), answers(made.folder, capsys)
    assert found["kube-scheduler"] != expected["kube-scheduler"]
    told = {name for name in made.names.originals.values() if len(name) > 6}
    assert {name for name in told if name.encode() in made.raw} == set()
    assert {key: mapped_back(text, made.names) for key, text in found.items()} == expected


@pytest.mark.parametrize("name", ["mig-mixed", "cgroup-v1-systemd", "four-node-snc", "lost-gpu"])
def test_a_recording_of_a_recording_is_the_same_once_more(name: str, tmp_path: Path) -> None:
    first = record(machine(name), tmp_path / "first")
    second = record(first.folder, tmp_path / "second", keep_names=True)
    assert second.paths == first.paths
    left = {"MANIFEST", "recorded.yaml"}
    for path in sorted(first.paths - left):
        if (first.folder / path).is_file():
            assert (second.folder / path).read_bytes() == (first.folder / path).read_bytes(), path


def test_a_pass_writes_and_proves_the_same_on_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = whole_machine(tmp_path / "machine")
    made = record(root, tmp_path)
    once = {"run": ("run", "--once", "-o", "json")}
    found = answers(made.folder, capsys, once)["run"]
    expected = answers(root, capsys, once)["run"]
    assert "tasks" in expected
    assert mapped_back(found, made.names) == expected


def test_however_it_is_packed_the_same_is_in_it(tmp_path: Path) -> None:
    zstd, gzip, plain = (
        record(MACHINES[0], tmp_path / packing.name, keep_names=True, packing=packing)
        for packing in (Packing.ZSTD, Packing.GZIP, Packing.NONE)
    )
    assert zstd.raw == gzip.raw == plain.raw


def test_two_recordings_of_one_machine_share_no_pseudonym(tmp_path: Path) -> None:
    one = record(MACHINES[0], tmp_path / "one")
    other = record(MACHINES[0], tmp_path / "other")
    assert set(one.names.originals.values()) == set(other.names.originals.values())
    assert not one.names.originals.keys() & other.names.originals.keys()


def test_the_manifest_lists_every_file_with_its_size_and_rule(tmp_path: Path) -> None:
    made = record(MACHINES[0], tmp_path)
    listed = {}
    for line in made.text("MANIFEST").split("\n"):
        if line.count("\t") == 2:
            size, rule, path = line.split("\t")
            assert rule
            listed[path] = int(size)
    there = {
        str(path.relative_to(made.folder)): path.stat().st_size
        for path in made.folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name != "MANIFEST"
    }
    assert {path: listed.get(path) for path in there} == there
    assert made.text("MANIFEST").endswith("nothing is left out\n")


def test_a_container_with_ten_thousand_tasks_is_recorded_whole(tmp_path: Path) -> None:
    root = whole_machine(tmp_path / "machine", "mig-mixed")
    container = next(pod_group(root).glob("*.scope"))
    tasks = "".join(f"{number}\n" for number in range(1_000_000, 1_010_000))
    put(container / "cgroup.threads", tasks)
    put(root / "proc/1000007/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n")
    made = record(root, tmp_path, keep_names=True)
    assert made.left_out == {}
    assert made.text(str((container / "cgroup.threads").relative_to(root))) == tasks
    assert made.text("proc/1000007/status").startswith("Cpus_allowed_list:\t0-3\n")
