"""Which steps still stand where some files can't be written now, or a write was refused.

A pod's steps rely on each other along its tree: a set lies within the one above it and around
those inside it. What is beside a file, as one container of cgroup v1 is beside another, relies on
nothing of it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from numa_agent.core.cgroups import File
from numa_agent.core.cpusets.sides import Ids
from numa_agent.core.cpusets.values import Step

FileOf = tuple[str, File]
"""A cgroup's path and which file of it."""

Steps = tuple[Step, ...]


def file_of(step: Step) -> FileOf:
    """The file that a step writes."""
    return step.path, step.file


def parted(own: Sequence[Step]) -> tuple[Steps, Steps]:
    """The steps that move no page, and those after them that may, each in their order.

    Memory nodes that come before CPUs say what is in force: kernels before 6.1 ask for that.
    """
    cpus = [at for at, step in enumerate(own) if step.file == "cpus"]
    end = cpus[-1] + 1 if cpus else 0
    return tuple(own[:end]), tuple(own[end:])


def standing(own: Sequence[Step], stuck: Collection[FileOf]) -> tuple[Steps, Steps]:
    """The steps that may be taken while these files stay as they are, and those that may not.

    Below a file that is stuck a set may only be one that lies within it, and above it one may only
    be narrowed, so that nobody gets what another one can't leave. Memory nodes wait for the CPUs
    of their cgroup and of those above it.
    """
    state = _State(stuck=set(stuck))
    for step in own:
        state.held.setdefault(file_of(step), step.before)
    early, late = parted(own)
    taken: list[Step] = []
    left: list[Step] = []
    for steps, moving in ((early, False), (late, True)):
        for step in steps:
            (taken if state.takes(step, moving=moving) else left).append(step)
    return tuple(taken), tuple(left)


def beside(step: Step, others: Iterable[Step], own: Iterable[Step]) -> Steps:
    """Those of the others that rely on nothing of a step of the pod's `own` that was refused."""
    root = min((each.path for each in own if _within(step.path, each.path)), key=len)
    return tuple(each for each in others if not _within(each.path, root))


@dataclass(slots=True, kw_only=True)
class _State:
    """What is stuck, and what the files hold after the steps so far."""

    stuck: set[FileOf]
    held: dict[FileOf, Ids] = field(default_factory=dict)

    def takes(self, step: Step, *, moving: bool) -> bool:
        """Take a step if it may be; the file of one that isn't is stuck as well."""
        file = file_of(step)
        may = file not in self.stuck and all(
            self._fits(step, path) for path, kind in self.stuck if kind == step.file
        )
        if step.file == "mems":
            may = may and not self._waits(step, moving=moving)
        if may:
            self.held[file] = step.after
        else:
            self.stuck.add(file)
        return may

    def _fits(self, step: Step, path: str) -> bool:
        """Whether a step goes with the same file of another cgroup, which is stuck."""
        if _within(step.path, path):
            return _part(step.after, self.held.get((path, step.file), Ids()))
        if _within(path, step.path):
            return _part(step.after, self.held[file_of(step)])
        return True

    def _waits(self, step: Step, *, moving: bool) -> bool:
        """Whether tasks that memory nodes are for can't get to their CPUs."""
        cpus = (path for path, kind in self.stuck if kind == "cpus")
        return any(_within(step.path, path) if moving else step.path == path for path in cpus)


def _part(ids: Ids, held: Ids) -> bool:
    """Whether a set lies within what a file holds; one that is empty has all that is around it."""
    return not held or ids <= held


def _within(path: str, other: str) -> bool:
    """Whether a cgroup is another one or lies in it."""
    return path == other or path.startswith(f"{other}/")
