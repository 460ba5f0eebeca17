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


@pytest.mark.parametrize("command", [["topology"], ["run", "--once"]])
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--host-root", "hostRoot must not be empty"),
        ("--nvml", "nvml must not be empty"),
        ("--locality-overrides", "localityOverrides must not be empty"),
        ("--config", "file's name must not be empty"),
    ],
)
def test_an_empty_option_is_a_mistake(
    command: list[str], option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, option, ""]) == 2
    assert said in capsys.readouterr().err


def test_a_bad_nvml_is_a_mistake_though_the_machine_is_not_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["topology", "--host-root", str(MACHINES[0]), "--nvml", "perhaps"]) == 2
    assert "nvml must be auto, off or" in capsys.readouterr().err


def test_the_configuration_names_the_machine_and_an_option_comes_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"hostRoot: {tmp_path}/none\nliveRoot: {tmp_path}/none\nnodeName: n\n")
    assert main(["topology", "--config", str(path)]) == 2
    assert f"{tmp_path}/none" in capsys.readouterr().err
    assert main(["topology", "--config", str(path), "--host-root", str(MACHINES[0])]) == 0


def test_with_the_live_root_of_the_configuration_nvml_is_asked_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    gone = tmp_path / "libnvidia-ml.so.1"
    path.write_text(f"hostRoot: {tmp_path}\nliveRoot: {tmp_path}\nnvml: {gone}\n")
    main(["topology", "--config", str(path), "-o", "json"])
    assert str(gone) in capsys.readouterr().out
    main(["topology", "--host-root", str(tmp_path), "--nvml", str(gone), "-o", "json"])
    assert str(gone) not in capsys.readouterr().out
