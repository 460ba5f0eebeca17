"""The same pods by several ways to choose CPUs: this assigner's, by CPU id, as kubelet does; and
with other policies than they have."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from numa_agent.core.assigner.beside import Beside
from numa_agent.core.assigner.values import NodeIds, Policy, Room, Wish
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.pod_keys import TOPOLOGY_SPECS
from numa_agent.core.pods import Pod
from numa_agent.core.simulating.baselines import Chooser, KubeletStatic, first_fit
from numa_agent.core.simulating.values import Compared, Placed
from numa_agent.core.slots import GpuRoom, Shape, ShapeSlots, count
from numa_agent.core.topology import Topology

ASSIGNER = "numa-agent's assigner"
FIRST_FIT = "first fit by CPU id"
KUBELET = "kubelet's static policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A pod with what became of it, the number of CPUs of its own that it wants, its devices, and
    on how few NUMA nodes it could ever be (None: on none)."""

    placed: Placed
    cpus: int
    there: Beside
    fewest: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What is compared: pods in order, in a room as it was before them; `gpus` are as they are
    after them."""

    topology: Topology
    room: Room
    gpus: GpuRoom
    shapes: tuple[Shape, ...]
    labels: Mapping[str, str]
    pods: tuple[Entrant, ...]


def compared(contest: Contest) -> tuple[Compared, ...]:
    """How each way does: on the same pods, with the same devices.

    The slots left are those of pods that go beside pods of several nodes, since only the assigner
    knows who keeps off whom; memory isn't counted.
    """
    return (
        as_placed(ASSIGNER, contest),
        _compared(FIRST_FIT, contest, _chosen(contest, first_fit)),
        _compared(KUBELET, contest, _chosen(contest, KubeletStatic(contest.topology))),
    )


def as_placed(name: str, contest: Contest) -> Compared:
    """How the assigner did."""
    return _compared(
        name, contest, {each.placed.pod.uid: each.placed.cpus for each in contest.pods}
    )


def with_policy(pod: Pod, wish: Wish, policy: Policy) -> Pod:
    """A pod had it asked by this policy; whom it keeps off stays."""
    spec = {
        "numaTopologyPolicy": policy.value,
        "singleNUMANodeExclusive": "Required" if wish.exclusive else "Preferred",
    }
    others = {key: text for key, text in pod.annotations.items() if key not in TOPOLOGY_SPECS}
    return replace(pod, annotations={**others, TOPOLOGY_SPECS[0]: json.dumps(spec)})


def is_beside(nodes: NodeIds, there: Beside, fewest: int | None) -> bool:
    """Whether CPUs on these nodes are all beside a pod's devices, where the place of all is known.

    Without devices: whether they are on no more nodes than the fewest that could ever hold it.
    """
    if there.unplaced or there.waits_for is not None:
        return False
    if there.places:
        return nodes <= frozenset[int]().union(*there.places)
    return fewest is not None and len(nodes) <= fewest


def _chosen(contest: Contest, choose: Chooser) -> dict[str, CpuSet]:
    free = frozenset[int]().union(*(node.free for node in contest.room.nodes))
    found: dict[str, CpuSet] = {}
    for each in contest.pods:
        cpus = choose(free, each.cpus)
        if cpus is not None:
            found[each.placed.pod.uid] = cpus
            free -= cpus
    return found


def _compared(name: str, contest: Contest, cpus: Mapping[str, CpuSet]) -> Compared:
    taken = frozenset[int]().union(*cpus.values())
    has = {uid: found for uid, found in cpus.items() if found}
    aligned = sum(
        is_beside(contest.topology.nodes_of(has[uid]), each.there, each.fewest)
        for each in contest.pods
        if (uid := each.placed.pod.uid) in has
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
