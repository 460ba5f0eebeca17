"""A live machine's NVML, through the real binding over a fake library, as a recording has it."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.nvml.answers import document_of
from tests.nvml.library import build, write
from tests.recorded import ROOT, machine


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


def agent(*words: str, library: Path, answers: Path) -> "subprocess.CompletedProcess[str]":
    """The command line in a process of its own, which finds the library as any process does."""
    environment = {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_FILE": str(answers)}
    return subprocess.run(
        [sys.executable, "-m", "numa_agent", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", ["two-socket-8gpu", "mig-mixed", "lost-gpu", "gb200-like"])
def test_the_map_of_the_recording_is_the_live_one(
    name: str, library: Path, tmp_path: Path
) -> None:
    root = tmp_path / "live"
    shutil.copytree(machine(name), root, symlinks=True)
    (root / "recorded.yaml").unlink()
    shutil.rmtree(root / "answers")
    answers = tmp_path / "nvml.txt"
    write(answers, document_of(name))
    settings = tmp_path / "config.yaml"
    settings.write_text(f"hostRoot: {root}\nliveRoot: {root}\npodresources: off\n")
    out = tmp_path / "out.tar"
    made = agent(
        *("record", str(out), "--keep-names", "--config", str(settings)),
        library=library,
        answers=answers,
    )
    # The API server can't be asked here, and that is said.
    assert made.returncode == 1
    assert "answers/pods.json" not in made.stdout
    assert "set --node-name" in made.stderr
    with tarfile.open(out) as tar:
        tar.extractall(tmp_path, filter="data")
    live = agent(
        "topology", "-o", "json", "--config", str(settings), library=library, answers=answers
    )
    folder = str(tmp_path / "recorded-machine")
    replayed = agent(
        "topology", "-o", "json", "--host-root", folder, library=library, answers=answers
    )
    assert '"driver": "nvidia"' in live.stdout
    assert replayed.stdout == live.stdout
