"""GPUs and the links between devices: sysfs places them, NVML adds what its driver knows."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import DeviceKind, Gpu, Link, PciDevice
from numa_agent.core.links import NVML_LEVELS, Level, level
from numa_agent.core.nvml import NvLink, NvmlGpu
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import NumaNode

_GIGABYTE = 10**9

NVLINK_BYTES_PER_SECOND = {
    1: 20 * _GIGABYTE,
    **dict.fromkeys((2, 3, 4, 5, 6), 25 * _GIGABYTE),
    7: 50 * _GIGABYTE,
}
"""One link in one direction, by NVML's version number: 1 is 1.0, 2 to 6 2.0 to 4.0, 7 is 5.0."""

P2P_OPERATIONS = ("read", "write", "nvlink", "atomics", "pci")
"""What the driver is asked about two GPUs."""

_P2P_STATUS = {
    0: "ok",
    1: "chipset not supported",
    2: "GPU not supported",
    3: "topology not supported",
    4: "disabled by regkey",
    5: "not supported",
}

_TO_GPU, _TO_SWITCH = 0, 2

_NEAREST_FIRST = tuple(Level)
_BY_NODE = {Level.NODE, Level.SYS}


def is_gpu(device: PciDevice, named: frozenset[PciAddress]) -> bool:
    """Whether a device is listed as a GPU: by what it is or because a GPU driver names it.

    Virtual functions aren't: they are parts of one.
    """
    if device.physical_function is not None:
        return False
    kinds = {DeviceKind.GPU, DeviceKind.ACCELERATOR}
    return device.kind in kinds or device.address in named


def gpus(
    devices: Sequence[PciDevice],
    nodes: Iterable[NumaNode],
    isolated: CpuSet,
    nvml: Mapping[PciAddress, NvmlGpu],
    memory_nodes: Mapping[PciAddress, int],
) -> tuple[Gpu, ...]:
    """Every GPU and accelerator among the devices, in address order.

    `memory_nodes` are the nodes of GPUs' own memory as the kernel driver's files tell them.
    """
    cpus = {node.id: node.cpus for node in nodes}
    without_cpus = {node for node, own in cpus.items() if own == frozenset()}
    nics = [device for device in devices if _is_nic(device)]
    named = frozenset((*nvml, *memory_nodes))
    return tuple(
        Gpu(
            device=device,
            cpus=_beside(device, cpus, isolated),
            memory_node=_memory_node(
                nvml.get(device.address), memory_nodes.get(device.address), without_cpus
            ),
            nics=_nearest(device, nics),
            nvml=nvml.get(device.address),
        )
        for device in devices
        if is_gpu(device, named)
    )


def links(listed: Sequence[Gpu], devices: Sequence[PciDevice]) -> tuple[Link, ...]:
    """A link for every pair of GPUs and NICs, in address order."""
    by_address = {gpu.device.address: gpu for gpu in listed}
    ends = [device for device in devices if device.address in by_address or _is_nic(device)]
    return tuple(
        _link(a, b, by_address.get(a.address), by_address.get(b.address))
        for a, b in combinations(ends, 2)
    )


def _is_nic(device: PciDevice) -> bool:
    return device.kind is DeviceKind.NIC and device.physical_function is None


def _memory_node(nvml: NvmlGpu | None, by_files: int | None, without: set[int]) -> int | None:
    """The node of a GPU's memory; a number that isn't an online node without CPUs is none."""
    said = by_files if nvml is None or nvml.memory_node is None else nvml.memory_node
    return said if said in without else None


def _beside(
    device: PciDevice, cpus: Mapping[int, CpuSet | None], isolated: CpuSet
) -> CpuSet | None:
    own = None if device.node is None else cpus.get(device.node)
    return None if own is None else own - isolated


def _nearest(device: PciDevice, nics: Iterable[PciDevice]) -> tuple[PciAddress, ...] | None:
    """The NICs at the nearest level; None where one whose level is unknown may be nearer."""
    levels = {nic.address: level(device.path, nic.path, device.node, nic.node) for nic in nics}
    ranks = {nic: _NEAREST_FIRST.index(found) for nic, found in levels.items() if found}
    least = min(ranks.values(), default=None)
    # Only beyond the host bridge does a level depend on a node, and so may be unknown.
    if None in levels.values() and (least is None or _NEAREST_FIRST[least] in _BY_NODE):
        return None
    return tuple(sorted(nic for nic, rank in ranks.items() if rank == least))


