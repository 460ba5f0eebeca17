"""On which NUMA node each device of an extended resource is.

A resource is told by node only if every unit's node is known: a scheduler takes a zone that lacks
units for one that has none, and rejects pods that would fit.
"""

from collections import defaultdict
from collections.abc import Mapping

from numa_agent.core.accounting.amounts import Sources
from numa_agent.core.conditions import Condition
from numa_agent.core.node import native
from numa_agent.core.topology import home_nodes

Units = dict[str, dict[str, int]]
"""The node of each unit's id, by resource."""


def placed_units(sources: Sources, conditions: list[Condition]) -> Units:
    """The node of each healthy unit of the resources that can be told by node."""
    offer = None if sources.granted is None else sources.granted.offer
    conditions.extend(
        _left_out(name, "podresources names no unit of it") for name in _untold(sources)
    )
    if offer is None:
        return {}
    homes = _homes(sources)
    mapped = _by_map(sources)
    told: defaultdict[str, dict[str, set[int]]] = defaultdict(dict)
    for device in offer.devices:
        for unit in device.ids:
            told[device.resource].setdefault(unit, set()).update(device.nodes)
    placed: Units = {}
    for resource, units in sorted(told.items()):
        places = {
            unit: _place(resource, unit, nodes, homes, mapped, conditions)
            for unit, nodes in sorted(units.items())
        }
        why = _why_not(sources, resource, places)
        if why is None:
            placed[resource] = {unit: node for unit, node in places.items() if node is not None}
            _check_count(sources, resource, len(places), conditions)
        else:
            conditions.append(_left_out(resource, why))
    return placed


def _untold(sources: Sources) -> list[str]:
    """The extended resources that the Node offers and podresources doesn't."""
    offer = None if sources.granted is None else sources.granted.offer
    told = {device.resource for device in (() if offer is None else offer.devices)}
    offered = sources.node.allocatable
    return sorted(
        name for name, count in offered.items() if count and name not in told and not native(name)
    )


def _left_out(resource: str, why: str) -> Condition:
    return Condition(
        code="extended-resource-unplaced",
        subject=resource,
        message=f"{resource}: {why}; it is left out of every zone",
    )


def _check_count(sources: Sources, resource: str, named: int, conditions: list[Condition]) -> None:
    count = sources.node.allocatable.get(resource, named)
    if count != named:
        conditions.append(
            Condition(
                code="extended-resource-count-differs",
                subject=resource,
                message=f"{resource}: the Node offers {count} units, podresources names {named};"
                " all are told by zone",
            )
        )


def _why_not(sources: Sources, resource: str, places: Mapping[str, int | None]) -> str | None:
    unknown = [unit for unit, node in places.items() if node is None]
    if unknown:
        some = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        return f"the NUMA node of {len(unknown)} of its {len(places)} units isn't known ({some})"
    if not sources.node.allocatable:
        return None
    count = sources.node.allocatable.get(resource)
    if not count:
        return "the Node offers none of it"
    if count > len(places):
        return f"the Node offers {count} units, podresources names {len(places)}"
    return None


def _homes(sources: Sources) -> Mapping[int, int]:
    """The node with CPUs that stands for each node: its own, or the nearest of a memory node."""
    own = {node.id: node.id for node in sources.topology.cpu_nodes}
    return {**home_nodes(sources.topology.nodes), **own}


def _place(
    resource: str,
    unit: str,
    nodes: set[int],
    homes: Mapping[int, int],
    mapped: Mapping[str, int],
    conditions: list[Condition],
) -> int | None:
    """The node of a unit: its plugin's, since kubelet aligns by that, else our map's."""
    plugin = {homes[node] for node in nodes if node in homes}
    ours = mapped.get(unit, mapped.get(unit.partition("::")[0]))
    if len(plugin) != 1:
        return ours
    (node,) = plugin
    if ours is not None and ours != node:
        conditions.append(
            Condition(
                code="device-node-differs",
                subject=f"{resource} {unit}",
                message=f"{resource} {unit}: its plugin says node {node}, the machine's map node"
                f" {ours}; the plugin's is told, since kubelet aligns by it",
            )
        )
    return node


def _by_map(sources: Sources) -> Mapping[str, int]:
    """Our own map's node of devices, by the ids that plugins use: GPU and MIG UUIDs, addresses."""
    found: dict[str, int] = {}
    for device in sources.topology.pci_devices:
        if device.node is not None:
            found[str(device.address)] = device.node
    for gpu in sources.topology.gpus:
        node = gpu.device.node
        if node is None or gpu.nvml is None:
            continue
        uuids = [gpu.nvml.uuid, *(instance.uuid for instance in gpu.nvml.mig)]
        found |= {uuid: node for uuid in uuids if uuid is not None}
    return found
