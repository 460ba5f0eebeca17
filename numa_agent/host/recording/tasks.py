"""Looking for the tasks of containers, of which procfs says where they may run."""

from collections.abc import Collection, Iterable, Sequence

from numa_agent.core.recording import contents
from numa_agent.host.cgroups.memory import MAX_PROCESSES
from numa_agent.host.cgroups.mount import PROC_DIR
from numa_agent.host.cgroups.tasks import MAX_TASKS
from numa_agent.host.recording.account import Account
from numa_agent.host.recording.open_files import find_open_gpus
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.spots import Finds, FoundFile, spot_of
from numa_agent.host.recording.tree import Parts

_LISTED = ("cgroup.threads", "tasks", "cgroup.procs")
_MOST_TASKS = 20_000
_LIST_BYTES = 1 << 20


def find_tasks(
    finds: Finds,
    containers: Sequence[Sequence[Parts]],
    account: Account,
    gpu_files: Collection[str],
) -> None:
    """The tasks of containers, where this process and they are of one namespace.

    A container is its cgroup and then those in it. `gpu_files` are the GPUs' names below /dev.
    """
    own = _real(finds, (PROC_DIR, "self", "status"))
    if own is not None:
        finds.add(FoundFile(spot_of((PROC_DIR, "self", "status")), own, contents.namespaces))
        if _is_nested(finds, own):
            return
    find_open_gpus(finds, (each for container in containers for each in container), gpu_files)
    seen: set[int] = set()
    for container in containers:
        if not all(_find_statuses(finds, parts, seen) for parts in container):
            return
        if account.lacks(finds.tree, container[0]):
            _find_maps(finds, container)


def _find_statuses(finds: Finds, parts: Parts, seen: set[int]) -> bool:
    """The masks of a cgroup's tasks; whether that is not too many of all."""
    for task in _listed(finds, parts):
        if task in seen:
            continue
        if len(seen) == _MOST_TASKS:
            finds.leave_out(spot_of(PROC_DIR), f"over {_MOST_TASKS} tasks: the others")
            return False
        seen.add(task)
        real = (PROC_DIR, str(task), "status")
        if finds.tree.exists(real):
            finds.add(FoundFile(spot_of(real), real, contents.allowed))
    return True


def _find_maps(finds: Finds, container: Iterable[Parts]) -> None:
    """The page tables of a container's processes, which `verify` reads without an account.

    It reads those of at most so many, so that of more none is wanted.
    """
    processes = sorted(
        {each for parts in container for each in _listed(finds, parts, ("cgroup.procs",))}
    )
    for process in processes if len(processes) <= MAX_PROCESSES else ():
        real = (PROC_DIR, str(process), "numa_maps")
        if finds.tree.exists(real):
            finds.add(FoundFile(spot_of(real), real, contents.numa_maps))


def _real(finds: Finds, parts: Parts) -> Parts | None:
    try:
        return finds.tree.resolve(parts)
    except LeftOutError:
        return None


def _is_nested(finds: Finds, own: Parts) -> bool:
    try:
        lines = contents.namespaces_of(finds.tree.read(own, _LIST_BYTES))
    except LeftOutError:
        return False
    return lines > 1


def _listed(finds: Finds, parts: Parts, names: Sequence[str] = _LISTED) -> list[int]:
    """The tasks of a cgroup, each once."""
    for name in names:
        try:
            data = finds.tree.read((*parts, name), _LIST_BYTES)
        except LeftOutError:
            continue
        numbers = {int(line) for line in data.split(b"\n") if line.isdigit() and len(line) < 12}
        return sorted(number for number in numbers if number > 0)[:MAX_TASKS]
    return []
