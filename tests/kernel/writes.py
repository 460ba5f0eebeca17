"""What one write to each file of a group does."""

import errno
from collections.abc import Iterable

from tests.kernel.cpusets import MAX_NODES, Cpusets
from tests.kernel.groups import Cpuset, Group, Kind
from tests.kernel.lists import SPACE
from tests.kernel.refusals import refused
from tests.kernel.tree import Tree

PAGE = 4096
"""The most that one write may have, in bytes, unless the file says otherwise."""

MAX_CPUS = 8192
"""How many CPUs Debian's kernels are built for."""

LIMITS = {"cpuset.cpus": 100 + 6 * MAX_CPUS, "cpuset.mems": 100 + 6 * MAX_NODES}

SETS: dict[str, Kind] = {"cpuset.cpus": "cpus", "cpuset.mems": "mems"}
"""The files that one writes sets to."""


class Writer:
    """Does what users write to the files of one hierarchy's groups."""

    def __init__(self, tree: Tree, cpusets: Cpusets) -> None:
        self._tree = tree
        self._cpusets = cpusets

    def write(self, group: Group, cpuset: Cpuset | None, name: str, text: str) -> Iterable[Group]:
        """Write to a file that was opened when the group had `cpuset`.

        Returns the groups that this changes besides those that the cpusets know of. Raises
        OSError. A write of nothing succeeds and does nothing.
        """
        if len(text.encode()) > LIMITS.get(name, PAGE):
            raise refused(errno.E2BIG, name)
        if group.removed or (name.startswith("cpuset.") and cpuset is not group.cpuset):
            raise refused(errno.ENODEV, name)
        if not text:
            return ()
        if name in SETS:
            self._cpusets.write(group, SETS[name], text)
            return ()
        if name.startswith("cpuset."):
            return self._write_flag(group, cpuset, name, text)
        return self._write_core(group, name, text)

    def _write_core(self, group: Group, name: str, text: str) -> Iterable[Group]:
        match name:
            case "cgroup.procs" | "cgroup.threads" | "tasks":
                source = self._tree.write_procs(group, text, thread=name == "cgroup.threads")
                return {*around(source), *around(group)}
            case "cgroup.subtree_control":
                self._tree.write_subtree_control(group, text)
                return group.subtree
            case "cgroup.type":
                self._tree.write_type(group, text)
                return group.domain.subtree
            case "cgroup.clone_children":
                group.clone_children = _flag(text)
                return (group,)
        raise refused(errno.EINVAL, name)

    def _write_flag(
        self, group: Group, cpuset: Cpuset | None, name: str, text: str
    ) -> Iterable[Group]:
        if name == "cpuset.cpus.partition":
            raise NotImplementedError("this fake has no partitions")
        if name != "cpuset.memory_migrate" or cpuset is None:
            raise refused(errno.EINVAL, name)
        cpuset.memory_migrate = _flag(text)
        return (group,)


def around(group: Group) -> Iterable[Group]:
    """The groups whose files may tell that a task came to this one or left it."""
    yield from group.lineage
    if group.parent is not None:
        yield from group.subtree


def _flag(text: str) -> bool:
    text = text.strip(SPACE)
    if not text.isdecimal():
        raise refused(errno.EINVAL)
    return int(text) != 0
