"""What deciding about cpusets starts from, and what it ends in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cgroups import File, MemSet, PodGroups, Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.topology import Topology


class Mems(StrEnum):
    """When cpuset.mems is written."""

    OFF = "off"
    WITH_CPUS = "with-cpus"
    """At a pod's start alone: later, the kernel would move its pages while it runs."""
    MIGRATE = "migrate"
    """At any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the admin chose. `share` binds pods without CPUs of their own to the shared CPUs.

    `reserved` lets an assignment name CPUs that kubelet keeps for the system. `borrow` is for
    nodes that Koordinator schedules: elsewhere anybody may give a pod its labels, and nobody uses
    another pod's CPUs. `runtime_classes` are those whose containers are the host's own processes,
    not a virtual machine's.
    """

    mems: Mems = Mems.WITH_CPUS
    share: bool = True
    reserved: bool = False
    borrow: bool = False
    runtime_classes: frozenset[str] = frozenset(
        {"runc", "crun", "youki", "nvidia", "nvidia-cdi", "nvidia-legacy"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What is known at the time of one pass.

    `pods` are sorted, those that started first ahead. `decisions` and `observed` are by pod uid;
    a pod whose cgroups weren't seen isn't written. `kubelet` is None where no state says that it
    gives CPUs out. `reserved` is None while nobody knows what is kept for the system.
    `free_memory` are bytes by NUMA node, None where they can't be read. Pods whose uid is in
    `borrowers` may use the own CPUs of those in `lenders` where the options say so, as
    Koordinator's best-effort pods do with those of all classes but LSE. `before` is what the pass
    before assigned, None in the first one. `own` are decisions of this agent, which count where
    nobody else decides.
    """

    pods: Sequence[Pod]
    decisions: Mapping[str, Assignment | AssignmentError]
    topology: Topology
    kubelet: CpuManagerState | None = None
    reserved: CpuSet | None = frozenset()
    observed: Mapping[str, PodGroups] = field(default_factory=dict)
    free_memory: Mapping[int, int | None] = field(default_factory=dict)
    lenders: frozenset[str] = frozenset()
    borrowers: frozenset[str] = frozenset()
    before: Mapping[str, CpuSet] | None = None
    own: Mapping[str, Assignment] = field(default_factory=dict)

    @property
    def kubelet_static(self) -> bool:
        """Whether kubelet's CPU manager gives CPUs out, and so writes containers' cpusets."""
        return self.kubelet is not None and self.kubelet.policy == "static"

    @property
    def version(self) -> Version | None:
        """The hierarchy that cpusets are in, None before any cgroup was seen."""
        return next((groups.version for groups in self.observed.values()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerTarget:
    """What one container shall have where that isn't what its pod has; None is the pod's."""

    name: str
    cpus: CpuSet | None
    mems: MemSet | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTarget:
    """What a pod's containers shall have together; None leaves what is there.

    `containers` are, by id, those that need less than the pod as a whole; any other cgroup in the
    pod, its sandbox's too, gets what the pod has. `pod_level_only` says that kubelet writes the
    containers' directories. `exclusive` says that CPUs of it are its own.
    """

    pod: Pod
    cpus: CpuSet | None
    mems: MemSet | None
    reason: str
    containers: Mapping[str, ContainerTarget] = field(default_factory=dict)
    exclusive: bool = False
    pod_level_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A pod whose assignment isn't followed, and why; `code` is stable."""

    pod: Pod
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftAlone:
    """A pod that is somebody else's to bind, and why; `code` is stable."""

    pod: Pod
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What is wanted of the machine, in the order of the pods.

    `assigned` are the CPUs, by pod uid, that are a pod's own: by an assignment that is followed,
    or in force although its words are refused. `conditions` are what isn't as it was decided.
    """

    targets: tuple[PodTarget, ...]
    assigned: Mapping[str, CpuSet]
    refusals: tuple[Refusal, ...]
    left_alone: tuple[LeftAlone, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One write of a list into one cgroup's file; `after` is never empty.

    `path` is relative to the cpuset hierarchy, `file` is `cpus` or `mems`. `before` is what the
    file holds when the steps before this one are done. `pod` is its full name, `container` a
    name, or the id of one that the status doesn't name: a sandbox; "" is the pod's own directory.
    """

    path: str
    file: File
    before: frozenset[int]
    after: frozenset[int]
    pod: str
    container: str
    reason: str
