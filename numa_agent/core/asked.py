"""What a container was to have: what its pod asked for, and who decided which CPUs for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cgroups import MemSet
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Desired, Inputs, PodTarget
from numa_agent.core.pods import Container, Pod
from numa_agent.core.schedulers.ack_assignment import SCHEDULER, SWITCHED_ON, topology_specs
from numa_agent.core.verdict import AS_DECIDED, Alignment, Verdict

KUBELET = "kubelet's static CPU manager"
_SINGLE = "SingleNUMANode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked and decided for one container.

    `wishes` are the annotations that ask for alignment, with their words; `single` says whether
    one of them asks for a single node. `cpus` are the CPUs decided, None where it shares what is
    left, `mems` the memory nodes, empty where none were; `by` is who decided, "" where nobody did.
    `shares` says that the CPUs are those left for all: it is in a pod that has some of its own, of
    which none are its. `refused` is the code of why what was decided isn't followed, "" where it
    is.
    """

    wishes: tuple[str, ...] = ()
    single: bool = False
    cpus: CpuSet | None = None
    mems: MemSet = frozenset()
    by: str = ""
    shares: bool = False
    refused: str = ""

    @property
    def alignment(self) -> bool:
        """Whether anybody asked for it."""
        decided = self.cpus is not None and not self.shares
        return decided or bool(self.wishes or self.refused)


NOTHING = Asked()


def asked(pod: Pod, container: Container, inputs: Inputs, wanted: Desired) -> Asked:
    """What a container was to have, by annotations, kubelet and what is wanted of the machine."""
    wishes = tuple(_wishes(pod, container))
    single = any(_SINGLE in wish for wish in wishes)
    state = inputs.kubelet if inputs.kubelet_static else None
    given = {} if state is None else state.entries.get(pod.cgroup_uid, {})
    if given.get(container.name):
        return Asked(wishes=wishes, single=single, cpus=given[container.name], by=KUBELET)
    said = inputs.decisions.get(pod.uid)
    code = next((each.code for each in wanted.refusals if each.pod.uid == pod.uid), "")
    target = next((each for each in wanted.targets if each.pod.uid == pod.uid), None)
    if target is None or not isinstance(said, Assignment):
        # What is in force of an assignment whose words are refused now is kept.
        kept = target.cpus if target is not None and target.exclusive else None
        return Asked(wishes=wishes, single=single, cpus=kept, refused=code)
    placement = said.of(container.name)
    bound = target.exclusive or bool(placement.nodes)
    return Asked(
        wishes=wishes,
        single=single,
        cpus=_cpus(target, container) if bound else None,
        mems=placement.mems or _mems(target, container) or frozenset(),
        by=said.source if placement.binds_cpus or placement.mems else "",
        shares=bound and not placement.binds_cpus,
        refused=code,
    )


def refused(pod: Pod, inputs: Inputs) -> AssignmentError | None:
    """What is wrong with the words that decide for a pod, None where nothing is."""
    said = inputs.decisions.get(pod.uid)
    return said if isinstance(said, AssignmentError) else None


def fulfilled(verdict: Verdict, wanted: Asked) -> bool:
    """Whether a container that asked for alignment was seen to have it.

    CPUs, memory or devices in several nodes are what was asked for where they were decided so, and
    no single node was asked for.
    """
    if wanted.refused or (wanted.cpus is not None and verdict.effective != wanted.cpus):
        return False
    if verdict.alignment is Alignment.ALIGNED:
        return True
    if wanted.single:
        return False
    return all(
        each.leads_to is None or (each.cause is not None and each.cause.code == AS_DECIDED)
        for each in verdict.reasons
    )


def _wishes(pod: Pod, container: Container) -> Iterator[str]:
    specified = {demand.container for demand in pod.demands.containers}
    if specified and container.name not in specified:
        return  # an ephemeral one, which asked for nothing
    try:
        specs = [each for each in topology_specs(pod.annotations) if each.policy is not None]
    except AssignmentError:
        return
    for spec in specs:
        yield f"{spec.source}: {spec.policy}"
    switch = pod.annotations.get(SCHEDULER)
    if switch in SWITCHED_ON and not specs:
        yield f"{SCHEDULER}: {switch}"


def _cpus(target: PodTarget, container: Container) -> CpuSet | None:
    own = target.containers.get(container.id or "")
    return target.cpus if own is None or own.cpus is None else own.cpus


def _mems(target: PodTarget, container: Container) -> MemSet | None:
    own = target.containers.get(container.id or "")
    return target.mems if own is None or own.mems is None else own.mems
