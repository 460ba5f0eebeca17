"""Taking CPU quotas off pods with CPUs of their own, where that is asked for."""

from collections.abc import Iterable

from numa_agent.agent.binding import Cpusets, Planned
from numa_agent.agent.measuring import container_of
from numa_agent.core.assignment import Assignment
from numa_agent.core.conditions import Condition
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Container, Pod
from numa_agent.core.report import Proof


def lift_quotas(
    cpusets: Cpusets, planned: Planned, proofs: Iterable[Proof], failures: list[str]
) -> tuple[Condition, ...]:
    """Take the CPU quotas off containers that are held to CPUs of their own; what was lifted.

    The pod's quota is for all its containers, and so stays where one of them shares CPUs.
    """
    lifted = []
    for proof in proofs:
        groups = planned.inputs.observed.get(proof.pod.uid)
        own = None if groups is None else container_of(groups, proof.container)
        if groups is None or own is None or proof.cpu_quota is None:
            continue
        if not (_is_held(proof) and _has_own(planned, proof.pod, proof.container)):
            continue
        who = f"{proof.pod.full_name} {proof.container.name}"
        running = [each for each in proof.pod.containers if each.running]
        everybody = all(_has_own(planned, proof.pod, each) for each in running)
        # The pod's first: on v1 no child may have more than its parent.
        wanted = (groups.group, own.group) if everybody else (own.group,)
        bounded = [group.path for group in wanted if cpusets.quota(group.path) is not None]
        try:
            for path in bounded:
                cpusets.lift_quota(path)
        except SourceError as error:
            failures.append(str(error))
            continue
        if not bounded:
            continue
        message = f"{who}: its CPU quota of {proof.cpu_quota:g} CPUs was lifted (cpuQuota: lift)"
        lifted.append(Condition(code="cpu-quota-lifted", subject=who, message=message))
    return tuple(lifted)


def _is_held(proof: Proof) -> bool:
    return proof.verdict.effective == proof.verdict.decided


def _has_own(planned: Planned, pod: Pod, container: Container) -> bool:
    said = planned.inputs.decisions.get(pod.uid)
    return isinstance(said, Assignment) and bool(said.of(container.name).cpus)
