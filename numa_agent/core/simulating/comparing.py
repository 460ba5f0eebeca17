"""The same pods by several ways to choose CPUs: this assigner's, by CPU id, as kubelet does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from numa_agent.core.assigner.beside import Beside
from numa_agent.core.assigner.values import NodeIds, Room
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.simulating.baselines import Chooser, KubeletStatic, first_fit
from numa_agent.core.simulating.values import Compared, Placed
from numa_agent.core.slots import GpuRoom, Shape, ShapeSlots, count
from numa_agent.core.topology import Topology

ASSIGNER = "numa-agent's assigner"
FIRST_FIT = "first fit by CPU id"
KUBELET = "kubelet's static policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What is compared: pods with the CPUs of their own that they want and their devices, in
    order, in a room as it was before them; `gpus` are as they are after them."""

    topology: Topology
    room: Room
    gpus: GpuRoom
    shapes: tuple[Shape, ...]
    labels: Mapping[str, str]
    pods: tuple[tuple[Placed, int, Beside], ...]


def compared(contest: Contest) -> tuple[Compared, ...]:
    """How each way does: on the same pods, with the same devices.

    The slots left are those of pods that go beside pods of several nodes, since only the assigner
    knows who keeps off whom; memory isn't counted.
    """
    ours = {each.pod.uid: each.cpus for each, _, _ in contest.pods}
    return (
        _compared(ASSIGNER, contest, ours),
        _compared(FIRST_FIT, contest, _chosen(contest, first_fit)),
        _compared(KUBELET, contest, _chosen(contest, KubeletStatic(contest.topology))),
    )


def is_beside(topology: Topology, nodes: NodeIds, cpus: int, there: Beside) -> bool:
    """Whether CPUs on these nodes are all beside a pod's devices, where the place of all is known.

    Without devices: whether they are on as few nodes as so many CPUs could ever be on.
    """
    if there.unplaced or there.waits_for is not None:
        return False
    if there.places:
        return nodes <= frozenset[int]().union(*there.places)
    return len(nodes) <= fewest_nodes(topology, cpus)


def fewest_nodes(topology: Topology, cpus: int) -> int:
    """How many NUMA nodes so many CPUs take at least."""
    sizes = sorted((len(node.cpus or ()) for node in topology.cpu_nodes), reverse=True)
    return 1 + sum(total < cpus for total in accumulate(sizes))


def _chosen(contest: Contest, choose: Chooser) -> dict[str, CpuSet]:
    free = frozenset[int]().union(*(node.free for node in contest.room.nodes))
    found: dict[str, CpuSet] = {}
    for each, number, _ in contest.pods:
        cpus = choose(free, number)
        if cpus is not None:
            found[each.pod.uid] = cpus
            free -= cpus
    return found


def _compared(name: str, contest: Contest, cpus: Mapping[str, CpuSet]) -> Compared:
    taken = frozenset[int]().union(*cpus.values())
    has = {uid: found for uid, found in cpus.items() if found}
    aligned = sum(
        is_beside(contest.topology, contest.topology.nodes_of(has[each.pod.uid]), number, there)
        for each, number, there in contest.pods
        if each.pod.uid in has
    )
    return Compared(name=name, placed=len(has), aligned=aligned, slots=_left(contest, taken))


def _left(contest: Contest, taken: CpuSet) -> tuple[ShapeSlots, ...]:
    nodes = tuple(
        replace(node, free=node.free - taken, memory={}, memory_ever={})
        for node in contest.room.nodes
    )
    room = replace(contest.room, nodes=nodes)
    return tuple(
        count(shape, room, contest.gpus, labels=contest.labels, exclusive=False)
        for shape in contest.shapes
    )
