"""One pass as a function: map, publish, bind, prove.

The pass reads everything once, decides once and writes once. What it needs of the outside is given
to it: a source that is read, a plain callable for one method, a Protocol for more.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from numa_agent.agent.publisher import sent
from numa_agent.agent.sources import NodeSources, Readings, read_all, view_of
from numa_agent.core.binding import Cgroup, Desired, Step, Target, steps
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Container, Pod
from numa_agent.core.publishing import Published
from numa_agent.core.report import Proof, Publication, Report, Write
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import judge
from numa_agent.core.view import Json, Rendering, View


class Cgroups(Protocol):
    """The machine's cpuset hierarchy."""

    def find(self, pod: Pod, container: Container) -> Cgroup | None:
        """The cgroup of a container as it is now, None when it isn't there."""

    def write(self, path: str, cpus: CpuSet) -> None:
        """Write a CPU list into one cgroup. Raises SourceError with the kernel's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a pass reads and writes; what fails costs that thing alone.

    `render` says the view in the scheduler's language. `publish` sends one object and answers what
    became of it, None where there is nobody to send it to. `tell` makes an Event of a condition,
    and raises SourceError where it can't.
    """

    sources: NodeSources
    render: Callable[[View], Rendering]
    publish: Callable[[Json], Published | None]
    tell: Callable[[Condition], None]
    cgroups: Cgroups


def run_pass(ports: Ports) -> Report:
    """Take one pass. Raises SourceError only when there is no map: nothing stands without it."""
    now = read_all(ports.sources)
    failures = now.failures
    wanted = now.wanted()
    rendering = _rendering(ports, now, wanted, failures)
    publications = tuple(
        Publication(manifest=manifest, published=sent(ports.publish, manifest))
        for manifest in rendering.manifests
    )
    rivals = _rivals(publications)
    _tell(ports, rivals, failures)
    bound = wanted if _may_bind(now, failures) else None
    writes, proofs = _bind(ports.cgroups, now.topology, bound, failures)
    pods = now.pods.values
    return Report(
        topology=now.topology,
        publications=publications,
        conditions=(*rendering.conditions, *rivals),
        refusals=() if wanted is None else wanted.refusals,
        writes=writes,
        proofs=proofs,
        problems=pods[0].problems if pods else (),
        looked=bound is not None,
        failures=tuple(failures),
        sources=tuple(reading.age for reading in now.all),
    )


def _may_bind(now: Readings, failures: list[str]) -> bool:
    """Whether CPUs may be given out: only by what kubelet's state says now, of pods it names."""
    state = now.cpu_state.values[0] if now.cpu_state.values else None
    if state is not None and state.unknown_holders:
        failures.append(
            "cpu_manager_state names containers without their pods"
            f" ({state.unknown_holders[0][:80]}): no CPU is given out"
        )
        return False
    return now.cpu_state.fresh


def _rendering(
    ports: Ports, now: Readings, wanted: Desired | None, failures: list[str]
) -> Rendering:
    view = view_of(now, wanted, failures)
    if view is None:
        return Rendering(manifests=())
    rendering = ports.render(view)
    return replace(rendering, conditions=(*view.conditions, *rendering.conditions))


def _rivals(publications: Iterable[Publication]) -> tuple[Condition, ...]:
    """Who else writes the objects that are ours."""
    return tuple(
        Condition(
            code="second-publisher",
            subject=str(each.manifest["kind"]),
            message=f"{each.manifest['kind']}: {rival.label}; remove one of the two publishers,"
            " or set takeover: on",
        )
        for each in publications
        if each.published is not None
        for rival in each.published.rivals
    )


def _tell(ports: Ports, conditions: Iterable[Condition], failures: list[str]) -> None:
    for condition in conditions:
        try:
            ports.tell(condition)
        except SourceError as error:
            failures.append(str(error))


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
