"""What pods hold at one time, by what was decided here and by schedulers; and the room left."""

from collections.abc import Collection, Iterator, Mapping

from numa_agent.core.assigner.amounts import memory_of, shared_of
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.assigner.room import Holding, room_of, usable_cpus
from numa_agent.core.assigner.situation import Situation
from numa_agent.core.assigner.values import Policy, Room
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets.sides import around
from numa_agent.core.pods import Pod
from numa_agent.core.schedulers.ack_assignment import topology_specs


def room_left(
    situation: Situation, kept: Mapping[str, Kept], *, fresh: Collection[str] = ()
) -> Room:
    """What can still be had. The accounts don't know yet of the pods (by uid) that are `fresh`."""
    inputs = situation.inputs
    return room_of(
        inputs.topology,
        reserved=inputs.reserved or frozenset(),
        taken=taken(situation),
        holdings=[*ours(situation, kept, fresh), *others(situation)],
        accounts=situation.accounts(),
        shapes=situation.shapes,
        within=within(situation),
    )


def usable(situation: Situation) -> CpuSet:
    """The CPUs that could ever be given out here."""
    inputs = situation.inputs
    return usable_cpus(
        inputs.topology, inputs.reserved or frozenset(), within(situation)
    ).intersection(frozenset[int]().union(*(node.cpus or () for node in inputs.topology.nodes)))


def within(situation: Situation) -> CpuSet | None:
    """The CPUs in force above the pods whose cgroups were seen, None where none were.

    An admin, or another pod's partition, may have narrowed kubelet's own cgroup.
    """
    seen = situation.inputs.observed.values()
    bounds = [outer for each in seen if (outer := around(each, "cpus"))]
    return frozenset[int]().union(*bounds) if bounds else None


def taken(situation: Situation) -> CpuSet:
    """The CPUs that schedulers and kubelet gave out."""
    state = situation.inputs.kubelet
    given = () if state is None else state.by_pod.values()
    return frozenset[int]().union(*situation.theirs.values(), *given)


def ours(
    situation: Situation, kept: Mapping[str, Kept], fresh: Collection[str] = ()
) -> Iterator[Holding]:
    """What pods have by our own decisions."""
    pods = {pod.uid: pod for pod in situation.inputs.pods if not pod.finished}
    for uid, each in kept.items():
        # The accounts know the memory of pods with CPUs of their own, once those were decided.
        told = bool(each.cpus) and uid not in fresh
        yield Holding(
            cpus=each.cpus,
            nodes=each.nodes,
            single=each.single,
            apart=each.apart,
            memory={} if told or uid not in pods else memory_of(pods[uid]),
            shared_millis=0 if uid not in pods else shared_of(pods[uid], each.sharing),
        )


def others(situation: Situation) -> Iterator[Holding]:
    """What pods have by the word of a scheduler."""
    for pod in situation.inputs.pods:
        said = situation.inputs.decisions.get(pod.uid)
        cpus = situation.theirs.get(pod.uid, frozenset())
        if pod.finished or not isinstance(said, Assignment) or not (cpus or said.binds_cpus):
            continue
        nodes = situation.inputs.topology.nodes_of(cpus) | said.pod.nodes
        yield Holding(cpus=cpus, nodes=nodes, single=must_be_single(pod, nodes))


def must_be_single(pod: Pod, nodes: frozenset[int]) -> bool:
    """Whether a pod that a scheduler put on these nodes is one of a single NUMA node.

    By its words; one without any is what it is, as koord-scheduler counts all pods
    (pkg/scheduler/plugins/nodenumaresource/node_allocation.go in
    https://github.com/koordinator-sh/koordinator).
    """
    try:
        policies = [spec.policy for spec in topology_specs(pod.annotations) if spec.policy]
    except AssignmentError:
        policies = []
    return Policy.SINGLE in policies if policies else len(nodes) == 1
