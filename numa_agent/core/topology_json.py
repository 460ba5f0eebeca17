"""The map as JSON: the stable contract `numa-agent.topology/v1` of docs/topology-json.md.

Ids and bytes are integers, CPU sets are kernel lists, what isn't known is null and never absent.
"""

from collections.abc import Iterable

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import VENDORS, Gpu, Link, PciDevice
from numa_agent.core.nvml import MigInstance, NvmlGpu
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import CpuGroup, NumaNode, Topology

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
        "gpus": [_gpu(gpu) for gpu in topology.gpus],
        "links": [_link(link) for link in topology.links],
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
        "kind": None if device.kind is None else device.kind.value,
        "class": _code(device.class_code, 6),
        "vendor": _code(device.vendor, 4),
        "device": _code(device.device, 4),
        "driver": device.driver,
        "interfaces": list(device.interfaces),
        "rdma": list(device.rdma),
        "physical_function": _address(device.physical_function),
        **_place(device),
    }


def _place(device: PciDevice) -> Json:
    return {
        "node": device.node,
        "nodes": list(device.nodes),
        "node_source": device.node_source.value,
        "raw_numa_node": device.raw_numa_node,
    }


def _gpu(gpu: Gpu) -> Json:
    device, nvml = gpu.device, gpu.nvml
    return {
        "address": str(device.address),
        "vendor": VENDORS.get(device.vendor or 0),
        "driver": device.driver,
        **_place(device),
        "cpus": _set(gpu.cpus),
        "memory_node": gpu.memory_node,
        "nics": None if gpu.nics is None else [str(nic) for nic in gpu.nics],
        "health": gpu.health,
        **_said_by(nvml),
    }


def _said_by(nvml: NvmlGpu | None) -> Json:
    """What NVML adds, all of it null where NVML doesn't know the GPU."""
    if nvml is None:
        facts = dict.fromkeys(_NVML_FACTS)
        return {**facts, "mig": None, "fabric": None, "errors": None}
    return {
        **{name: getattr(nvml, name) for name in _NVML_FACTS},
        "mig": [_mig(instance) for instance in nvml.mig],
        "fabric": None
        if nvml.fabric is None
        else {"cluster_uuid": nvml.fabric.cluster_uuid, "clique_id": nvml.fabric.clique_id},
        "errors": [
            {"call": error.call, "argument": error.argument, "error": error.error}
            for error in nvml.errors
        ],
    }


_NVML_FACTS = (
    *("uuid", "index", "minor", "name", "memory_bytes"),
    *("persistence", "addressing_mode", "c2c", "mig_mode", "mig_pending"),
)
"""The facts of a GPU that the JSON has as NVML gives them, by the same names."""


def _mig(instance: MigInstance) -> Json:
    return {
        "uuid": instance.uuid,
        "profile": instance.profile,
        "gpu_instance": instance.gpu_instance,
        "compute_instance": instance.compute_instance,
        "memory_bytes": instance.memory_bytes,
    }


def _link(link: Link) -> Json:
    return {
        "a": str(link.a),
        "b": str(link.b),
        "level": None if link.level is None else link.level.value,
        "nvml_level": None if link.nvml_level is None else link.nvml_level.value,
        "nvlinks": link.nvlinks,
        "nvlink_switched": link.switched,
        "nvlink_bytes_per_second": link.bytes_per_second,
        "p2p": None if link.p2p is None else dict(link.p2p),
    }


def _groups(groups: Iterable[CpuGroup] | None) -> list[Json] | None:
    if groups is None:
        return None
    return [{"id": group.id, "cpus": _set(group.cpus)} for group in groups]


def _address(address: PciAddress | None) -> str | None:
    return None if address is None else str(address)


def _set(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else cpulist.render(cpus)


def _count(things: tuple[object, ...] | None) -> int | None:
    return None if things is None else len(things)


def _code(number: int | None, digits: int) -> str | None:
    return None if number is None else f"0x{number:0{digits}x}"
