"""A recording that somebody else sends may hold anything, and costs nobody time or memory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recording.machines import copied
from tests.recording.replay import answers

COMMANDS = {"plan": ("plan", "-o", "json"), "doctor": ("doctor", "-o", "json")}
BOOT_ID = "proc/sys/kernel/random/boot_id"


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 33)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [os.mkfifo, endless, huge, Path.mkdir])
@pytest.mark.parametrize("name", ["answers/pods.json", "answers/node.json", BOOT_ID])
def test_what_is_no_plain_file_is_a_source_that_fails(
    name: str, make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = copied("single-node", tmp_path / "machine")
    path = root / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    found = answers(root, capsys, COMMANDS)
    assert set(found) == set(COMMANDS)
    assert name == BOOT_ID or any(word in found["plan"] for word in (f"{name}: ", "not a file"))
