"""What the kernel's cpuset hierarchy holds for one pod, as values.

https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset and
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from numa_agent.core.cpulist import CpuSet

File = Literal["cpus", "mems"]
"""Which of a cgroup's two sets: cpuset.cpus or cpuset.mems."""

MemSet = frozenset[int]
"""NUMA node ids, as cpuset.mems lists them."""


class Version(IntEnum):
    """Which hierarchy the cpuset controller is in."""

    V1 = 1
    V2 = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One cgroup: `cpus` and `mems` as configured, the others as in force.

    `path` is relative to the cpuset hierarchy's mount. On v2 an empty configured set inherits the
    parent's. A set is None where its file can't be read. `populated` says whether a process is in
    it or below it, None where that isn't told.
    """

    path: str
    cpus: CpuSet | None
    effective_cpus: CpuSet | None
    mems: MemSet | None
    effective_mems: MemSet | None
    populated: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAllowed:
    """One task (thread) by its id, and its masks; each None where the kernel doesn't tell it."""

    id: int
    cpus: CpuSet | None
    mems: MemSet | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksAllowed:
    """The tasks of one cgroup, those inside it not among them, by id.

    `unseen` counts tasks that are in it and can't be read here, so that nothing is known of them:
    those of another PID namespace, those that are hidden, and what is past a bound.
    """

    tasks: tuple[TaskAllowed, ...]
    unseen: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGroups:
    """A container's cgroup and those inside it, each parent before its children.

    `id` is the runtime's 64 hex digits: a container of the pod's status, or its sandbox.
    """

    id: str
    group: Group
    nested: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGroups:
    """A pod's cgroup, its containers' by id, and those above it from the hierarchy's root down.

    `left_out` are paths in the pod's cgroup that are no container (conmon, an exec's).
    `memory_used` is in bytes what a pod that is held to memory nodes has of them already, None
    where that isn't told.
    """

    version: Version
    above: tuple[Group, ...]
    group: Group
    containers: tuple[ContainerGroups, ...]
    left_out: tuple[str, ...] = ()
    memory_used: int | None = None
