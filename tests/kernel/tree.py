"""Making, removing, filling and configuring groups, with the kernel's refusals.

https://docs.kernel.org/admin-guide/cgroup-v2.html#basic-operations
"""

import errno
import re

from tests.kernel.cpusets import Cpusets
from tests.kernel.groups import (
    THREADED,
    Group,
    Task,
    can_be_thread_root,
    is_thread_root,
    is_valid_domain,
    nearest_cpuset,
)
from tests.kernel.lists import SPACE
from tests.kernel.refusals import refused

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*")

_LONGEST = 100


class Tree:
    """The groups of one hierarchy and the tasks in them."""

    def __init__(
        self, root: Group, cpusets: Cpusets, controllers: tuple[str, ...], *, v2: bool
    ) -> None:
        self.root = root
        self._cpusets = cpusets
        self._controllers = controllers
        self._v2 = v2
        self._places: dict[int, Group] = {}

    def find(self, path: str) -> Group:
        """The group at a path from the root. Raises OSError with ENOENT."""
        group = self.root
        for name in (part for part in path.split("/") if part):
            if name not in group.children:
                raise refused(errno.ENOENT, path)
            group = group.children[name]
        return group

    def mkdir(self, path: str) -> Group:
        """A new group. Raises OSError with EEXIST, ENOENT or EINVAL."""
        above, _, name = path.strip("/").rpartition("/")
        parent = self.find(above)
        if not name or name in parent.children:
            raise refused(errno.EEXIST, path)
        if "\n" in name:
            raise refused(errno.EINVAL, path)
        group = Group(name, parent, clone_children=parent.clone_children)
        parent.children[name] = group
        if not self._v2 or "cpuset" in parent.subtree_control:
            self._cpusets.enable(group, nearest_cpuset(parent)[1])
        return group

    def rmdir(self, path: str) -> Group:
        """The group that was there. Raises OSError with ENOENT or EBUSY."""
        group = self.find(path)
        if group.parent is None or group.tasks or group.children:
            raise refused(errno.EBUSY, path)
        del group.parent.children[group.name]
        group.removed = True
        return group

    def controllers(self, group: Group) -> tuple[str, ...]:
        """What `cgroup.controllers` says."""
        if group.parent is None:
            return self._controllers
        there = group.parent.subtree_control
        return self.in_order(there & THREADED if group.threaded else there)

    def in_order(self, names: frozenset[str]) -> tuple[str, ...]:
        """Controllers in the order in which the kernel lists them."""
        return tuple(name for name in self._controllers if name in names)

    def start(self, pid: int) -> None:
        """Start a task in the root group."""
        self.root.tasks[pid] = self._cpusets.new_task(pid)
        self._places[pid] = self.root

    def exit(self, pid: int) -> Group:
        """End a task, and give the group that it was in. Raises OSError with ESRCH."""
        group, _ = self.task(pid)
        del group.tasks[pid], self._places[pid]
        return group

    def knows(self, pid: int) -> bool:
        """Whether there is such a task."""
        return pid in self._places

    def task(self, pid: int) -> tuple[Group, Task]:
        """A task and its group. Raises OSError with ESRCH."""
        if pid not in self._places:
            raise refused(errno.ESRCH)
        return self._places[pid], self._places[pid].tasks[pid]

    def write_procs(self, group: Group, text: str, *, thread: bool = False) -> Group:
        """Move the task whose pid a user writes, and give the group that it was in.

        `thread` is whether this is `cgroup.threads`. Raises OSError.
        """
        source, task = self.task(_pid(text))
        if self._v2:
            _check_target(group)
            if thread and source.domain is not group.domain:
                raise refused(errno.EOPNOTSUPP)
        self.move(task, source, group)
        return source

    def move(self, task: Task, source: Group, target: Group) -> None:
        """Move a task. Raises OSError with ENOSPC when the target's cpuset is empty."""
        if source is target:
            return
        self._cpusets.check_attach(target)
        del source.tasks[task.pid]
        target.tasks[task.pid] = task
        self._places[task.pid] = target
        self._cpusets.attached(task, source, target)

    def rescue(self, group: Group) -> Group:
        """The nearest group above with CPUs and nodes, to which the tasks have been moved (v1)."""
        for above in group.lineage:
            if above.cpuset is not None and all(above.cpuset.configured.values()):
                for task in list(group.tasks.values()):
                    self.move(task, group, above)
                return above
        raise AssertionError("the root group is empty")

    def write_type(self, group: Group, text: str) -> None:
        """Make a group threaded. Raises OSError with EINVAL or EOPNOTSUPP."""
        if text.strip(SPACE) != "threaded":
            raise refused(errno.EINVAL)
        if group.threaded or group.parent is None:
            return
        domain = group.parent.domain
        if group.populated or group.subtree_control - THREADED:
            raise refused(errno.EOPNOTSUPP)
        if not is_valid_domain(domain) or not can_be_thread_root(domain):
            raise refused(errno.EOPNOTSUPP)
        group.threaded = True

    def write_subtree_control(self, group: Group, text: str) -> None:
        """Enable (`+cpuset`) and disable (`-cpuset`) controllers for the children of a group.

        Raises OSError with EINVAL, ENOENT, EBUSY or EOPNOTSUPP.
        """
        wanted = self._signs(text)
        there = self.controllers(group)
        plus, minus = set(), set()
        for name in self.in_order(frozenset(wanted)):
            if wanted[name] and name not in group.subtree_control:
                if name not in there:
                    raise refused(errno.ENOENT)
                plus.add(name)
            if not wanted[name] and name in group.subtree_control:
                if any(name in child.subtree_control for child in group.children.values()):
                    raise refused(errno.EBUSY)
                minus.add(name)
        if plus:
            _check_enable(group, plus)
        group.subtree_control = group.subtree_control - minus | plus
        for child in group.children.values():
            if "cpuset" in plus:
                self._cpusets.enable(child, nearest_cpuset(group)[1])
            if "cpuset" in minus:
                self._cpusets.disable(child)

    def _signs(self, text: str) -> dict[str, bool]:
        wanted = {}
        for token in text.strip(SPACE).split(" "):
            if token and (token[1:] not in self._controllers or token[0] not in "+-"):
                raise refused(errno.EINVAL)
            if token:
                wanted[token[1:]] = token[0] == "+"
        return wanted


def _check_target(group: Group) -> None:
    """No processes between controllers: raises OSError with EOPNOTSUPP or EBUSY."""
    if not is_valid_domain(group.domain):
        raise refused(errno.EOPNOTSUPP)
    if not (can_be_thread_root(group) or group.threaded) and group.subtree_control:
        raise refused(errno.EBUSY)


def _check_enable(group: Group, names: set[str]) -> None:
    if not is_valid_domain(group.domain):
        raise refused(errno.EOPNOTSUPP)
    if group.parent is None:
        return
    if names - THREADED:
        if group.threaded or is_thread_root(group):
            raise refused(errno.EOPNOTSUPP)
    elif can_be_thread_root(group) or group.threaded:
        return
    if group.tasks:
        raise refused(errno.EBUSY)


def _pid(text: str) -> int:
    """The pid that a text names, in decimal or with C's marks of other bases."""
    text = text.strip(SPACE).removeprefix("+")
    if _NUMBER.fullmatch(text) is None or len(text) > _LONGEST:
        raise refused(errno.EINVAL)
    pid = int(text, 8 if text.startswith("0") and text.isdecimal() else 0)
    if pid >= 2**31:
        raise refused(errno.EINVAL)
    return pid
