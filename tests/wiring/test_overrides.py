"""The operator's places of devices are read at the start, and hold as long as the agent runs."""

import json
from pathlib import Path

import pytest

from numa_agent.config import Config, ConfigError
from numa_agent.config.settings import SETTINGS
from numa_agent.wiring.sources import sources
from tests.recorded import machine


def overridden(path: Path) -> Config:
    root = machine("two-socket-8gpu")
    return Config(
        host_root=root,
        live_root=Path("/"),
        node_name=None,
        kubeconfig=None,
        locality_overrides=path,
    )


def test_a_file_that_changes_or_breaks_later_costs_a_running_agent_nothing(tmp_path: Path) -> None:
    path = tmp_path / "overrides.yaml"
    path.write_text("0000:00:00.0-ffff:ff:1f.7: 1\n")
    read = sources(overridden(path), lambda _: None, None).topology
    before = read()
    assert {tuple(each.device.nodes) for each in before.gpus} == {(1,)}
    for text in ("{", "", json.dumps({"devices": 3})):
        path.write_text(text)
        assert read() == before
    path.unlink()
    assert read() == before


def test_one_that_can_not_be_used_at_the_start_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "overrides.yaml"
    path.write_text("{")
    with pytest.raises(ConfigError):
        sources(overridden(path), lambda _: None, None)


def test_the_setting_says_so() -> None:
    (setting,) = (each for each in SETTINGS if each.key == "localityOverrides")
    assert "read at the start" in setting.meaning
