"""The agent's settings in a recording: those that change a pass, as the file that says so."""

from pathlib import Path

import pytest

from numa_agent.config import KEYS, load
from numa_agent.wiring.recording.settings import NOT_REPLAYED, REPLAYED
from tests.recorded import machine
from tests.recording.replay import COMMANDS, answers, mapped_back, record

EVERYTHING = """\
scheduler: ack
topologyPolicy: restricted
topologyScope: pod
podFingerprint: with-exclusive-resources
podFingerprintPods: Shared
memoryZones: "on"
mems: migrate
sharedPods: leave
cpuQuota: lift
nvml: "off"
podresources: "off"
kubeletConfig: configz
trustedManagers: [koord-scheduler]
"""
DISTANCES = """\
{"format": "numa-agent.distances/v1", "measured_at": "acme-lab", "by": "latency",
 "cpu_model": "%s", "nodes": {
 "0": {"firmware": "10 21", "distances": "10 14"},
 "1": {"firmware": "10 21", "distances": "14 10"}}}
"""


def test_each_setting_is_replayed_or_said_not_to_be() -> None:
    assert set(KEYS) == REPLAYED | NOT_REPLAYED
    assert set() == REPLAYED & NOT_REPLAYED


def test_what_was_set_is_set_by_the_recording_s_file(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(EVERYTHING)
    flags = {"hostRoot": str(machine("two-socket-8gpu"))}
    config = load(file, flags, {})
    made = record(config.host_root, tmp_path, config=config)
    assert load(made.folder / "settings.yaml", flags, {}) == config
    assert made.text("settings.yaml").count("\n") == EVERYTHING.count("\n")


def test_nothing_set_makes_no_file(tmp_path: Path) -> None:
    assert "settings.yaml" not in record(machine("single-node"), tmp_path).paths


@pytest.mark.parametrize("model", ["Intel(R) Xeon(R) Gold 5118", "ACME Secret"])
def test_files_that_settings_name_come_along(
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = machine("two-socket-8gpu")
    distances, overrides = tmp_path / "acme-distances.json", tmp_path / "acme-overrides.yaml"
    distances.write_text(DISTANCES % model)
    overrides.write_text("0000:1b:00.0: 1\n0000:d1:00.0-0000:ff:1f.7: 0\n")
    file = tmp_path / "config.yaml"
    file.write_text(f"measuredDistances: {distances}\nlocalityOverrides: {overrides}\n")
    config = load(file, {"hostRoot": str(root)}, {})
    made = record(root, tmp_path, config=config)
    assert b"acme" not in made.raw.lower()
    expected = answers(root, capsys, COMMANDS, "--config", str(file))
    monkeypatch.chdir(made.folder)
    found = answers(made.folder, capsys, COMMANDS, "--config", "settings.yaml")
    assert {
        key: mapped_back(text, made.names).replace("distances.json", str(distances))
        for key, text in found.items()
    } == expected


def test_distances_that_can_t_be_used_are_so_in_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine("two-socket-8gpu")
    file = tmp_path / "config.yaml"
    file.write_text(f"measuredDistances: {tmp_path}/nowhere.json\n")
    made = record(root, tmp_path, config=load(file, {"hostRoot": str(root)}, {}))
    monkeypatch.chdir(made.folder)
    render = {"render": ("render", "-o", "json")}
    found = answers(made.folder, capsys, render, "--config", "settings.yaml")
    assert "distances.json" in found["render"] + made.text("settings.yaml")
    assert made.text("distances.json") == "{}\n"
