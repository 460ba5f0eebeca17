"""Proving in a pass: what each container with CPUs of its own has, looked at after writing."""

from collections.abc import Iterable, Iterator

from numa_agent.agent.binding import Cpusets, Planned, observe
from numa_agent.core.assignment import Assignment
from numa_agent.core.cgroups import ContainerGroups, Group, PodGroups, TaskAllowed
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import PodTarget
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Container, Pod
from numa_agent.core.report import Proof, Write
from numa_agent.core.verdict import judge


def prove(
    cpusets: Cpusets, planned: Planned, writes: Iterable[Write], failures: list[str]
) -> tuple[Proof, ...]:
    """The verdict on each running container with CPUs of its own."""
    written = {write.step.pod for write in writes}
    changed = [each for each in planned.inputs.pods if each.full_name in written]
    observed = {**planned.inputs.observed, **observe(cpusets, changed, failures)}
    return tuple(
        _proof(cpusets, planned, target, container, cpus, observed.get(target.pod.uid))
        for target in planned.desired.targets
        if target.exclusive
        for container in target.pod.containers
        if container.running
        and container.id is not None
        and (cpus := _decided(target, container.id)) is not None
    )


def _decided(target: PodTarget, container_id: str) -> CpuSet | None:
    own = target.containers.get(container_id)
    return target.cpus if own is None or own.cpus is None else own.cpus


def _proof(
    cpusets: Cpusets,
    planned: Planned,
    target: PodTarget,
    container: Container,
    cpus: CpuSet,
    groups: PodGroups | None,
) -> Proof:
    own = None if groups is None else _of(groups, container)
    leaves = [] if own is None else _populated(own)
    effective = _in_force(leaves)
    seen, unseen = _tasks(cpusets, leaves)
    strayed = _strayed(seen, effective) & planned.inputs.topology.online
    notes = [*_limits(groups, own, cpus), *_masks(seen, effective)]
    if unseen:
        notes.append(f"{unseen} of its tasks {'isn' if unseen == 1 else 'aren'}'t seen from here")
    quota = _quota(cpusets, groups, own)
    if quota is not None:
        notes.append(f"a CPU quota of {quota:g} CPUs may throttle it")
    return Proof(
        pod=target.pod,
        container=container,
        verdict=judge(
            cpus,
            effective,
            planned.inputs.topology,
            strayed=strayed,
            unseen="its cgroup wasn't found" if own is None else "no task is in its cgroup",
        ),
        tasks_seen=len(seen),
        tasks_unseen=unseen,
        cpu_quota=quota,
        notes=tuple(notes),
    )


def _quota(
    cpusets: Cpusets, groups: PodGroups | None, own: ContainerGroups | None
) -> float | None:
    """The smaller of the pod's and the container's quota."""
    if groups is None or own is None:
        return None
    quotas = [cpusets.quota(group.path) for group in (groups.group, own.group)]
    return min((each for each in quotas if each is not None), default=None)


def lift_quotas(
    cpusets: Cpusets, planned: Planned, proofs: Iterable[Proof], failures: list[str]
) -> tuple[Condition, ...]:
    """Take the CPU quotas off containers that are held to CPUs of their own; what was lifted.

    The pod's quota is for all its containers, and so stays where one of them shares CPUs.
    """
    lifted = []
    for proof in proofs:
        groups = planned.inputs.observed.get(proof.pod.uid)
        own = None if groups is None else _of(groups, proof.container)
        if groups is None or own is None or proof.cpu_quota is None:
            continue
        if not (_is_held(proof) and _has_own(planned, proof.pod, proof.container)):
            continue
        who = f"{proof.pod.full_name} {proof.container.name}"
        everybody = all(_has_own(planned, proof.pod, each) for each in proof.pod.containers)
        try:
            # The pod's first: on v1 no child may have more than its parent.
            for group in (groups.group, own.group) if everybody else (own.group,):
                if cpusets.quota(group.path) is not None:
                    cpusets.lift_quota(group.path)
        except SourceError as error:
            failures.append(str(error))
            continue
        message = f"{who}: its CPU quota of {proof.cpu_quota:g} CPUs was lifted (cpuQuota: lift)"
        lifted.append(Condition(code="cpu-quota-lifted", subject=who, message=message))
    return tuple(lifted)


def _is_held(proof: Proof) -> bool:
    return proof.verdict.effective == proof.verdict.decided


def _has_own(planned: Planned, pod: Pod, container: Container) -> bool:
    said = planned.inputs.decisions.get(pod.uid)
    return isinstance(said, Assignment) and bool(said.of(container.name).cpus)


def _of(groups: PodGroups, container: Container) -> ContainerGroups | None:
    return next((each for each in groups.containers if each.id == container.id), None)


def _populated(container: ContainerGroups) -> list[Group]:
    """The groups in which processes may be: the innermost ones, or the container's own.

    There is none where the kernel moved them out: on v1, when all CPUs of a group went offline.
    """
    parents = {group.path.rpartition("/")[0] for group in container.nested}
    inner = [
        group
        for group in container.nested
        if group.path not in parents and group.populated is not False
    ]
    return inner or ([] if container.group.populated is False else [container.group])


def _in_force(leaves: Iterable[Group]) -> CpuSet | None:
    """The CPUs of every group together, None where one can't be read or there is none."""
    sets = [group.effective_cpus for group in leaves]
    known = [each for each in sets if each is not None]
    if not sets or len(known) != len(sets):
        return None
    return frozenset[int]().union(*known)


def _tasks(cpusets: Cpusets, leaves: Iterable[Group]) -> tuple[list[TaskAllowed], int]:
    """The tasks of the groups whose masks are seen, and how many aren't."""
    seen: list[TaskAllowed] = []
    unseen = 0
    for group in leaves:
        try:
            allowed = cpusets.tasks_allowed(group.path)
        except SourceError:
            continue
        seen += allowed.tasks
        unseen += allowed.unseen
    return seen, unseen


def _limits(groups: PodGroups | None, own: ContainerGroups | None, cpus: CpuSet) -> Iterator[str]:
    """Which cgroup above a container, the highest first, has less than was decided for it."""
    if groups is None or own is None:
        return
    for group in (*groups.above, groups.group, own.group):
        effective = group.effective_cpus
        if effective is not None and not cpus <= effective:
            yield f"{group.path or 'the root'} has CPUs {render(effective)} only"
            return


def _strayed(tasks: Iterable[TaskAllowed], effective: CpuSet | None) -> CpuSet:
    """Where tasks may run outside their cgroup's set: Linux 5.10 lets those that are cloned into
    a cgroup keep the CPUs that they had."""
    masks = [each.cpus for each in tasks if each.cpus is not None]
    return frozenset[int]().union(*masks) - effective if effective else frozenset()


def _masks(tasks: Iterable[TaskAllowed], effective: CpuSet | None) -> Iterator[str]:
    """Where the tasks' own masks (sched_setaffinity) make less of the set."""
    masks = [each.cpus for each in tasks if each.cpus is not None]
    if effective is not None and masks and all(mask < effective for mask in masks):
        kept = frozenset[int]().union(*masks)
        yield f"every task keeps to CPUs {render(kept)} by a mask of its own or an inherited one"
