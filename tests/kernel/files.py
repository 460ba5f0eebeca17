"""The files of a group and what each of them says."""

from collections.abc import Iterable

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from tests.kernel.groups import Cpuset, Group, type_of
from tests.kernel.tree import Tree
from tests.kernel.writes import SETS

Texts = dict[str, str]
"""What each file says, by its name."""


def v2_texts(tree: Tree, group: Group) -> Texts:
    """The files of a group of cgroup v2."""
    texts = {
        "cgroup.controllers": _words(tree.controllers(group)),
        "cgroup.subtree_control": _words(tree.in_order(group.subtree_control)),
        "cgroup.procs": "" if group.threaded else _pids(task.pid for task in group.processes),
        "cgroup.threads": _pids(group.tasks),
    }
    if group.parent is not None:
        texts["cgroup.type"] = f"{type_of(group)}\n"
        texts["cgroup.events"] = f"populated {group.populated:d}\nfrozen 0\n"
    if group.cpuset is not None:
        texts["cpuset.cpus.effective"] = _list(group.cpuset.effective["cpus"])
        texts["cpuset.mems.effective"] = _list(group.cpuset.effective["mems"])
        if group.parent is not None:
            texts |= _configured(group.cpuset) | {"cpuset.cpus.partition": "member\n"}
    return texts


def v1_texts(group: Group) -> Texts:
    """The files of a group of cgroup v1."""
    pids = _pids(group.tasks)
    texts = {
        "tasks": pids,
        "cgroup.procs": pids,
        "cgroup.clone_children": f"{group.clone_children:d}\n",
    }
    if group.cpuset is not None:
        texts |= _configured(group.cpuset)
        texts["cpuset.effective_cpus"] = _list(group.cpuset.effective["cpus"])
        texts["cpuset.effective_mems"] = _list(group.cpuset.effective["mems"])
        texts["cpuset.memory_migrate"] = f"{group.cpuset.memory_migrate:d}\n"
    return texts


def _configured(cpuset: Cpuset) -> Texts:
    return {name: _list(cpuset.configured[kind]) for name, kind in SETS.items()}


def _list(ids: CpuSet) -> str:
    return f"{cpulist.render(ids)}\n"


def _words(words: tuple[str, ...]) -> str:
    return f"{' '.join(words)}\n" if words else ""


def _pids(pids: Iterable[int]) -> str:
    return "".join(f"{pid}\n" for pid in sorted(pids))
