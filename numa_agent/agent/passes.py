"""One pass as a function: map, publish, bind, prove.

The pass reads everything once, decides once and writes once. What it needs of the outside is given
to it: a source that is read, a plain callable for one method, a Protocol for more.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from numa_agent.agent import binding, moving
from numa_agent.agent.assigning import Assigning
from numa_agent.agent.binding import Cpusets, Memory, Planned
from numa_agent.agent.marking import Marking
from numa_agent.agent.mover import Mover
from numa_agent.agent.proving import Standing, around_of, prove
from numa_agent.agent.publisher import sent
from numa_agent.agent.quotas import lift_quotas
from numa_agent.agent.situations import standing
from numa_agent.agent.sources import NodeSources, Readings, read_all, view_of
from numa_agent.agent.telling import Teller, rivals
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Mems, Options
from numa_agent.core.drift import Drift
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Pod
from numa_agent.core.publishing import Published
from numa_agent.core.report import Binding, Proof, Publication, Report, Times, Write, bindings
from numa_agent.core.shape import Shape
from numa_agent.core.slots import NO_SLOTS, SlotsNow
from numa_agent.core.view import Json, Rendering, View


def _nobody(_: Planned | None) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """What a pass reads and writes; what fails costs that thing alone.

    `render` says the view in the scheduler's language. `publish` sends one object and answers what
    became of it, None where there is nobody to send it to. `damaged` gives, once, the sentences
    that name what of cgroups couldn't be read. `planned` hears what is bound in the pass, None
    where nothing may be. `mover` writes memory nodes in its own time; without one they are written
    in the pass. `teller` makes Events of what a pass finds, where somebody reads them.
    `lift_quota` takes the CPU quota off pods with CPUs of their own. `standing` are verdicts of
    former passes that aren't measured again, None where every pass measures. `assigning` decides
    for pods that ask and that nobody else decides for, `marking` tells those pods. `more` are
    conditions that others know of. `period` are the seconds from one pass to the next; up to half
    of it is added by chance, so that nodes don't ask in step.
    """

    sources: NodeSources
    render: Callable[[View], Rendering]
    publish: Callable[[Json], Published | None]
    cpusets: Cpusets
    damaged: Callable[[], Iterable[str]]
    drift: Drift
    more: Callable[[], Iterable[Condition]] = tuple
    clock: Callable[[], float] = time.monotonic
    period: float = 30.0
    planned: Callable[[Planned | None], None] = _nobody
    mover: Mover | None = None
    teller: Teller | None = None
    lift_quota: bool = False
    standing: Standing | None = None
    assigning: Assigning | None = None
    shapes: tuple[Shape, ...] = ()
    marking: Marking | None = None
    memory: Memory = field(default_factory=Memory)
    options: Options = field(default_factory=Options)


def run_pass(ports: Ports) -> Report:
    """Take one pass. Raises SourceError only when there is no map: nothing stands without it."""
    began = ports.clock()
    now = read_all(ports.sources)
    failures = now.failures
    planned = planned_of(ports, now, failures)
    wanted = None if planned is None else planned.desired
    bound = bound_of(ports, now, planned, failures)
    ports.planned(bound)
    if bound is not None:
        ports.memory.assigned = bound.desired.assigned
        ports.drift.keep(binding.files(bound.inputs.observed.values()))
    writes, fights = _written(ports, bound)
    proofs = () if bound is None else _proofs(ports, now, bound, writes, failures)
    if bound is not None and ports.lift_quota:
        fights = (*fights, *lift_quotas(ports.cpusets, bound, proofs, failures))
    was_bound = ports.clock()
    # The API server may keep us waiting; no container waits for its CPUs that long.
    view = view_of(now, wanted, failures)
    rendering = _rendering(ports, view)
    publications = tuple(
        Publication(manifest=manifest, published=sent(ports.publish, manifest))
        for manifest in rendering.manifests
    )
    others = rivals(publications)
    failures += dict.fromkeys(ports.damaged())
    pods = now.pods.values
    failures += _marked(ports, pods[0].pods if pods else ())
    report = Report(
        topology=now.topology,
        publications=publications,
        conditions=(
            *rendering.conditions,
            *others,
            *ports.more(),
            *(wanted.conditions if wanted else ()),
            *fights,
        ),
        drift={writer.value: count for writer, count in ports.drift.counts.items()},
        refusals=() if wanted is None else wanted.refusals,
        left_alone=() if wanted is None else wanted.left_alone,
        writes=writes,
        proofs=proofs,
        problems=pods[0].problems if pods else (),
        looked=bound is not None,
        failures=tuple(failures),
        sources=tuple(reading.age for reading in now.all),
        accounts=() if view is None else tuple(view.accounts),
        bindings=() if planned is None else _bindings(planned),
        reserved=frozenset() if planned is None else planned.inputs.reserved or frozenset(),
        kubelet_exclusive=frozenset() if planned is None else _given(now),
        slots=NO_SLOTS if planned is None else _slots(ports, now, planned),
        times=Times(began=began, bound=was_bound, ended=ports.clock()),
    )
    if ports.teller is None:
        return report
    ports.teller.tell(report, pods[0].pods if pods else ())
    return ports.teller.with_troubles(report)


def _marked(ports: Ports, pods: Sequence[Pod]) -> tuple[str, ...]:
    """Have pods told what was decided here; why that can't be."""
    if ports.marking is None or ports.assigning is None:
        return ()
    ours = ports.assigning
    # Who keeps what it has, while what it asks for by now can't be, isn't without a place.
    unplaced = {uid: why for uid, why in ours.unplaced.items() if uid not in ours.kept}
    ports.marking.hear(pods, ours.annotations, unplaced)
    return ports.marking.troubles()


