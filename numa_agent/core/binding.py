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
    """What is wanted of the machine: every target, and what was refused.

    `assigned` are the CPUs of every assignment that is followed, by pod uid.
    """

    targets: tuple[Target, ...]
    assigned: Mapping[str, CpuSet]
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
    pods: Iterable[Pod],
    topology: Topology,
    kubelet_exclusive: Mapping[str, CpuSet],
) -> Desired:
    """The targets of all running containers whose pod has a valid assignment.

    An assignment is refused whole when it can't be read, names a CPU that isn't online, overlaps
    CPUs that an earlier pod of the list holds, or when kubelet's static policy gave the pod or
    the CPUs out (`kubelet_exclusive`: CPUs by the uid that kubelet knows a pod by). All of those
    count as held: a pod that isn't listed may be newer than the list, and kubelet itself clears
    dead pods away. A finished pod's assignment holds nothing.
    """
    targets: list[Target] = []
    refusals: list[Refusal] = []
    listed = list(pods)
    holders = _held_by_kubelet(listed, kubelet_exclusive)
    assigned: dict[str, CpuSet] = {}
    for pod in listed:
        if pod.finished:
            continue
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
        assigned[pod.uid] = assignment.cpus
        targets += _targets(pod, assignment.cpus)
    return Desired(targets=tuple(targets), assigned=assigned, refusals=tuple(refusals))


def steps(targets: Iterable[Target], observed: Mapping[str, Cgroup]) -> tuple[Step, ...]:
    """The writes from the observed cgroups (by container id) to the targets; equal sets cost none.

    Containers' own directories only: every prefix of these steps is a legal state on v1 and v2.
    """
    return tuple(
        Step(target=target, path=cgroup.path, before=cgroup.cpus, cpus=target.cpus)
        for target in targets
        if (cgroup := observed.get(target.container_id)) is not None and cgroup.cpus != target.cpus
    )


def _held_by_kubelet(
    pods: Iterable[Pod], kubelet_exclusive: Mapping[str, CpuSet]
) -> dict[int, str]:
    """Who holds each CPU that kubelet's static policy gave out."""
    names = {pod.cgroup_uid: f"pod {pod.full_name}" for pod in pods}
    return {
        cpu: f"kubelet's CPU manager, for {names.get(uid, f'the pod with uid {uid}')}"
        for uid, cpus in sorted(kubelet_exclusive.items())
        for cpu in cpus
    }


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
    if pod.cgroup_uid in kubelet_exclusive:
        cpus = cpulist.render(kubelet_exclusive[pod.cgroup_uid])
        message = f"{said}, but kubelet's static CPU manager gave it {cpus} and keeps them"
        return Refusal(pod=pod, code="kubelet-exclusive", message=message)
    missing = assignment.cpus - topology.online
    if missing:
        online = cpulist.render(topology.online)
        message = f"{said}, of which {cpulist.render(missing)} aren't online (online: {online})"
        return Refusal(pod=pod, code="cpus-not-online", message=message)
    homeless = assignment.cpus.difference(*(node.cpus or () for node in topology.nodes))
    if homeless:
        message = f"{said}, of which {cpulist.render(homeless)} are in no known NUMA node"
        return Refusal(pod=pod, code="cpus-without-node", message=message)
    taken = sorted(cpu for cpu in assignment.cpus if cpu in holders)
    if taken:
        message = f"{said}, of which {cpulist.render(taken)} belong to {holders[taken[0]]}"
        return Refusal(pod=pod, code="cpus-taken", message=message)
    return None
