"""Proving in a pass: what containers have, looked at after writing."""

from collections.abc import Iterable, Iterator, Mapping

from numa_agent.agent.binding import Cpusets, Planned, observe
from numa_agent.agent.measuring import Around, measure
from numa_agent.agent.sources import Readings
from numa_agent.core.asked import Asked, asked
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Container, Pod
from numa_agent.core.report import Proof, Write
from numa_agent.core.verdict import judge


def prove(
    cpusets: Cpusets,
    planned: Planned,
    around: Around,
    writes: Iterable[Write],
    failures: list[str],
    *,
    everyone: bool = False,
    only: str | None = None,
) -> tuple[Proof, ...]:
    """The verdict on each running container with CPUs of its own, or on every one.

    `only` is the name of the one pod that is looked at.
    """
    written = {write.step.pod for write in writes}
    changed = [each for each in planned.inputs.pods if each.full_name in written]
    observed = {**planned.inputs.observed, **observe(cpusets, changed, failures)}
    proofs = []
    for pod, container, wanted in _chosen(planned, everyone=everyone):
        if only is not None and pod.full_name != only:
            continue
        groups = observed.get(pod.uid)
        found = measure(cpusets, planned, around, groups, (pod, container, wanted))
        proofs.append(
            Proof(
                pod=pod,
                container=container,
                asked=wanted,
                verdict=judge(found.facts, planned.inputs.topology),
                tasks_seen=found.tasks_seen,
                tasks_unseen=found.facts.tasks_unseen,
                cpu_quota=found.facts.cpu_quota,
            )
        )
    return tuple(proofs)


def around_of(now: Readings, spilled: Mapping[int, int], *, closely: bool = False) -> Around:
    """What of a pass's readings a container is measured against."""
    granted = now.granted
    why = granted.error or "this machine has no podresources API"
    read = now.settings.values[0] if now.settings.values else None
    policy = None if read is None else read[0].topology_manager_policy
    return Around(
        holders=Holders(now.topology, granted.values[0] if granted.values else None, why),
        spilled=spilled,
        topology_policy=policy,
        closely=closely,
    )


def _chosen(planned: Planned, *, everyone: bool) -> Iterator[tuple[Pod, Container, Asked]]:
    own = {target.pod.uid for target in planned.desired.targets if target.exclusive}
    for pod in planned.inputs.pods:
        if pod.finished or not (everyone or pod.uid in own):
            continue
        for container in pod.containers:
            if not container.running or container.id is None:
                continue
            wanted = asked(pod, container, planned.inputs, planned.desired)
            if everyone or wanted.cpus is not None:
                yield pod, container, wanted
