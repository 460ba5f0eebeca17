"""The recorded machines of the project."""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MACHINES = sorted(path.parent for path in (ROOT / "fixtures" / "sysfs").glob("*/recorded.yaml"))


def machine(name: str) -> Path:
    """The folder of one recorded machine."""
    return ROOT / "fixtures" / "sysfs" / name


def copied(machine: Path, root: Path) -> Path:
    """A copy of a recorded machine in a folder that isn't there yet, to be written to.

    All but the files of its CPUs, which are the most of all: those are linked to one copy for all
    tests, and nobody may write to them in their place. `spoilt` says who did.
    """
    shutil.copytree(_shared(machine), root, symlinks=True, copy_function=_copied_file)
    return root


def spoilt() -> list[str]:
    """The files of the shared copies that somebody wrote to."""
    return [
        str(file)
        for machine, shared in _SHARED.items()
        for file in shared.rglob("*")
        if not file.is_symlink()
        and file.is_file()
        and file.stat().st_mtime_ns != (machine / file.relative_to(shared)).stat().st_mtime_ns
    ]


_SHARED: dict[Path, Path] = {}


def _shared(machine: Path) -> Path:
    if machine not in _SHARED:
        folder = Path(tempfile.mkdtemp(prefix="numa-agent-machine-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _SHARED[machine] = Path(shutil.copytree(machine, folder / machine.name, symlinks=True))
    return _SHARED[machine]


def _copied_file(source: str, target: str) -> None:
    if "/sys/devices/system/cpu/cpu" in source:
        with suppress(OSError):  # on another file system
            os.link(source, target)
            return
    shutil.copy2(source, target)
