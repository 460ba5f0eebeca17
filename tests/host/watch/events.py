"""The events that the tests expect, in short."""

import os
from pathlib import Path

from numa_agent.host.watch import Event, Kind, Watch


def created(target: Path) -> Event:
    return Event(kind=Kind.CREATED, path=target.parent, name=target.name)


def gone(target: Path) -> Event:
    return Event(kind=Kind.GONE, path=target.parent, name=target.name)


def written(target: Path) -> Event:
    return Event(kind=Kind.WRITTEN, path=target.parent, name=target.name)


def lost(path: Path) -> Event:
    return Event(kind=Kind.OVERFLOW, path=path)


def write(path: Path, text: str) -> None:
    """Write as the kernel's cgroup files are written: one write, no new file."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def kernel_watches(watch: Watch) -> int:
    """How many watches the kernel holds for all inotify instances that a watch waits for."""
    files = Path("/proc/self/fdinfo")
    waited = (files / str(watch.fileno())).read_text().splitlines()
    numbers = [line.split()[1] for line in waited if line.startswith("tfd:")]
    return sum((files / number).read_text().count("inotify wd:") for number in numbers)
