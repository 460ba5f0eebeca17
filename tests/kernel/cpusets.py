"""What a write, an attach and a CPU that goes or comes do to sets and tasks.

v2: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset, v1:
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html. The order of the checks, and so which
error a write with two faults gets, is the kernel's.
"""

import errno

from numa_agent.core.cpulist import CpuSet
from tests.kernel.groups import KINDS, Cpuset, Group, Kind, Task, nearest_cpuset
from tests.kernel.lists import SPACE, ListParser
from tests.kernel.refusals import refused
from tests.kernel.versions import Rules

MAX_NODES = 1024
"""How many memory nodes Debian's kernels are built for."""


class Cpusets:
    """The cpuset controller of one hierarchy. It adds the groups it changes to `touched`."""

    def __init__(
        self,
        root: Group,
        rules: Rules,
        *,
        v2: bool,
        online: CpuSet,
        possible: CpuSet,
        mems: CpuSet,
        possible_mems: CpuSet,
    ) -> None:
        self.online = online
        self.touched: set[Group] = set()
        self._root = root
        self._rules = rules
        self._v2 = v2
        self._possible = possible
        self._parsers = {
            "cpus": ListParser(bits=max(possible) + 1, words=rules.words),
            "mems": ListParser(bits=MAX_NODES, words=rules.words),
        }
        written: dict[Kind, CpuSet] = {"cpus": online, "mems": mems}
        allowed: dict[Kind, CpuSet] = {"cpus": possible, "mems": possible_mems}
        self._top = Cpuset(configured=allowed if v2 else written, effective=dict(written))
        root.cpuset = self._top

    def new_task(self, pid: int) -> Task:
        """A task of the root group that may use everything."""
        return Task(pid, self._possible, self._top.effective["mems"])

    def enable(self, group: Group, parent: Cpuset) -> None:
        """Give a group a cpuset, and its tasks what is then in force."""
        tasks = list(group.confined_tasks)
        group.cpuset = Cpuset()
        if self._v2:
            group.cpuset.effective = dict(parent.effective)
        if group.clone_children:
            group.cpuset.configured = dict(parent.configured)
            group.cpuset.effective = dict(parent.effective)
        self._attached(tasks, parent, group, group.cpuset)

    def disable(self, group: Group) -> None:
        """Take a group's cpuset and all that was written in it."""
        lost = group.cpuset
        tasks = list(group.confined_tasks)
        group.cpuset = None
        if lost is not None:
            self._attached(tasks, lost, *nearest_cpuset(group))

    def write(self, group: Group, kind: Kind, text: str) -> None:
        """Take what a user writes to `cpuset.cpus` or `cpuset.mems`. Raises OSError."""
        cpuset = group.cpuset
        if cpuset is None or cpuset is self._top:
            raise refused(errno.EACCES)
        text = text.strip(SPACE)
        wanted = self._parsers[kind].parse(text)
        if not wanted <= self._top.configured[kind]:
            raise refused(errno.EINVAL)
        if wanted == cpuset.configured[kind]:
            return
        self._check(group, cpuset, {**cpuset.configured, kind: wanted})
        cpuset.configured[kind] = wanted
        self.touched.add(group)
        self._spread(group, cpuset, kind)

    def check_attach(self, target: Group) -> None:
        """Raises OSError when a group can't take a task for its cpuset's sake."""
        _, cpuset = nearest_cpuset(target)
        if not self._v2 and not all(cpuset.configured.values()):
            raise refused(errno.ENOSPC)

    def attached(self, task: Task, source: Group, target: Group) -> None:
        """Give a task that moved what is in force where it is now."""
        _, before = nearest_cpuset(source)
        holder, now = nearest_cpuset(target)
        if now is not before:
            self._attached([task], before, holder, now)

    def ask(self, task: Task, group: Group, cpus: CpuSet) -> None:
        """What sched_setaffinity(2) does. Raises OSError with EINVAL."""
        holder, cpuset = nearest_cpuset(group)
        allowed = self._given(holder, cpuset)
        if not self._rules.remembers_affinity and holder is self._root:
            allowed &= self.online
        if not cpus & allowed & self.online:
            raise refused(errno.EINVAL)
        task.cpus = cpus & allowed
        task.asked = cpus if self._rules.remembers_affinity else None

    def set_online(self, online: CpuSet) -> list[Group]:
        """Take CPUs away or give them back. On v1, the groups that now can't hold tasks."""
        self.online = online
        self._top.effective["cpus"] = online
        if not self._v2:
            self._top.configured["cpus"] = online
        self.touched.add(self._root)
        emptied = []
        for group in self._root.subtree:
            if group is not self._root and group.cpuset is not None:
                self._follow(group, group.cpuset)
                if not self._v2 and not all(group.cpuset.configured.values()):
                    emptied.append(group)
        return emptied

    def _follow(self, group: Group, cpuset: Cpuset) -> None:
        """Do to one group what the machine's CPUs and its parent's sets now ask for."""
        parent = _parent(group)
        new = {kind: cpuset.configured[kind] & parent.effective[kind] for kind in KINDS}
        changed = [kind for kind in KINDS if new[kind] != cpuset.effective[kind]]
        for kind in changed:
            if self._v2:
                cpuset.effective[kind] = new[kind] or parent.effective[kind]
            else:
                cpuset.effective[kind] = cpuset.configured[kind] = new[kind]
            self.touched.add(group)
            if cpuset.effective[kind]:
                self._confine_all(group, cpuset, kind)

    def _check(self, group: Group, cpuset: Cpuset, trial: dict[Kind, CpuSet]) -> None:
        if not self._v2 or self._rules.parent_holds_children:
            for child in group.cpuset_children:
                if child.cpuset is not None and not _within(child.cpuset.configured, trial):
                    raise refused(errno.EBUSY)
        if not self._v2 and not _within(trial, _parent(group).configured):
            raise refused(errno.EACCES)
        emptied = any(cpuset.configured[kind] and not trial[kind] for kind in KINDS)
        if emptied and group.populated:
            raise refused(errno.ENOSPC)

    def _spread(self, group: Group, cpuset: Cpuset, kind: Kind) -> None:
        """Put in force what is now written here or in force above, as far down as it matters."""
        parent = _parent(group).effective[kind]
        effective = cpuset.configured[kind] & parent
        if self._v2:
            effective = effective or parent
        if effective == cpuset.effective[kind]:
            return
        cpuset.effective[kind] = effective
        self.touched.add(group)
        self._confine_all(group, cpuset, kind)
        for child in group.cpuset_children:
            if child.cpuset is not None:
                self._spread(child, child.cpuset, kind)

    def _confine_all(self, group: Group, cpuset: Cpuset, kind: Kind) -> None:
        for task in group.confined_tasks:
            if kind == "mems":
                task.mems = cpuset.effective["mems"]
            else:
                self._confine(task, cpuset.effective["cpus"])

    def _confine(self, task: Task, cpus: CpuSet) -> None:
        task.cpus = (task.asked and task.asked & cpus) or cpus

    def _attached(self, tasks: list[Task], before: Cpuset, holder: Group, now: Cpuset) -> None:
        same = self._v2 and before.effective == now.effective
        if same and self._rules.attaches_only_changes:
            return
        for task in tasks:
            self._confine(task, self._given(holder, now))
            task.mems = now.effective["mems"]

    def _given(self, holder: Group, cpuset: Cpuset) -> CpuSet:
        """The CPUs that a task gets when it comes to a group: in the root, even those offline."""
        return self._possible if holder is self._root else cpuset.effective["cpus"]


def _parent(group: Group) -> Cpuset:
    """The cpuset above that of a group other than the root."""
    if group.parent is None:
        raise AssertionError("the root group has no parent")
    return nearest_cpuset(group.parent)[1]


def _within(inner: dict[Kind, CpuSet], outer: dict[Kind, CpuSet]) -> bool:
    return all(inner[kind] <= outer[kind] for kind in KINDS)
