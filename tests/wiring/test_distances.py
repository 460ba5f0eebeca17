"""measuredDistances in what is published: in place of the firmware's, or a condition."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numa_agent.config import Config
from numa_agent.core.cpuinfo import CpuInfo
from numa_agent.core.measuring.distances import of_matrix
from numa_agent.core.topology import NumaNode
from numa_agent.core.view import Rendering, View
from numa_agent.wiring.distances import with_measured
from numa_agent.wiring.language import language
from tests.consumers.kube_nodes import account, amount, nodes, told, view
from tests.core.measuring.machines import FAR, NEAR, matrix

FIRMWARE = nodes(0, 1, memory=[2])
CPU = "A CPU"


def config(file: Path | None, scheduler: str = "kube-scheduler") -> Config:
    return Config(
        host_root=Path("/"),
        live_root=Path("/"),
        node_name="n1",
        kubeconfig=None,
        scheduler=scheduler,
        measured_distances=file,
    )


def seen(machine: Mapping[int, NumaNode] = FIRMWARE, model: str = CPU) -> View:
    own = view(
        account(machine[0], amount(2)),
        account(machine[1], amount(2)),
        others=[machine[2]] if 2 in machine else [],
        memory_zones=True,
    )
    return replace(own, cpu_info=CpuInfo(model=model, vendor=None))


def rendered(
    file: Path | None, scheduler: str = "kube-scheduler", own: View | None = None
) -> Rendering:
    publish = language(scheduler).publish
    return with_measured(config(file, scheduler), publish)(seen() if own is None else own)


def costs(rendering: Rendering) -> dict[str, dict[str, int]]:
    return {
        zone["name"]: {cost["name"]: cost["value"] for cost in zone["costs"]}
        for zone in told(rendering)["zones"]
    }


def document() -> Any:
    found = matrix(
        {(0, 0): NEAR, (0, 1): FAR, (0, 2): FAR, (1, 0): FAR, (1, 1): NEAR, (1, 2): FAR}
    )
    return of_matrix(found, seen().topology, CPU).to_json("2026-01-02T03:04:05+00:00")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "distances.json"
    path.write_text(json.dumps(document()))
    return path


def test_without_the_setting_the_firmware_s_are_published() -> None:
    assert costs(rendered(None))["node-0"] == {"node-0": 10, "node-1": 21, "memory-2": 21}


def test_measured_distances_take_the_place_of_the_firmware_s(file: Path) -> None:
    rendering = rendered(file)
    assert costs(rendering) == {
        "node-0": {"node-0": 10, "node-1": 17, "memory-2": 17},
        "node-1": {"node-0": 17, "node-1": 10, "memory-2": 17},
        "memory-2": {"node-0": 17, "node-1": 17, "memory-2": 10},
    }
    assert rendering.conditions == ()


def test_nothing_else_of_the_object_changes(file: Path) -> None:
    def without_costs(rendering: Rendering) -> Any:
        content = json.loads(json.dumps(told(rendering)))
        for zone in content["zones"]:
            del zone["costs"]
        return content

    assert without_costs(rendered(file)) == without_costs(rendered(None))


@pytest.mark.parametrize("scheduler", ["koordinator", "ack"])
def test_languages_without_distances_say_the_same_with_them(file: Path, scheduler: str) -> None:
    assert rendered(file, scheduler) == rendered(None, scheduler)


def refused(file: Path, own: View | None = None) -> str:
    """The condition's message; the firmware's distances are published beside it."""
    plain, rendering = rendered(None, own=own), rendered(file, own=own)
    (condition,) = rendering.conditions
    assert (condition.code, condition.subject) == ("measured-distances-unusable", str(file))
    assert rendering.manifests == plain.manifests
    assert condition.message.startswith(f"measuredDistances: {file}: ")
    assert "numa-agent measure -o distances" in condition.message
    return condition.message


def test_a_missing_file_costs_itself_alone(tmp_path: Path) -> None:
    assert "can't be read: No such file or directory" in refused(tmp_path / "none.json")
    assert "can't be read: Is a directory" in refused(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\xff\xfe", "it isn't UTF-8"),
        (b"{", "line 1, column"),
        (b'{"format": "other"}', "only numa-agent.distances/v1 is read"),
        (b" " * 300_000, "characters"),
    ],
)
def test_a_wrong_file_costs_itself_alone(file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    assert said in refused(file)


def test_another_machine_s_file_costs_itself_alone(file: Path) -> None:
    assert "it is of NUMA nodes 0-2, and this machine has 0-1" in refused(file, seen(nodes(0, 1)))
    assert "it is of a machine with A CPU" in refused(file, seen(model="Another"))


def test_a_stale_file_costs_itself_alone(file: Path) -> None:
    changed = seen(nodes(0, 1, memory=[2], distance=32))
    assert "were 10 21 21 when it was measured and are 10 32 32" in refused(file, changed)


def test_a_file_is_read_at_each_pass(file: Path) -> None:
    render = with_measured(config(file), language("kube-scheduler").publish)
    good = file.read_text()
    file.write_text("{")
    assert len(render(seen()).conditions) == 1
    file.write_text(good)
    assert render(seen()).conditions == ()
