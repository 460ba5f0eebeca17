"""The map as JSON: the stable contract `numa-agent.topology/v1` of docs/topology-json.md.

Ids and bytes are integers, CPU sets are kernel lists, what isn't known is null and never absent.
"""

from collections.abc import Iterable

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import CpuGroup, NumaNode, PciDevice, Topology

FORMAT = "numa-agent.topology/v1"

Json = dict[str, object]


def to_json(topology: Topology) -> Json:
    """The whole map as the values that `json.dumps` takes, in a fixed order."""
    return {
        "format": FORMAT,
        "cpus": _cpus(topology),
        "packages": _groups(topology.packages),
        "dies": _groups(topology.dies),
        "clusters": _groups(topology.clusters),
        "cores": None if topology.cores is None else [_set(core) for core in topology.cores],
        "nodes": [_node(node) for node in topology.nodes],
        "caches": [
            {"level": cache.level, "cpus": _set(cache.cpus), "size_bytes": cache.size_bytes}
            for cache in topology.caches
        ],
        "pci_devices": [_device(device) for device in topology.pci_devices],
        "gpus": [],
        "warnings": [
            {"code": warning.code, "subject": warning.subject, "message": warning.message}
            for warning in topology.warnings
        ],
    }


def _cpus(topology: Topology) -> Json:
    return {
        "online": _set(topology.online),
        "present": _set(topology.present),
        "offline": _set(topology.offline),
        "isolated": _set(topology.isolated),
        "count": len(topology.online),
        "cores": _count(topology.cores),
        "packages": _count(topology.packages),
        "kinds": [
            {"name": kind.name, "cpus": _set(kind.cpus), "capacity": kind.capacity}
            for kind in topology.cpu_kinds
        ],
    }


def _node(node: NumaNode) -> Json:
    distances = node.distances
    return {
        "id": node.id,
        "kind": None if node.kind is None else node.kind.value,
        "cpus": _set(node.cpus),
        "memory_bytes": node.memory_bytes,
        "hugepages": [
            {"size_kib": pool.size_kib, "total": pool.total, "free": pool.free}
            for pool in node.hugepages
        ],
        "distances": None
        if distances is None
        else {str(other): distances[other] for other in sorted(distances)},
        "nearest_cpu_nodes": list(node.nearest_cpu_nodes),
    }


def _device(device: PciDevice) -> Json:
    return {
        "address": str(device.address),
        "class": _code(device.class_code, 6),
        "vendor": _code(device.vendor, 4),
        "device": _code(device.device, 4),
        "node": device.node,
        "raw_numa_node": device.raw_numa_node,
        "node_source": device.node_source.value,
    }


def _groups(groups: Iterable[CpuGroup] | None) -> list[Json] | None:
    if groups is None:
        return None
    return [{"id": group.id, "cpus": _set(group.cpus)} for group in groups]


def _set(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else cpulist.render(cpus)


def _count(things: tuple[object, ...] | None) -> int | None:
    return None if things is None else len(things)


def _code(number: int | None, digits: int) -> str | None:
    return None if number is None else f"0x{number:0{digits}x}"
