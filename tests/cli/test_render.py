"""`numa-agent render`: what the cluster's scheduler would be told."""

import json
from pathlib import Path

import pytest
import yaml

from numa_agent.cli import main
from numa_agent.config import SCHEDULERS
from tests.recorded import MACHINES, copied, machine

TWO_SOCKETS = str(machine("two-socket-8gpu"))


def rendered(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["render", *words])
    said, errors = capsys.readouterr()
    return status, said, errors


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_two_runs_print_the_same_bytes(
    folder: Path, scheduler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--host-root", str(folder), "--scheduler", scheduler)
    assert rendered(capsys, *words) == rendered(capsys, *words)


def test_json_is_one_list_of_the_same_objects(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--host-root", TWO_SOCKETS, "--scheduler", "koordinator")
    _, as_yaml, _ = rendered(capsys, *words)
    _, as_json, _ = rendered(capsys, *words, "-o", "json")
    listed = json.loads(as_json)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == list(yaml.safe_load_all(as_yaml))
    assert [each["kind"] for each in listed["items"]] == ["NodeResourceTopology", "Device"]


def test_it_is_what_a_pass_would_apply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied(machine("two-socket-8gpu"), tmp_path / "machine")
    _, printed, _ = rendered(capsys, "--host-root", str(tmp_path / "machine"), "-o", "json")
    main(["run", "--once", "--host-root", str(tmp_path / "machine"), "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [each["object"] for each in report["publications"]] == json.loads(printed)["items"]


def test_the_language_is_the_configurations_unless_another_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text("scheduler: koordinator\nmemoryZones: on\n")
    words = ("--host-root", TWO_SOCKETS, "--config", str(tmp_path / "config.yaml"))
    assert "node.koordinator.sh/cpu-topology" in rendered(capsys, *words)[1]
    _, other, _ = rendered(capsys, *words, "--scheduler", "kube-scheduler")
    assert "node.koordinator.sh" not in other


def test_a_source_that_fails_is_named_and_nothing_is_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(machine("two-socket-8gpu"), tmp_path / "machine")
    (tmp_path / "machine" / "answers" / "podresources.json").unlink()
    status, said, errors = rendered(capsys, "--host-root", str(tmp_path / "machine"))
    assert (status, said) == (1, "")
    assert "podresources.json: not there" in errors


def test_without_podresources_by_choice_no_extended_resource_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text("podresources: off\n")
    words = ("--host-root", TWO_SOCKETS, "--config", str(tmp_path / "config.yaml"))
    status, said, _ = rendered(capsys, *words)
    assert status == 0
    assert "nvidia.com/gpu" not in said
    assert "name: cpu" in said


def test_a_bare_folder_is_a_map_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, errors = rendered(capsys, "--host-root", str(tmp_path))
    assert status == 2
    assert "is a map only" in errors


def test_a_topology_policy_of_our_own_stands_in_the_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "topologyPolicy: single-numa-node\ntopologyScope: pod\n"
    (tmp_path / "config.yaml").write_text(settings)
    words = ("--host-root", TWO_SOCKETS, "--config", str(tmp_path / "config.yaml"))
    (found,) = yaml.safe_load_all(rendered(capsys, *words)[1])
    attributes = {each["name"]: each["value"] for each in found["attributes"]}
    assert attributes["topologyManagerPolicy"] == "single-numa-node"
    assert attributes["topologyManagerScope"] == "pod"
