"""Proving in a pass: what containers have, looked at after writing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from numa_agent.agent.binding import Cpusets, Planned, observe
from numa_agent.agent.measuring import Around, measure
from numa_agent.agent.sources import Readings
from numa_agent.core.asked import Asked, asked
from numa_agent.core.cgroups import PodGroups
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
    standing: "Standing | None" = None,
) -> tuple[Proof, ...]:
    """The verdict on each running container with CPUs of its own, or on every one.

    `only` is the name of the one pod that is looked at. What is `standing` of former passes isn't
    measured again.
    """
    written = {write.step.pod for write in writes}
    changed = [each for each in planned.inputs.pods if each.full_name in written]
    observed = {**planned.inputs.observed, **observe(cpusets, changed, failures)}
    proofs = []
    for pod, container, wanted in _chosen(planned, everyone=everyone):
        if only is not None and pod.full_name != only:
            continue
        groups = observed.get(pod.uid)
        held = around.holders.of(pod, container.name)
        ground = wanted, held, _sets(groups)
        proof = None if standing is None else standing.of(container, ground)
        if proof is None:
            found = measure(cpusets, planned, around, groups, (pod, container, wanted))
            proof = Proof(
                pod=pod,
                container=container,
                asked=wanted,
                verdict=judge(found.facts, planned.inputs.topology),
                tasks_seen=found.tasks_seen,
                tasks_unseen=found.facts.tasks_unseen,
                cpu_quota=found.facts.cpu_quota,
            )
            if standing is not None:
                standing.keep(proof, ground)
        proofs.append(replace(proof, pod=pod))
    if standing is not None:
        standing.forget_all_but(proofs)
    return tuple(proofs)


class Standing:
    """Verdicts that still stand: on containers whose ground is the same, for some seconds.

    So a burst of passes costs what binding costs, and not what proving does.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        """Take for how long a verdict stands; 0 is not at all."""
        self.seconds = seconds
        self._clock = clock
        self._by_id: dict[str | None, tuple[float, object, Proof]] = {}

    def of(self, container: Container, ground: object) -> Proof | None:
        """The verdict on a container, None where it is to be looked at."""
        since, before, proof = self._by_id.get(container.id, (0.0, None, None))
        stands = before == ground and self._clock() < since + self.seconds
        return proof if stands else None

    def keep(self, proof: Proof, ground: object) -> None:
        """Let a verdict stand from now on."""
        self._by_id[proof.container.id] = (self._clock(), ground, proof)

    def forget_all_but(self, proofs: Iterable[Proof]) -> None:
        """Keep no verdict on a container that wasn't looked for."""
        seen = {proof.container.id for proof in proofs}
        self._by_id = {key: kept for key, kept in self._by_id.items() if key in seen}


def _sets(groups: PodGroups | None) -> PodGroups | None:
    """What a pod's cgroups hold, without what changes by itself."""
    return None if groups is None else replace(groups, memory_used=None)


def around_of(now: Readings, spilled: Mapping[int, int], *, closely: bool = False) -> Around:
    """What of a pass's readings a container is measured against."""
    granted = now.granted
    # An old answer may be of another pod by this name.
    known = granted.values[0] if granted.fresh and granted.values else None
    why = granted.error or "this machine has no podresources API"
    read = now.settings.values[0] if now.settings.values else None
    policy = None if read is None else read[0].topology_manager_policy
    return Around(
        holders=Holders(now.topology, known, why),
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
            # One whose id can't be used has no cgroup that is known: it is unknown, not left out.
            if not container.running or (container.id is None and not everyone):
                continue
            wanted = asked(pod, container, planned.inputs, planned.desired)
            if everyone or (wanted.cpus is not None and not wanted.shares):
                yield pod, container, wanted
