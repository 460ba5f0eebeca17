"""The DaemonSet's container: what it sees is enough, what it doesn't need it doesn't see."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from tests.manifests.conftest import Build
from tests.manifests.container import Container
from tests.manifests.installing import AGENT, STATE
from tests.manifests.objects import named
from tests.recorded import MACHINES


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: str(path.name))
def test_a_machine_seen_through_the_mounts_is_the_machine(
    machine: Path, built: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a recorded machine only what the GPU nodes' pod has mounted is there."""
    daemon_set = named(built("overlays/gpu"), "DaemonSet", "numa-agent-gpu")
    volumes = daemon_set["spec"]["template"]["spec"]["volumes"]
    paths = [each["hostPath"]["path"] for each in volumes if "hostPath" in each]
    seen = tmp_path / machine.name
    for path in (*paths, "recorded.yaml", "answers"):
        _copy(machine / path.lstrip("/"), seen / path.lstrip("/"))
    found = []
    for root in (machine, seen):
        assert main(["topology", "--host-root", str(root), "-o", "json"]) == 0
        found.append(capsys.readouterr().out.replace(str(root), "ROOT"))
    assert found[0] == found[1]


def _copy(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True)
    elif source.exists():
        shutil.copy(source, place)


def test_the_container_reads_this_machine_as_it_is(
    box: Container, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["topology", "--nvml", "off", "-o", "json"]
    assert main(words) == 0
    outside = json.loads(capsys.readouterr().out)
    config = ["--config", "/etc/numa-agent/config.yaml"]
    inside = json.loads(box.run([*AGENT, *words, *config]))
    assert _without_free(inside) == _without_free(outside)


def _without_free(topology: Any) -> str:
    """The map without the counts that change between two looks, and without its root."""
    text = json.dumps(topology, sort_keys=True).replace("/host/", "/")
    return re.sub(r'"free[a-z_]*": \d+', "", text)


def test_it_writes_cgroups_and_its_lock_and_nothing_else(box: Container, tmp_path: Path) -> None:
    seen = json.loads(box.run([sys.executable, str(Path(__file__).with_name("look.py"))]))
    assert set(seen["capabilities"]) == {"0" * 16}
    cgroups = "/host/sys/fs/cgroup"
    written = {path for path in seen["writable"] if not path.startswith(cgroups)}
    assert written == {"/host/run/numa-agent"}
    assert cgroups in seen["writable"]
    assert seen["secrets"] == []
    assert seen["state"] == STATE
    assert (tmp_path / "run" / "made").exists()
