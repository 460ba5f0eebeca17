"""One pass as a function: map, publish, bind, prove.

The pass reads everything once, decides once and writes once. What it needs of the outside is given
to it: a plain callable for one method, a Protocol for more.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from numa_agent.core.accounting import accounts, unaccountable
from numa_agent.core.binding import Cgroup, Desired, Step, Target, desired, steps
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Container, Pod, PodsRead
from numa_agent.core.report import Proof, Publication, Report, Write
from numa_agent.core.schedulers.kube_scheduler import NodeIdentity, publication
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import judge

T = TypeVar("T")


class Cgroups(Protocol):
    """The machine's cpuset hierarchy."""

    def find(self, pod: Pod, container: Container) -> Cgroup | None:
        """The cgroup of a container as it is now, None when it isn't there."""

    def write(self, path: str, cpus: CpuSet) -> None:
        """Write a CPU list into one cgroup. Raises SourceError with the kernel's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a pass reads and writes; each may raise SourceError, which costs that thing alone.

    `publish` takes the object and answers what became of it.
    """

    topology: Callable[[], Topology]
    identity: Callable[[], NodeIdentity]
    pods: Callable[[], PodsRead]
    kubelet_exclusive: Callable[[], Mapping[str, CpuSet]]
    publish: Callable[[Mapping[str, object]], str]
    cgroups: Cgroups


def run_pass(ports: Ports) -> Report:
    """Take one pass. Raises SourceError only when there is no map: nothing stands without it."""
    topology = ports.topology()
    failures: list[str] = []
    # kubelet's state first: a pod that comes in between is then not taken for one that has gone.
    exclusive = _tried(ports.kubelet_exclusive, failures)
    pods = _tried(ports.pods, failures)
    wanted = None
    if pods is not None and exclusive is not None:
        wanted = desired(pods.pods, topology, exclusive)
    published = None
    if pods is not None and pods.left_out:
        failures.append("nothing is published: a pod can't be read, so what is free is unknown")
    elif wanted is not None:
        # Without the pods `available` would be wrong, and a wrong object is worse than an old one.
        published = _publish(ports, topology, wanted.taken, failures)
    writes, proofs = _bind(ports.cgroups, topology, wanted, failures)
    return Report(
        topology=topology,
        publication=published,
        refusals=() if wanted is None else wanted.refusals,
        writes=writes,
        proofs=proofs,
        problems=() if pods is None else pods.problems,
        looked=wanted is not None,
        failures=tuple(failures),
    )


def _tried(read: Callable[[], T], failures: list[str]) -> T | None:
    try:
        return read()
    except SourceError as error:
        failures.append(str(error))
        return None


def _publish(
    ports: Ports, topology: Topology, taken: CpuSet, failures: list[str]
) -> Publication | None:
    unknown = unaccountable(topology)
    if unknown is not None:
        failures.append(f"nothing is published: {unknown} (the map's warnings say more)")
        return None
    identity = _tried(ports.identity, failures)
    if identity is None:
        return None
    manifest = publication(identity, accounts(topology, taken))
    outcome = _tried(lambda: ports.publish(manifest), failures)
    return Publication(manifest=manifest, outcome=outcome or "failed")


def _bind(
    cgroups: Cgroups, topology: Topology, wanted: Desired | None, failures: list[str]
) -> tuple[tuple[Write, ...], tuple[Proof, ...]]:
    targets = () if wanted is None else wanted.targets
    observed = _observed(cgroups, targets, failures)
    writes = tuple(_written(cgroups, step) for step in steps(targets, observed))
    # Read back: a write that succeeded says nothing of what is in force.
    after = _observed(cgroups, targets, failures) if writes else observed
    proofs = tuple(
        Proof(target=target, verdict=judge(target.cpus, _effective(after, target), topology))
        for target in targets
    )
    return writes, proofs


def _observed(
    cgroups: Cgroups, targets: Iterable[Target], failures: list[str]
) -> dict[str, Cgroup]:
    found: dict[str, Cgroup] = {}
    for target in targets:
        try:
            cgroup = cgroups.find(target.pod, target.container)
        except SourceError as error:
            # Looking again after the writes fails in the same words.
            if str(error) not in failures:
                failures.append(str(error))
            continue
        if cgroup is not None:
            found[target.container_id] = cgroup
    return found


def _written(cgroups: Cgroups, step: Step) -> Write:
    try:
        cgroups.write(step.path, step.cpus)
    except SourceError as error:
        return Write(step=step, error=str(error))
    return Write(step=step, error=None)


def _effective(observed: Mapping[str, Cgroup], target: Target) -> CpuSet | None:
    cgroup = observed.get(target.container_id)
    return None if cgroup is None else cgroup.effective
