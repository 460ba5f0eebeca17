"""What one container holds, or kubelet offers: CPUs, devices, memory, dynamic resources."""

from collections import defaultdict
from collections.abc import Sequence

from numa_agent.core.cpulist import MAX_ID, CpuSet
from numa_agent.core.documents import items, mapping, text
from numa_agent.core.grants import DeviceGrant, DynamicGrant, MemoryGrant
from numa_agent.core.podresources.part import Part, several, shown, whole

_MOST_BYTES = 2**64 - 1
_NO_NODE = -1
"""The node id with which a device plugin says that a device is on none."""


def parse_cpus(part: Part) -> CpuSet:
    """The set of its cpu_ids, which kubelet says in no order."""
    ids = {shown(entry): _id(entry) for entry in part.entries("cpu_ids")}
    wrong = [name for name, cpu in ids.items() if cpu is None or cpu < 0]
    if wrong:
        part.refuse(f"its cpu_ids {several(wrong)} aren't CPUs")
    return frozenset(cpu for cpu in ids.values() if cpu is not None and cpu >= 0)


def parse_devices(part: Part) -> tuple[DeviceGrant, ...]:
    """The devices by resource and nodes; kubelet says a device once for each node it is on."""
    found: defaultdict[tuple[str, str], list[CpuSet | None]] = defaultdict(list)
    for entry in part.parts("devices", "device entry"):
        resource = entry.text("resource_name")
        if resource is None:
            continue
        nodes = _nodes(entry)
        for device in entry.entries("device_ids"):
            if text(device) is None:
                entry.refuse(f"its device id is {shown(device)}, not a name")
            else:
                found[resource, str(device)].append(nodes)
    grouped: defaultdict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for (resource, device), each in found.items():
        grouped[resource, _joined(each)].append(device)
    return tuple(
        DeviceGrant(resource=resource, ids=tuple(sorted(ids)), nodes=nodes)
        for (resource, nodes), ids in sorted(grouped.items())
    )


def _joined(each: Sequence[CpuSet | None]) -> tuple[int, ...]:
    """The nodes of one device's entries: none at all where one of them can't be read."""
    if None in each:
        return ()
    return tuple(sorted(frozenset[int]().union(*(nodes for nodes in each if nodes))))


def parse_memory(part: Part) -> tuple[MemoryGrant, ...]:
    """The memory blocks; two that are alike are two blocks."""
    found = []
    for entry in part.parts("memory", "memory block"):
        kind = entry.text("memory_type")
        size = whole(0 if entry.get("size") is None else entry.get("size"))
        if size is None or not 0 <= size <= _MOST_BYTES:
            entry.refuse(f"its size is {shown(entry.get('size'))}, not a number of bytes")
        elif kind is not None:
            nodes = _joined([_nodes(entry)])
            found.append(MemoryGrant(kind=kind, size=size, nodes=nodes))
    return tuple(sorted(found, key=lambda block: (block.kind, block.nodes, block.size)))


def _nodes(entry: Part) -> CpuSet | None:
    """The NUMA nodes of a device or memory block: empty for no affinity, None if unreadable.

    proto3 leaves a 0 out, so an element without ID is node 0; -1 is no node.
    """
    topology = entry.get("topology")
    if topology is not None and not isinstance(topology, dict):
        entry.refuse(f"its topology is {shown(topology)}, not an object")
        return None
    listed = mapping(topology).get("nodes")
    if listed is not None and not isinstance(listed, list | tuple):
        entry.refuse(f"its nodes {shown(listed)} aren't a list")
        return None
    nodes: set[int] = set()
    for element in items(listed):
        node = _node(element)
        if node is None:
            entry.refuse(f"its node is {shown(element)}, so its nodes are unknown")
            return None
        nodes.add(node)
    return frozenset(nodes - {_NO_NODE})


def _node(element: object) -> int | None:
    if not isinstance(element, dict):
        return None
    return 0 if element.get("ID") is None else _id(element["ID"])


def parse_dynamic(container: Part) -> tuple[DynamicGrant, ...]:
    """The devices of its resource claims, each once."""
    found = set()
    for claim in container.parts("dynamic_resources", "claim"):
        namespace, name = claim.text("claim_namespace"), claim.text("claim_name")
        if namespace is None or name is None:
            continue
        for device in claim.parts("claim_resources", "device"):
            found.add(
                DynamicGrant(
                    claim_namespace=namespace,
                    claim_name=name,
                    driver=_word(device, "driver_name"),
                    pool=_word(device, "pool_name"),
                    device=_word(device, "device_name"),
                    cdi_devices=_cdi_devices(device),
                )
            )
    return tuple(sorted(found, key=_dynamic_key))


def _cdi_devices(device: Part) -> tuple[str, ...]:
    named = (entry.text("name") for entry in device.parts("cdi_devices", "CDI device"))
    return tuple(sorted(name for name in named if name is not None))


def _word(part: Part, name: str) -> str:
    """A text that a kubelet before 1.31 doesn't say: "" then."""
    return "" if part.get(name) is None else part.text(name) or ""


def _id(value: object) -> int | None:
    """A CPU's or node's id, or the -1 of no node."""
    number = whole(value)
    return number if number is not None and _NO_NODE <= number <= MAX_ID else None


def _dynamic_key(grant: DynamicGrant) -> tuple[object, ...]:
    claim = (grant.claim_namespace, grant.claim_name)
    return (*claim, grant.driver, grant.pool, grant.device, grant.cdi_devices)
