"""Which CPUs each container shall have, and the writes that lead there from what is.

Pure: what a container's cgroup holds comes in as values, and the writes go out as values.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.pods import Container, Pod
from numa_agent.core.schedulers import koordinator
from numa_agent.core.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A pod whose assignment isn't followed, and why; `code` is stable."""

    pod: Pod
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The CPUs that one running container shall have."""

    pod: Pod
    container: Container
    container_id: str
    cpus: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What is wanted of the machine: every target, the CPUs taken, and what was refused."""

    targets: tuple[Target, ...]
    assigned: CpuSet
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """What the kernel holds for one cgroup: `cpus` as configured, `effective` as in force.

    `path` is relative to the cpuset hierarchy. Either set is None where it can't be read.
    """

    path: str
    cpus: CpuSet | None
    effective: CpuSet | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One write of a CPU list into the cpuset of one cgroup."""

    target: Target
    path: str
    before: CpuSet | None
    cpus: CpuSet


def desired(
    pods: Iterable[Pod], topology: Topology, kubelet_exclusive: Mapping[str, CpuSet]
) -> Desired:
    """The targets of all running containers whose pod has a valid assignment.

    An assignment is refused whole when it can't be read, names a CPU that isn't online, overlaps
    CPUs that an earlier pod of the list holds, or when kubelet's static policy gave the pod or
    the CPUs out (`kubelet_exclusive`: CPUs by pod uid, of dead pods too, whose CPUs are free).
    A finished pod holds nothing.
    """
    targets: list[Target] = []
    refusals: list[Refusal] = []
    alive = [pod for pod in pods if not pod.finished]
    holders: dict[int, str] = {
        cpu: f"kubelet's CPU manager, for pod {pod.full_name}"
        for pod in alive
        for cpu in kubelet_exclusive.get(pod.uid, ())
    }
    assigned: set[int] = set()
    for pod in alive:
        try:
            assignment = koordinator.assignment(pod.annotations)
        except AssignmentError as error:
            refusals.append(Refusal(pod=pod, code="malformed", message=str(error)))
            continue
        if assignment is None:
            continue
        refusal = _refusal(pod, assignment, topology, holders, kubelet_exclusive)
        if refusal is not None:
            refusals.append(refusal)
            continue
        holders.update(dict.fromkeys(assignment.cpus, f"pod {pod.full_name}"))
        assigned |= assignment.cpus
        targets += _targets(pod, assignment.cpus)
    return Desired(targets=tuple(targets), assigned=frozenset(assigned), refusals=tuple(refusals))


def steps(targets: Iterable[Target], observed: Mapping[str, Cgroup]) -> tuple[Step, ...]:
    """The writes from the observed cgroups (by container id) to the targets; equal sets cost none.

    Containers' own directories only: every prefix of these steps is a legal state on v1 and v2.
    """
    return tuple(
        Step(target=target, path=cgroup.path, before=cgroup.cpus, cpus=target.cpus)
        for target in targets
        if (cgroup := observed.get(target.container_id)) is not None and cgroup.cpus != target.cpus
    )


def _targets(pod: Pod, cpus: CpuSet) -> Sequence[Target]:
    return [
        Target(pod=pod, container=container, container_id=container.id, cpus=cpus)
        for container in pod.containers
        if container.running and container.id is not None
    ]


def _refusal(
    pod: Pod,
    assignment: Assignment,
    topology: Topology,
    holders: Mapping[int, str],
    kubelet_exclusive: Mapping[str, CpuSet],
) -> Refusal | None:
    said = f"{assignment.source} gives CPUs {cpulist.render(assignment.cpus)}"
    if pod.uid in kubelet_exclusive:
        cpus = cpulist.render(kubelet_exclusive[pod.uid])
        message = f"{said}, but kubelet's static CPU manager gave it {cpus} and keeps them"
        return Refusal(pod=pod, code="kubelet-exclusive", message=message)
    missing = assignment.cpus - topology.online
    if missing:
        online = cpulist.render(topology.online)
        message = f"{said}, of which {cpulist.render(missing)} aren't online (online: {online})"
        return Refusal(pod=pod, code="cpus-not-online", message=message)
    taken = sorted(cpu for cpu in assignment.cpus if cpu in holders)
    if taken:
        message = f"{said}, of which {cpulist.render(taken)} belong to {holders[taken[0]]}"
        return Refusal(pod=pod, code="cpus-taken", message=message)
    return None
