"""The list of what is recorded against what the kernel sees a pass open."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from numa_agent.cli import main
from numa_agent.core.recording import rules
from numa_agent.core.recording.rules import Entry, File, Folder
from numa_agent.host.recording.machine import FILES, PLACES
from tests.opens import counted_opens
from tests.recorded import MACHINES
from tests.recording.machines import copied, other_spellings, whole_machine
from tests.recording.replay import COMMANDS, record

ONCE = ("run", "--once", "-o", "json")
SUITE = (*(COMMANDS[name] for name in ("plan", "verify") if name in COMMANDS), ONCE)
"""`topology` and `render` read a part of it."""


def opened_by_a_pass(root: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """What is opened by every command that takes a pass or a part of it; the last one writes."""
    found: set[str] = set()
    for command in SUITE:
        with counted_opens(root) as opened:
            main([*command, "--host-root", str(root)])
        capsys.readouterr()
        found.update(opened)
    return {path for path in found if not path.startswith("expected/")}


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_whatever_a_pass_opens_is_in_the_recording(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    shutil.copytree(folder, root, symlinks=True)
    made = record(root, tmp_path, keep_names=True)
    opened = opened_by_a_pass(root, capsys)
    assert "sys/devices/system/cpu/online" in opened
    assert opened - made.paths == set()


def test_whatever_a_pass_opens_of_a_live_machine_s_files_is_in_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = whole_machine(tmp_path / "machine")
    made = record(root, tmp_path, keep_names=True)
    opened = opened_by_a_pass(root, capsys)
    assert {"proc/self/status", "proc/self/mountinfo"} <= opened
    assert any(path.endswith("cpu.max") for path in opened)
    assert opened - made.paths == set()


def files_of(entries: tuple[Entry, ...], above: str) -> Iterator[str]:
    """Each file of the rules, as an expression for its path."""
    for entry in entries:
        if isinstance(entry, File):
            yield above + re.escape(entry.name)
        elif isinstance(entry, Folder):
            name = entry.name if isinstance(entry.name, str) else entry.name.pattern
            yield from files_of(entry.within, f"{above}{name}/")


GROUPS = (*rules.CONTROLLERS, *rules.SETS, *rules.POPULATED, *rules.POD, *rules.QUOTA)


def expressions() -> set[str]:
    found = {re.escape(path) for path in FILES}
    for place, entries in PLACES.items():
        found |= set(files_of(entries, f"{re.escape(place)}/"))
    found |= set(files_of(rules.PCI, r"sys/devices/pci[^/]*/(?:[^/]*/)*"))
    return found | set(files_of(GROUPS, r"sys/fs/cgroup/(?:.*/)?"))


ONLY_LIVE = {
    re.escape(path) for path in ("proc/driver/nvidia/version", "proc/sys/kernel/random/boot_id")
}
"""Read where NVML and the API server are live, which no recorded machine's are."""


def test_every_file_that_is_recorded_is_one_that_some_pass_opens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: set[str] = set()
    for root in machines(tmp_path):
        opened |= opened_by_a_pass(root, capsys)
    idle = {each for each in expressions() if not any(re.fullmatch(each, p) for p in opened)}
    assert idle == ONLY_LIVE


def machines(folder: Path) -> Iterator[Path]:
    yield whole_machine(folder / "whole")
    yield copied("gb200-like", folder / "gb200-like")
    yield from other_spellings(folder)
