"""Looking for the GPUs that processes have open, where host.cgroups.device_files looks for them.

Of all links in `/proc/PID/fd` only those to device files of GPUs are kept: the others' names tell
what a program works on. proc_pid_fd(5)
"""

from collections.abc import Collection, Iterable

from numa_agent.host.cgroups.device_files import MAX_FILES, MAX_PROCESSES, below_dev
from numa_agent.host.cgroups.mount import PROC_DIR
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.spots import Finds, FoundLink, spot_of
from numa_agent.host.recording.tree import Parts

_LIST_BYTES = 1 << 20
_MOST_LOOKED_INTO = 20_000
"""Processes of one machine."""


def find_open_gpus(finds: Finds, groups: Iterable[Parts], gpus: Collection[str]) -> None:
    """The links of processes in these cgroups to the device files of GPUs (`nvidia3`).

    As in a pass, of each cgroup the first processes are looked into, and of those the first files.
    """
    seen: set[str] = set()
    for group in groups if gpus else ():
        for process in _processes(finds, group):
            if process in seen:
                continue
            if len(seen) == _MOST_LOOKED_INTO:
                finds.leave_out(
                    spot_of(PROC_DIR), f"the files of over {_MOST_LOOKED_INTO} processes"
                )
                return
            seen.add(process)
            _find_links(finds, process, gpus)


def _find_links(finds: Finds, process: str, gpus: Collection[str]) -> None:
    real = (PROC_DIR, process, "fd")
    spot = spot_of(real)
    try:
        names, _ = finds.tree.names(real)
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot, str(error))
        return
    for name in sorted((each for each in names if _is_number(each)), key=int)[:MAX_FILES]:
        try:
            device = below_dev(finds.tree.link((*real, name)))
        except LeftOutError:  # closed meanwhile, or no link
            continue
        if device is not None and device in gpus:
            finds.add(FoundLink(spot.below(name), spot_of(("dev", device))))


def _processes(finds: Finds, group: Parts) -> list[str]:
    try:
        data = finds.tree.read((*group, "cgroup.procs"), _LIST_BYTES)
    except LeftOutError:
        return []
    lines = [line for line in data.split(b"\n") if line.isdigit() and len(line) < 12]
    return [str(int(line)) for line in lines[:MAX_PROCESSES]]


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 12
