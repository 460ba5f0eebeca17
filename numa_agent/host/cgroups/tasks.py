"""Where each task of a cgroup may run and take memory, as the kernel says of the task itself.

proc_pid_status(5), `Cpus_allowed_list` and `Mems_allowed_list`; a mask of the task's own
(sched_setaffinity(2)) may make it smaller than its cgroup's set.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from numa_agent.core import cpulist
from numa_agent.core.cgroups import TaskAllowed, TasksAllowed
from numa_agent.core.cpulist import CpuSet
from numa_agent.host.cgroups.folder import Folder, read_file

MAX_TASKS = 4096
"""Tasks of one cgroup whose masks are read."""

_LIST_LIMIT = 1 << 20
_STATUS_LIMIT = 1 << 17
_PROCESSES = "cgroup.procs"
_ALLOWED = re.compile(r"^(Cpus|Mems)_allowed_list:[ \t]*([^\n]*)$", re.MULTILINE)
_NAMESPACES = re.compile(r"^NSpid:[ \t]*(.*)$", re.MULTILINE)


def read_allowed(folder: Folder, threads: str, proc: Path) -> TasksAllowed:
    """The masks of a cgroup's tasks; `threads` is the file that lists them, `proc` their procfs.

    Raises OSError when the cgroup's list of tasks can't be read.
    """
    listed = list(_listed(folder, threads))
    ids = sorted({task for task in listed if task > 0})
    foreign = listed.count(0)
    if not same_namespace(proc):
        return TasksAllowed(tasks=(), unseen=foreign + len(ids))
    tasks: list[TaskAllowed] = []
    missing: set[int] = set()
    for task in ids[:MAX_TASKS]:
        allowed = _allowed(proc, task)
        if allowed is None:
            missing.add(task)
        else:
            tasks.append(allowed)
    # A task that has ended is in the list no more; one that still is there is hidden from us.
    hidden = missing.intersection(_listed(folder, threads)) if missing else ()
    unseen = foreign + len(hidden) + max(0, len(ids) - MAX_TASKS)
    return TasksAllowed(tasks=tuple(tasks), unseen=unseen)


def processes_of(folder: Folder) -> list[int]:
    """The processes in a cgroup, 0 for each of another PID namespace. Raises OSError."""
    lines = folder.lines(_PROCESSES, _LIST_LIMIT)
    return [int(line) for line in lines if line.isdigit() and len(line) < 12]


def _listed(folder: Folder, threads: str) -> Iterator[int]:
    # A group of threads (`cgroup.type` threaded) has no list of processes: that reads ENOTSUP.
    try:
        lines = folder.lines(threads, _LIST_LIMIT)
    except FileNotFoundError:
        lines = folder.lines(_PROCESSES, _LIST_LIMIT)
    return (int(line) for line in lines if line.isdigit() and len(line) < 12)


def _allowed(proc: Path, task: int) -> TaskAllowed | None:
    text = _status(proc / str(task))
    if text is None:
        return None
    lists = dict(_ALLOWED.findall(text))
    return TaskAllowed(id=task, cpus=_set(lists.get("Cpus")), mems=_set(lists.get("Mems")))


def same_namespace(proc: Path) -> bool:
    """Whether the ids that the kernel tells this process are those of that procfs.

    A process of a nested PID namespace reads its own ids, which there are those of others. In a
    recorded machine's procfs this process isn't.
    """
    if not proc.is_dir():
        return False
    own = _status(proc / "self")
    match = None if own is None else _NAMESPACES.search(own)
    return match is None or len(match[1].split()) == 1


def _status(task: Path) -> str | None:
    try:
        return read_file(task / "status", _STATUS_LIMIT).decode("utf-8", "replace")
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _set(text: str | None) -> CpuSet | None:
    if not text:
        return None
    try:
        return cpulist.parse(text)
    except ValueError:
        return None
