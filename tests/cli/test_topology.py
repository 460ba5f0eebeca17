"""`numa-agent topology` as it is typed: the JSON contract, the tree, what errors say."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from numa_agent.cli import main
from tests.recorded import MACHINES, ROOT

SCHEMA = json.loads((ROOT / "docs" / "topology.schema.json").read_text())


def _json_of(machine: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["topology", "--host-root", str(machine), "-o", "json"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_the_json_of_a_recorded_machine_keeps_the_documented_contract(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonschema.validate(_json_of(machine, capsys), SCHEMA)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_the_map_of_a_recorded_machine_is_the_reviewed_one(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["topology", "--host-root", str(machine), "-o", "json"])
    assert capsys.readouterr().out == (machine / "expected" / "topology.json").read_text()
    main(["topology", "--host-root", str(machine)])
    assert capsys.readouterr().out == (machine / "expected" / "topology.txt").read_text()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_the_tree_fits_eighty_columns(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["topology", "--host-root", str(machine)])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["topology", "--host-root", str(MACHINES[0]), "-o", "yaml"])
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed == _json_of(MACHINES[0], capsys)


def test_the_tree_has_no_colours_when_it_is_not_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["topology", "--host-root", str(MACHINES[0])])
    assert "\033" not in capsys.readouterr().out


def test_a_host_root_that_is_not_there_is_named_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", "--host-root", str(tmp_path / "gone")]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "gone") in said
    assert "--host-root" in said


def test_a_folder_without_a_machine_gives_an_empty_map_and_exit_code_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", "--host-root", str(tmp_path), "-o", "json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["cpus"]["online"] == ""
    assert f"no CPU found below {tmp_path}" in printed.err