def _proofs(
    ports: Ports,
    now: Readings,
    bound: Planned,
    writes: Iterable[Write],
    failures: list[str],
) -> tuple[Proof, ...]:
    spilled = ports.sources.spilled([node.id for node in now.topology.nodes])
    around = around_of(now, spilled)
    return prove(ports.cpusets, bound, around, writes, failures, standing=ports.standing)


def planned_of(ports: Ports, now: Readings, failures: list[str]) -> Planned | None:
    """What is to be bound, None where the pods or kubelet's CPUs were never known."""
    inputs = now.inputs(ports.sources.trusted_managers)
    if inputs is None:
        return None
    observed = binding.observe(ports.cpusets, inputs.pods, failures)
    nodes = [node.id for node in now.topology.nodes]
    free = {} if ports.options.mems is Mems.OFF else ports.sources.free_memory(nodes)
    known = replace(inputs, observed=observed, free_memory=free, before=ports.memory.assigned)
    if ports.assigning is None:
        return binding.plan(known, ports.options)
    gone = binding.observe(ports.cpusets, ports.assigning.gone(inputs.pods), failures)
    ending = frozenset(uid for uid, groups in gone.items() if groups.group.populated)
    with_ours, told = ports.assigning.decide(now, known, ports.options, ending)
    planned = binding.plan(with_ours, ports.options)
    conditions = tuple(sorted({*planned.desired.conditions, *told}))
    return replace(planned, desired=replace(planned.desired, conditions=conditions))


def _written(
    ports: Ports, planned: Planned | None
) -> tuple[tuple[Write, ...], tuple[Condition, ...]]:
    now = ports.clock()
    if ports.mover is not None:
        return moving.written(ports.cpusets, planned, ports.drift, now, ports.mover)
    if planned is None:
        return (), ()
    return binding.write(ports.cpusets, planned, ports.drift, now)


def bound_of(
    ports: Ports, now: Readings, planned: Planned | None, failures: list[str]
) -> Planned | None:
    """What may be bound of what is planned, None (and why, in `failures`) where nothing may.

    CPUs are given out only by what kubelet's state says, of pods that it names, and still says
    after the cgroups were looked at: kubelet decides before it makes a pod's.
    """
    if planned is None:
        return None
    why = _unsafe(ports, now)
    if why is not None:
        failures.append(f"no CPU is given out: {why}")
        return None
    return planned


def _unsafe(ports: Ports, now: Readings) -> str | None:
    if not now.cpu_state.fresh:
        return "kubelet's state isn't of now"
    state = now.cpu_state.values[0]
    if state is None:
        settings = now.settings.values[0] if now.settings.fresh and now.settings.values else None
        if settings is None or settings[0].cpu_manager_policy != "none":
            return "kubelet's cpu_manager_state isn't there and its policy isn't known to be none"
    elif state.unknown_holders:
        who = state.unknown_holders[0][:80]
        return f"cpu_manager_state names containers without their pods ({who})"
    again = ports.sources.cpu_state.read()
    if again.error is not None or again.values != now.cpu_state.values:
        return "kubelet's cpu_manager_state changed meanwhile; the next pass goes by the new one"
    try:
        ports.cpusets.check_writable()
    except SourceError as error:
        return str(error)
    return None


def _bindings(planned: Planned) -> tuple[Binding, ...]:
    """The pods with CPUs of their own."""
    return bindings(planned.inputs.pods, planned.desired.assigned)


def _slots(ports: Ports, now: Readings, planned: Planned) -> SlotsNow:
    """How many more pods would be placed: of the shapes that are named, else of those seen."""
    kept = {} if ports.assigning is None else ports.assigning.kept
    return standing(now, planned, kept).slots(ports.shapes)


def _given(now: Readings) -> CpuSet:
    """What kubelet's static policy gave out."""
    return frozenset[int]().union(*now.exclusive.values())


def _rendering(ports: Ports, view: View | None) -> Rendering:
    if view is None:
        return Rendering(manifests=())
    rendering = ports.render(view)
    return replace(rendering, conditions=(*view.conditions, *rendering.conditions))
