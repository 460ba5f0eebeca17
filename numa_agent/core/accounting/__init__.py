"""Capacity, allocatable and available of each NUMA node that CPUs are handed out from.

`available <= allocatable <= capacity` always holds, and a CPU, a byte and a device count once
(fields of NodeResourceTopology:
https://github.com/k8stopologyawareschedwg/noderesourcetopology-api). Where sources disagree, both
values are reported and the smaller one is offered.
"""

from collections.abc import Mapping

from numa_agent.core.accounting.amounts import Accounts, Amount, NodeAccount, Sources
from numa_agent.core.accounting.held import held_cpus, held_devices
from numa_agent.core.accounting.held_memory import held_memory
from numa_agent.core.accounting.kept_back import is_of
from numa_agent.core.accounting.memory import allocatable_memory, capacities
from numa_agent.core.accounting.reserved import reserved_cpus
from numa_agent.core.accounting.units import placed_units
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.topology import Topology

__all__ = [
    "Accounts",
    "Amount",
    "NodeAccount",
    "Sources",
    "account",
    "is_of",
    "reserved_cpus",
    "unaccountable",
]


def unaccountable(topology: Topology) -> str | None:
    """Why no true account of the machine can be given, None when it can.

    An object with a part missing would take that capacity away from the scheduler, or give it some
    that isn't there.
    """
    if not topology.cpu_nodes:
        return "no NUMA node with CPUs is known"
    for node in topology.nodes:
        if node.cpus is None:
            return f"the CPUs of node {node.id} are unknown"
        if node.cpus and node.memory_bytes is None:
            return f"the memory of node {node.id} is unknown"
        if any(pool.total is None for pool in node.hugepages):
            return f"the hugepages of node {node.id} are unknown"
    homeless = topology.online.difference(*(node.cpus or () for node in topology.nodes))
    return f"CPUs {render(homeless)} are in no node" if homeless else None


def account(sources: Sources) -> Accounts:
    """An account for each node with CPUs, ascending, of a machine that isn't unaccountable."""
    conditions: list[Condition] = []
    reserved = reserved_cpus(sources, conditions)
    held = held_cpus(sources, conditions)
    capacity = capacities(sources)
    allocatable = allocatable_memory(sources, capacity, conditions)
    memory = held_memory(sources, allocatable, conditions)
    units = placed_units(sources, conditions)
    devices = held_devices(sources, conditions)
    return Accounts(
        nodes=tuple(
            NodeAccount(
                node=node,
                resources={
                    "cpu": _cpus(sources, node.cpus or frozenset(), reserved, held),
                    **{
                        kind: _amount(
                            total,
                            allocatable[node.id][kind],
                            memory.get((node.id, kind), 0),
                        )
                        for kind, total in capacity[node.id].items()
                    },
                    **_units(units, devices, node.id),
                },
            )
            for node in sources.topology.cpu_nodes
        ),
        reserved=reserved,
        conditions=tuple(sorted(set(conditions))),
    )


def _cpus(sources: Sources, own: CpuSet, reserved: CpuSet, held: CpuSet) -> Amount:
    offered = own - reserved
    free = offered - held
    settings = sources.settings
    whole = settings is not None and (
        settings.cpu_manager_policy == "static"
        and settings.cpu_manager_options.get("full-pcpus-only") == "true"
    )
    if whole and sources.topology.cores is not None:
        # kubelet then gives out no core that somebody else has a thread of.
        free = frozenset[int]().union(*(core for core in sources.topology.cores if core <= free))
    return Amount(capacity=len(own), allocatable=len(offered), available=len(free))


def _amount(capacity: int, allocatable: int, held: int) -> Amount:
    return Amount(capacity=capacity, allocatable=allocatable, available=max(0, allocatable - held))


def _units(
    units: Mapping[str, Mapping[str, int]], held: frozenset[tuple[str, str]], node_id: int
) -> dict[str, Amount]:
    amounts = {}
    for resource, places in units.items():
        here = [unit for unit, node in places.items() if node == node_id]
        taken = sum((resource, unit) in held for unit in here)
        amounts[resource] = _amount(len(here), len(here), taken)
    return amounts