def _link(a: PciDevice, b: PciDevice, gpu_a: Gpu | None, gpu_b: Gpu | None) -> Link:
    nvml_a = None if gpu_a is None else gpu_a.nvml
    nvml_b = None if gpu_b is None else gpu_b.nvml
    # A NIC has no NVLink, and two GPUs that no driver tells of may have some.
    active: Sequence[NvLink] | None = () if gpu_a is None or gpu_b is None else None
    switched = False
    nvml_level = None
    p2p: dict[str, str | None] | None = None
    if nvml_a is not None and nvml_b is not None:
        nvml_level = _nvml_level(nvml_a, nvml_b)
        p2p = _p2p(nvml_a, nvml_b)
        active, switched = _nvlinks(nvml_a, nvml_b)
        if switched and p2p["nvlink"] not in {"ok", "unknown", None}:
            # Links into a switch aren't a connection to everybody on it.
            active, switched = (), False
    return Link(
        a=a.address,
        b=b.address,
        level=level(a.path, b.path, a.node, b.node),
        nvml_level=nvml_level,
        nvlinks=None if active is None else len(active),
        switched=None if active is None else switched,
        bytes_per_second=_bandwidth(active),
        p2p=p2p,
    )


def _nvml_level(a: NvmlGpu, b: NvmlGpu) -> Level | None:
    """What either GPU says of their common ancestor."""
    number = a.common_ancestors.get(b.index, b.common_ancestors.get(a.index))
    return None if number is None else NVML_LEVELS.get(number)


def _nvlinks(a: NvmlGpu, b: NvmlGpu) -> tuple[Sequence[NvLink] | None, bool]:
    """The links between two GPUs: straight ones, else those into a switch of both.

    Either GPU tells; None where one is lost or mute, or where the end of a link that may join
    them was refused.
    """
    if not (_tells(a) and _tells(b)):
        return None, False
    if not _blind(a):
        straight = [link for link in a.nvlinks if _leads_to(link, b)]
    elif not _blind(b):
        straight = [link for link in b.nvlinks if _leads_to(link, a)]
    else:
        return None, False
    if straight:
        return straight, False
    if any(link.remote_type is None and link.remote is None for link in (*a.nvlinks, *b.nvlinks)):
        return None, False
    into = [link for link in a.nvlinks if link.remote_type == _TO_SWITCH]
    back = [link for link in b.nvlinks if link.remote_type == _TO_SWITCH]
    shared = into[: min(len(into), len(back))]
    return shared, bool(shared)


def _blind(gpu: NvmlGpu) -> bool:
    """Whether a link of it may lead to another GPU that it doesn't name."""
    return any(link.remote is None and link.remote_type in {_TO_GPU, None} for link in gpu.nvlinks)


def _tells(gpu: NvmlGpu) -> bool:
    """Whether an empty list of links means that there are none."""
    failed = any(e.call == "nvlink_state" and e.error != "NotSupported" for e in gpu.errors)
    return not gpu.lost and not failed


def _leads_to(link: NvLink, gpu: NvmlGpu) -> bool:
    return (
        link.remote_type in {_TO_GPU, None}
        and link.remote is not None
        and link.remote == gpu.address
    )


def _bandwidth(active: Iterable[NvLink] | None) -> int | None:
    if active is None:
        return None
    total = 0
    for link in active:
        speed = NVLINK_BYTES_PER_SECOND.get(link.version or 0)
        if speed is None:
            return None
        total += speed
    return total


def _p2p(a: NvmlGpu, b: NvmlGpu) -> dict[str, str | None]:
    """What the driver allows between two GPUs, by either's word; None where both are mute."""
    statuses = {
        name: a.p2p.get(name, {}).get(b.index, b.p2p.get(name, {}).get(a.index))
        for name in P2P_OPERATIONS
    }
    return {
        name: None if status is None else _P2P_STATUS.get(status, "unknown")
        for name, status in statuses.items()
    }
