"""What the kernel answers when one writes to cgroup files, and what holds for a process."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write(path: Path, text: str) -> str:
    """`"ok"`, or the name of the error that the kernel gives for one write of `text`."""
    try:
        file = os.open(path, os.O_WRONLY)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)
    except OSError as error:
        return _name(error)
    return "ok"


def remove(group: Path) -> str:
    """`"ok"`, or the name of the error that the kernel gives for removing a group."""
    try:
        group.rmdir()
    except OSError as error:
        return _name(error)
    return "ok"


def read(path: Path) -> str:
    """What a file says, without the line end."""
    return path.read_text().strip()


def wait_for_hotplug(root: Path) -> None:
    """Wait until the kernel has told all cpusets below `root` of CPUs that went or came.

    It does so in its own time; a write to one waits for what is still to be done of it.
    """
    waiting = root / "waiting"
    waiting.mkdir(exist_ok=True)
    write(waiting / "cpuset.cpus", "0")


def cpus_allowed(pid: int) -> str:
    """The list of CPUs that a process may run on."""
    return _status(pid, "Cpus_allowed_list")


def mems_allowed(pid: int) -> str:
    """The list of nodes that a process may take memory from."""
    return _status(pid, "Mems_allowed_list")


@contextmanager
def sleeper() -> Iterator[int]:
    """A process that does nothing, by its pid, until the end of the block."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _name(error: OSError) -> str:
    return errno.errorcode[error.errno or 0]


def _status(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [value] = (line.split(":")[1].strip() for line in lines if line.startswith(f"{field}:"))
    return value
