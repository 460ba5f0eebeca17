"""Writing and checking, on the machines here and on a folder of its own."""

from pathlib import Path

import pytest

from tools.machines.__main__ import SPECS, check_all, generate, write_all
from tools.machines.build import build
from tools.machines.reading import parse_machine
from tools.machines.tree import Link, Tree, read_tree, write_tree

SMALL = """
about: As small as it gets.
cpus: {packages: 1, cores: 2}
nodes: [{id: 0, cpus: "0-1", memory: 1Gi}]
pci: [{roots: ["0000:00"], node: 0, devices: [{port: [nvme]}]}]
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "small.yaml").write_text(SMALL)
    return folder


def test_the_machines_on_disk_are_those_of_their_descriptions(fixtures: Path) -> None:
    assert check_all(SPECS, fixtures) == 0


def test_two_runs_give_the_same_bytes(machines: dict[str, Tree]) -> None:
    assert generate(SPECS) == machines


def test_what_is_written_is_what_the_check_expects(specs: Path, tmp_path: Path) -> None:
    write_all(specs, tmp_path)
    assert check_all(specs, tmp_path) == 0
    assert read_tree(tmp_path / "small") == build(parse_machine("small", SMALL))


@pytest.mark.parametrize(
    ("path", "content", "how"),
    [
        ("sys/devices/system/cpu/online", "0-2\n", "differs"),
        ("sys/devices/system/cpu/online", None, "missing"),
        ("sys/devices/system/cpu/cpu9/online", "1\n", "not generated"),
    ],
)
def test_the_check_names_the_first_difference(
    specs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    path: str,
    content: str | None,
    how: str,
) -> None:
    write_all(specs, tmp_path)
    changed = tmp_path / "small" / path
    if content is None:
        changed.unlink()
    else:
        changed.parent.mkdir(exist_ok=True)
        changed.write_text(content)
    assert check_all(specs, tmp_path) == 1
    assert f"small/{path}: {how}" in capsys.readouterr().err


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    tree = build(parse_machine("small", SMALL))
    assert write_tree(tmp_path, tree) == len(tree)
    assert write_tree(tmp_path, tree) == 0


def test_writing_removes_what_is_no_longer_generated_and_keeps_what_is_expected(
    tmp_path: Path,
) -> None:
    (tmp_path / "expected").mkdir()
    (tmp_path / "expected" / "topology.json").write_text("{}")
    write_tree(tmp_path, {"gone/file": "1\n", "gone/link": Link("file"), "kept": "1\n"})
    assert write_tree(tmp_path, {"kept": "1\n"}) == 2
    found = sorted(path.name for path in tmp_path.rglob("*"))
    assert found == ["expected", "kept", "topology.json"]


def test_a_link_takes_the_place_of_a_file_and_a_file_that_of_a_folder(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": "1\n", "b/c": "1\n"})
    write_tree(tmp_path, {"a": Link("b"), "b": "2\n"})
    assert read_tree(tmp_path) == {"a": Link("b"), "b": "2\n"}
