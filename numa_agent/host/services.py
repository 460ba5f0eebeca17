"""Daemons that run on a machine: by their systemd service's cgroup, or by their process's name.

A service's cgroup is there while it runs, and is seen from a pod, where processes aren't:
https://systemd.io/CGROUP_DELEGATION/; names: https://man7.org/linux/man-pages/man5/proc_pid_comm.5.html
"""

import os
from collections.abc import Mapping
from pathlib import Path

from numa_agent.config import SERVICE_DIRS
from numa_agent.core.doctor.findings import Told

NAMES = ("irqbalance", "tuned")

_PROC = "proc"
_MOST_PROCESSES = 100_000
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def read_services(host_root: Path, *, absent: str, whole: bool) -> Told[Mapping[str, str]]:
    """Where each daemon of NAMES that runs was seen.

    Where none is seen they don't run, if services or processes can be seen at all and the machine
    is looked at `whole`.
    """
    found = _by_cgroup(host_root)
    processes, looked = _by_process(host_root)
    found = {**processes, **found}
    services = any((host_root / folder).is_dir() for folder in SERVICE_DIRS)
    source = "services and processes"
    if not found and not (whole and (services or looked)):
        return Told(source=source, why=absent)
    return Told(source=source, value=found)


def _by_cgroup(host_root: Path) -> dict[str, str]:
    places = ((name, f"{folder}/{name}.service") for folder in SERVICE_DIRS for name in NAMES)
    return {name: place for name, place in places if (host_root / place).is_dir()}


def _by_process(host_root: Path) -> tuple[dict[str, str], bool]:
    """What processes are called so, and whether any process was seen."""
    try:
        pids = [name for name in os.listdir(host_root / _PROC) if name.isdecimal()]
    except OSError:
        return {}, False
    found: dict[str, str] = {}
    seen = False
    for pid in sorted(pids, key=int)[:_MOST_PROCESSES]:
        name = _comm(host_root / _PROC / pid / "comm")
        seen = seen or name is not None
        if name in NAMES:
            found.setdefault(name, f"process {pid}")
    return found, seen


def _comm(path: Path) -> str | None:
    """A process's name, None where it has ended or is hidden."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        return os.read(descriptor, 64).decode("utf-8", "replace").rstrip("\n")
    except OSError:
        return None
    finally:
        os.close(descriptor)
