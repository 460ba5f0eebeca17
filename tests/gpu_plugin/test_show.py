"""`numa-agent gpu-plugin --show` on recorded machines, and what the command refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from tests.recorded import MACHINES, copied, machine


def shown(root: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    status = main(["gpu-plugin", "--host-root", str(root), "--show", "-o", "json", *options])
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The machine with eight cards that nobody else hands out."""
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    (root / "answers/podresources.json").write_text('{"list": {}, "allocatable": {}}')
    node = json.loads((root / "answers/node.json").read_text())
    node["status"]["allocatable"].pop("nvidia.com/gpu")
    (root / "answers/node.json").write_text(json.dumps(node))
    return root


def test_what_would_be_offered_is_shown(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, document = shown(alone, capsys, "--prefer", "4")
    assert status == 0
    assert document["resource"] == "aliyun.com/gpu"
    assert document["placed"] is True
    assert document["rivals"] == document["leftOut"] == document["conditions"] == []
    assert [card["node"] for card in document["cards"]] == [0] * 4 + [1] * 4
    assert document["preferred"] == [card["id"] for card in document["cards"][:4]]
    assert main(["gpu-plugin", "--host-root", str(alone), "--show", "--prefer", "2"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0] == "aliyun.com/gpu: 8 cards, with their NUMA nodes, by env"
    assert text[1].split() == [
        "0",
        "0000:1b:00.0",
        "node",
        "0",
        document["cards"][0]["id"],
        "well",
    ]
    assert len(text) == 10


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.name)
def test_every_recorded_machine_can_be_shown(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, document = shown(path, capsys, "--prefer", "1")
    # Each machine with cards has NVIDIA's plugin.
    assert (status, bool(document["rivals"])) == (1, bool(document["cards"]))
    well = [card["id"] for card in document["cards"] if card["ailment"] is None]
    assert {*document["preferred"]} <= {*well}
    assert len(document["preferred"]) == min(1, len(well))


def test_another_plugin_s_cards_and_those_that_its_pods_hold_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["gpu-plugin", "--host-root", str(machine("two-socket-8gpu")), "--show"]) == 1
    said = capsys.readouterr()
    assert "nvidia.com/gpu is handed out on this node too" in said.err
    assert said.out.count("pod ml/train-0 holds it as nvidia.com/gpu") == 4


def test_the_resource_may_be_named(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(alone, capsys, "--resource", "nvidia.com/gpu")[1]["resource"] == "nvidia.com/gpu"
    assert main(["gpu-plugin", "--resource", "gpu", "--show"]) == 2
    assert "gpuResource must be an extended resource, such as" in capsys.readouterr().err


def test_a_recorded_machine_s_cards_are_nobody_s(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gpu-plugin", "--host-root", str(alone)]) == 2
    assert "--show" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "x", "", "99999", "1.5"])
def test_a_number_of_cards_is_one(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["gpu-plugin", "--show", f"--prefer={count}"])
    assert ended.value.code == 2
    assert "expected a number of cards" in capsys.readouterr().err
