"""What is listed by name is listed in the same order, where some names stay and others don't."""

import json
from pathlib import Path

import pytest

from tests.recording.machines import copied
from tests.recording.replay import answers, mapped_back, record

RESOURCES = ("acme.io/fpga", "nvidia.com/aaa", "nvidia.com/zzz", "zeta.io/nic")


def with_names(root: Path) -> Path:
    """Give the machine resources and interfaces of its own, among and around those of others."""
    path = root / "answers/node.json"
    node = json.loads(path.read_text())
    for key in ("capacity", "allocatable"):
        node["status"][key] |= dict.fromkeys(RESOURCES, "1")
    path.write_text(json.dumps(node))
    path = root / "answers/podresources.json"
    granted = json.loads(path.read_text())
    granted["allocatable"]["devices"] += [
        {"resource_name": name, "device_ids": [f"d{place}"], "topology": {"nodes": [{"ID": 0}]}}
        for place, name in enumerate(RESOURCES)
    ]
    path.write_text(json.dumps(granted))
    net = next(iter(sorted(root.glob("sys/devices/pci*/**/net"))))
    for name in ("acme0", "zeta0"):
        (net / name).mkdir()
    return root


def test_every_command_lists_the_same_in_the_same_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = with_names(copied("mig-mixed", tmp_path / "machine"))
    made = record(root, tmp_path)
    expected = answers(root, capsys)
    assert all(name in expected["kube-scheduler"] for name in RESOURCES)
    assert "zeta0" in expected["topology"]
    assert b"acme" not in made.raw
    found = answers(made.folder, capsys)
    plain = {key: mapped_back(text, made.names) for key, text in found.items()}
    assert {key: text.replace(".example/", "/") for key, text in plain.items()} == expected
