"""What keeps an assignment from being followed on this machine, whoever else is there."""

from collections.abc import Iterator

from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets.sides import around
from numa_agent.core.cpusets.values import Inputs, Options
from numa_agent.core.pod_keys import ALLOW_ISOLATED as ALLOW_ISOLATED
from numa_agent.core.pods import Pod

RESERVED_UNKNOWN = "reserved-unknown"
"""What is kept for the system isn't known yet, which a binding in force needn't wait for."""

Fault = tuple[str, str]
"""A stable code, and a sentence or the end of one that says what was decided."""


def cpu_fault(pod: Pod, said: Assignment, inputs: Inputs, options: Options) -> Fault | None:
    """The first thing that keeps the machine from giving a pod its own CPUs.

    The kernel schedules tasks on isolated CPUs, and doesn't balance them over these:
    https://docs.kernel.org/admin-guide/kernel-parameters.html (isolcpus).
    """
    topology = inputs.topology
    missing = said.cpus - topology.online
    if missing:
        online = render(topology.online)
        return "cpus-not-online", f"{render(missing)} aren't online (online: {online})"
    homeless = said.cpus.difference(*(node.cpus or () for node in topology.nodes))
    if homeless:
        return "cpus-without-node", f"{render(homeless)} are in no known NUMA node"
    isolated = said.cpus & (topology.isolated or frozenset())
    if isolated and pod.annotations.get(ALLOW_ISOLATED) != "true":
        asks = f"only a pod with {ALLOW_ISOLATED}: 'true' gets them"
        return "cpus-isolated", f"{render(isolated)} are isolated: {asks}"
    if inputs.reserved is None and not options.reserved:
        what = f"{render(said.cpus)} may be reserved for the system"
        return RESERVED_UNKNOWN, f"{what}: neither the Node nor kubelet's settings say so far"
    reserved = said.cpus & (inputs.reserved or CpuSet())
    if reserved and not options.reserved:
        return "cpus-reserved", f"{render(reserved)} are reserved for the system"
    return _outside(pod, said.cpus, inputs)


def _outside(pod: Pod, cpus: CpuSet, inputs: Inputs) -> Fault | None:
    if inputs.kubelet is not None and inputs.kubelet_static:
        shared = inputs.kubelet.shared
        # What it gave out has a holder, who is named instead.
        outside = cpus - shared - frozenset[int]().union(*inputs.kubelet.by_pod.values())
        if outside:
            what = f"{render(outside)} aren't among those that kubelet's static CPU manager shares"
            return "cpus-reserved", f"{what} ({render(shared)})"
    groups = inputs.observed.get(pod.uid)
    outer = None if groups is None else around(groups, "cpus")
    outside = frozenset() if outer is None else cpus - outer
    if groups is not None and outer is not None and outside:
        where = groups.above[-1].path if groups.above else groups.group.path
        what = f"{render(outside)} aren't in force above the pod"
        return "cpus-outside-parent", f"{what} ({where or '/'} has {render(outer)})"
    return None


def node_fault(pod: Pod, said: Assignment, inputs: Inputs) -> Fault | None:
    """The first thing that is wrong with the NUMA nodes that an assignment names."""
    for placement in _placements(said):
        for fault in (_shared_nodes(placement, inputs), _memory_nodes(pod, placement, inputs)):
            if fault is not None:
                return fault
    return None


def _placements(said: Assignment) -> Iterator[Placement]:
    yield said.pod
    for name in sorted(said.containers):
        yield said.containers[name]


def _shared_nodes(placement: Placement, inputs: Inputs) -> Fault | None:
    unknown = placement.nodes - {node.id for node in inputs.topology.nodes}
    if unknown:
        return _unknown(unknown, inputs)
    with_cpus = {node.id for node in inputs.topology.cpu_nodes}
    if placement.nodes and not placement.nodes & with_cpus:
        return "nodes-without-cpus", f"none of nodes {render(placement.nodes)} has online CPUs"
    return None


def _memory_nodes(pod: Pod, placement: Placement, inputs: Inputs) -> Fault | None:
    known = {node.id: node for node in inputs.topology.nodes}
    unknown = placement.mems - known.keys()
    if unknown:
        return _unknown(unknown, inputs)
    if not placement.mems:
        return None
    # One whose memory is unknown isn't known to have none.
    with_memory = {each for each in placement.mems if known[each].memory_bytes != 0}
    if not with_memory:
        return "mems-without-memory", f"none of nodes {render(placement.mems)} has memory"
    groups = inputs.observed.get(pod.uid)
    outer = None if groups is None else around(groups, "mems")
    if outer is not None and not with_memory & outer:
        return (
            "mems-outside-parent",
            f"none of nodes {render(with_memory)} is in force above the pod ({render(outer)})",
        )
    return None


def _unknown(nodes: frozenset[int], inputs: Inputs) -> Fault:
    online = render(node.id for node in inputs.topology.nodes)
    return "node-unknown", f"NUMA nodes {render(nodes)} aren't there (online: {online})"
