"""The zones of a node's object: one for each NUMA node, and none that harms its reader.

The reader keeps zones of type `Node` that are named `node-<id>` in a list with a place for each,
and takes an id for a place (scheduler-plugins, pkg/noderesourcetopology/score.go and
least_numa.go): ids with holes panic, and so does node-64 (pluginhelpers.go). Zones of another type
it passes over.
"""

from collections.abc import Mapping, Sequence

from numa_agent.core import cpulist
from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.conditions import Condition
from numa_agent.core.documents import items, mapping
from numa_agent.core.node import native
from numa_agent.core.topology import NodeKind, NumaNode, home_nodes
from numa_agent.core.view import Json, View

HIGHEST_ID = 63
"""The highest id that the reader has a place for."""

MOST_PADDED = 20
"""The most zones that holes may lead to. The LeastNUMANodes strategy tries every set of zones for
a pod that fits none: a million sets of 20, which the scheduler gets through."""

NO_PATH = 255
"""The distance of nodes that don't reach each other (ACPI, SLIT)."""

Places = Mapping[str, int | None]
"""The NUMA node of each zone by its name, in their order; None where there is no such node."""

_NOTHING = Amount(capacity=0, allocatable=0, available=0)


def offered(view: View) -> list[NodeAccount]:
    """The accounts of the nodes with CPUs."""
    return [account for account in view.accounts if account.node.kind is NodeKind.CPU]


def unknown(name: str, nodes: Sequence[NodeAccount]) -> Condition | None:
    """Why no object can be made from these accounts, None when one can."""
    if not nodes:
        message = f"node {name}: no NUMA node with CPUs is accounted for; nothing is published"
        return Condition(code="accounts-unknown", subject=name, message=message)
    for account in nodes:
        missing = sorted({"cpu", "memory"} - account.resources.keys())
        if missing:
            subject = f"node {account.node.id}"
            message = f"{subject}: its {' and '.join(missing)} isn't known; nothing is published,"
            message += " since the scheduler would reject every pod that asks for it"
            return Condition(code="accounts-unknown", subject=subject, message=message)
    return None


def refusal(name: str, ids: Sequence[int]) -> Condition | None:
    """Why the reader can't take zones with these ids, None when it can."""
    last = max(ids)
    if last > HIGHEST_ID:
        fault = f"NUMA node {last} is above {HIGHEST_ID}, which the scheduler's plugin panics on"
    elif last + 1 > max(MOST_PADDED, len(ids)):
        fault = (
            f"the holes between NUMA nodes {cpulist.render(ids)} make {last + 1} zones, and more"
            f" than {MOST_PADDED} can stall the scheduler"
        )
    else:
        return None
    message = f"node {name}: {fault}; it is published without zones and policy"
    return Condition(code="zones-unpublishable", subject=name, message=message)


def many(name: str, zones: Sequence[Json]) -> list[Condition]:
    """Whether there are so many zones that one of the reader's strategies must not be chosen."""
    count = node_zones(zones)
    if count <= MOST_PADDED:
        return []
    message = (
        f"node {name}: {count} zones; the LeastNUMANodes strategy tries every set of them for"
    )
    message += " a pod that fits none, and so stalls the scheduler: choose another"
    return [Condition(code="zones-many", subject=name, message=message)]


def zones(view: View, nodes: Sequence[NodeAccount]) -> list[Json]:
    """A zone for every id up to the last, in order, and one for each memory-only node if asked."""
    accounts = {account.node.id: account for account in nodes}
    memory = [node for node in view.topology.nodes if node.kind is NodeKind.MEMORY]
    memory = memory if view.memory_zones else []
    places: dict[str, int | None] = {
        _name(number): number if number in accounts else None
        for number in range(max(accounts) + 1)
    }
    places |= {f"memory-{node.id}": node.id for node in memory}
    # A resource that only some zones list can't be summed over several of them (least_numa.go).
    listed = sorted({resource for account in nodes for resource in account.resources})
    found = [
        _zone(view, accounts[number], places, listed)
        if number in accounts
        else _hole(number, places)
        for number in range(max(accounts) + 1)
    ]
    homes = home_nodes(view.topology.nodes)
    found += [_memory_zone(view, node, homes.get(node.id), places) for node in memory]
    return found


def node_zones(zones: Sequence[Json]) -> int:
    """How many zones the reader takes for NUMA nodes."""
    return sum(zone["type"] == "Node" for zone in zones)


def resource_names(zones: Sequence[Json]) -> frozenset[str]:
    """The resources that any zone lists."""
    return frozenset(
        str(mapping(row).get("name")) for zone in zones for row in items(zone.get("resources"))
    )


def _zone(view: View, account: NodeAccount, places: Places, listed: Sequence[str]) -> Json:
    return {
        "name": _name(account.node.id),
        "type": "Node",
        **_costs(view.distances_of(account.node), places),
        "resources": [_row(name, account.resources.get(name, _NOTHING)) for name in listed],
    }


def _hole(number: int, places: Places) -> Json:
    """A zone that nothing fits, out of reach lest a near one spoil the others' distances."""
    costs = [{"name": name, "value": NO_PATH} for name in places]
    return {"name": _name(number), "type": "Node", "costs": costs}


def _memory_zone(view: View, node: NumaNode, home: int | None, places: Places) -> Json:
    """A zone that the reader passes over; it lists no device, which would count for pods."""
    own = next((account for account in view.accounts if account.node.id == node.id), None)
    if own is None:
        # Nobody hands it out by node: it is there, and not to be had.
        memory = Amount(capacity=node.memory_bytes or 0, allocatable=0, available=0)
        own = NodeAccount(node=node, resources={"memory": memory})
    rows = [_row(name, amount) for name, amount in sorted(own.resources.items()) if native(name)]
    return {
        "name": f"memory-{node.id}",
        "type": "MemoryNode",
        **({} if home is None else {"parent": _name(home)}),
        **_costs(view.distances_of(node), places),
        "resources": rows,
    }


def _costs(distances: Mapping[int, int] | None, places: Places) -> Json:
    """The distances to all zones, as `costs`; none where the node's own row isn't known."""
    if distances is None:
        return {}
    found = {name: NO_PATH if at is None else distances.get(at) for name, at in places.items()}
    costs = [{"name": name, "value": value} for name, value in found.items() if value is not None]
    return {"costs": costs}


def _row(name: str, amount: Amount) -> Json:
    return {
        "name": name,
        "capacity": str(amount.capacity),
        "allocatable": str(amount.allocatable),
        "available": str(amount.available),
    }


def _name(number: int) -> str:
    return f"node-{number}"
