"""The map as a tree for people: packages, nodes, memory, caches, devices, distances, warnings.

Readable at 80 columns, and on machines with dozens of nodes: empty nodes share a line, a wide
distance matrix is cut into blocks, equal warnings are counted.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from numa_agent.cli.drawing import Branch, Style, drawn, many, size_text
from numa_agent.cli.matrix import gpu_names
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import VENDORS, DeviceKind, Gpu, NodeSource, PciDevice
from numa_agent.core.topology import CpuGroup, NodeKind, NumaNode, Topology

_CLASSES = {
    0x0108: "NVMe",
    0x0200: "Ethernet",
    0x0207: "InfiniBand",
    0x0300: "VGA",
    0x0302: "3D controller",
    0x0380: "display",
    0x0B40: "co-processor",
    0x1200: "accelerator",
}
"""The classes that people place work beside (https://pci-ids.ucw.cz), by class and subclass."""

_SHOWN_WARNINGS = 3


def lines(topology: Topology, *, width: int, style: Style) -> Iterator[str]:
    """The lines of the tree, none wider than `width` where words allow."""
    yield style.strong(_headline(topology))
    branches = _branches(topology)
    for position, branch in enumerate(branches):
        yield from drawn(branch, "", position == len(branches) - 1, width, style)
    yield from _distances(topology.nodes, width, style)
    yield from _warnings(topology, width, style)


def _headline(topology: Topology) -> str:
    memory = _bytes_of(topology.nodes)
    parts = [
        many(len(topology.online), "CPU") + " online",
        many(topology.cores, "core"),
        many(topology.packages, "package"),
        many(topology.nodes, "NUMA node"),
        f"{memory} memory",
    ]
    return "machine: " + ", ".join(parts)


def _branches(topology: Topology) -> list[Branch]:
    branches = [*_cpu_branches(topology), *_memory_branches(topology)]
    unknown = [device for device in topology.pci_devices if device.node is None]
    if unknown:
        branches.append(
            Branch("node unknown", below=tuple(_devices(topology, unknown)), strong=True)
        )
    for name, cpus in (("offline", topology.offline), ("isolated", topology.isolated)):
        if cpus:
            branches.append(Branch(name, f"CPUs {cpulist.render(cpus)}"))
    branches += [
        Branch(f"CPU type {kind.name}", f"CPUs {cpulist.render(kind.cpus)}")
        for kind in topology.cpu_kinds
    ]
    return branches


def _cpu_branches(topology: Topology) -> list[Branch]:
    nodes = [
        node for node in topology.nodes if node.cpus or (node.kind is None and node.cpus is None)
    ]
    homes = {node.id: _package_of(node, topology.packages or ()) for node in nodes}
    branches = [
        Branch(
            f"package {_known(package.id)}",
            f"{many(_cores_in(topology, package.cpus), 'core')},"
            f" {many(len(package.cpus), 'CPU')}{_dies(topology, package.cpus)}",
            tuple(_node(topology, node) for node in nodes if homes[node.id] is package),
            strong=True,
        )
        for package in topology.packages or ()
        if any(home is package for home in homes.values())
    ]
    return branches + [_node(topology, node) for node in nodes if homes[node.id] is None]


def _memory_branches(topology: Topology) -> list[Branch]:
    without = [node for node in topology.nodes if node.cpus is not None and not node.cpus]
    branches = [_node(topology, node) for node in without if node.kind is not NodeKind.EMPTY]
    empty = [node for node in without if node.kind is NodeKind.EMPTY]
    # Neighbours with the same nearest node share a line: GB200 has 28 of them.
    for near, group in groupby(empty, key=lambda node: node.nearest_cpu_nodes):
        ids = cpulist.render(node.id for node in group)
        plural = "nodes" if "-" in ids or "," in ids else "node"
        branches.append(Branch(f"{plural} {ids}", f"empty{_near(near)}"))
    return branches


def _node(topology: Topology, node: NumaNode) -> Branch:
    memory = size_text(node.memory_bytes)
    packages = [group for group in topology.packages or () if node.cpus and group.cpus < node.cpus]
    if node.cpus or node.cpus is None:
        details = f"{memory}, CPUs {_list(node.cpus)}"
        if len(packages) > 1:
            details += f", {len(packages)} packages"
    else:
        details = f"{memory}, memory only{_near(node.nearest_cpu_nodes)}"
    below = [*_pools(node), *_caches(topology, node.cpus)]
    below += _devices(
        topology, (device for device in topology.pci_devices if device.node == node.id)
    )
    return Branch(f"node {node.id}", details, tuple(below), strong=True)


def _pools(node: NumaNode) -> Iterator[Branch]:
    for pool in node.hugepages:
        if pool.total:
            size = size_text(pool.size_kib * 1024)
            yield Branch("hugepages", f"{pool.total} x {size}, {_known(pool.free)} free")


def _caches(topology: Topology, cpus: CpuSet | None) -> Iterator[Branch]:
    """Last-level caches; those of one level and size share a line."""
    inside = [cache for cache in topology.caches if cpus and cache.cpus & cpus]
    for (level, size), group in groupby(inside, key=lambda c: (c.level, c.size_bytes)):
        members = list(group)
        details = size_text(size)
        if len(members) > 1:
            shares = sorted({len(cache.cpus) for cache in members})
            each = " or ".join(map(str, shares)) + (" CPU" if shares == [1] else " CPUs")
            details = f"{len(members)} x {details}, each for {each}"
        others = topology.nodes_of(
            frozenset().union(*(cache.cpus for cache in members)) - (cpus or frozenset())
        )
        if others:
            details += f", shared with node {cpulist.render(others)}"
        yield Branch(f"L{level} cache", details)


def _devices(topology: Topology, devices: Iterable[PciDevice]) -> Iterator[Branch]:
    """GPUs first, then other devices that people work beside; the rest is counted."""
    names = gpu_names(topology.gpus)
    gpus = {
        gpu.device.address: (gpu, name) for gpu, name in zip(topology.gpus, names, strict=True)
    }
    listed = list(devices)
    yield from (
        _gpu(topology, *gpus[device.address]) for device in listed if device.address in gpus
    )
    rest = [device for device in listed if device.address not in gpus]
    others = virtual = 0
    for device in rest:
        if device.physical_function is not None:
            virtual += 1
        elif device.kind is DeviceKind.OTHER and _class_of(device) is None:
            others += 1
        else:
            yield _device(device)
    if virtual:
        yield Branch(many(virtual, "SR-IOV virtual function"))
    if others:
        yield Branch(f"{many(others, 'other PCI device')}")


def _gpu(topology: Topology, gpu: Gpu, name: str) -> Branch:
    device, nvml = gpu.device, gpu.nvml
    product = f"{VENDORS.get(device.vendor or 0, '')} {_hex(device.vendor)}:{_hex(device.device)}"
    details = [product.strip() if nvml is None or nvml.name is None else nvml.name]
    if nvml is not None and nvml.memory_bytes is not None:
        details.append(size_text(nvml.memory_bytes))
    if gpu.health not in {"ok", None}:
        details.append(str(gpu.health).upper())
    if device.driver in {"vfio-pci", "pci-stub"}:
        details.append(f"given away ({device.driver})")
    if nvml is not None and nvml.mig_mode:
        details.append(many(nvml.mig, "MIG instance"))
    if gpu.nics:
        details.append(f"near {_nearest_nics(topology, gpu)}")
    if gpu.memory_node is not None:
        details.append(f"memory is node {gpu.memory_node}")
    return Branch(f"{device.address}  {name}", ", ".join(details) + _source(device), strong=True)


def _nearest_nics(topology: Topology, gpu: Gpu) -> str:
    nics = {nic.address: nic for nic in topology.nics}
    names = [next(iter((*nics[a].rdma, *nics[a].interfaces)), str(a)) for a in gpu.nics or ()]
    return ", ".join(names) if len(names) <= 2 else f"{len(names)} NICs"


def _device(device: PciDevice) -> Branch:
    names = " ".join((*device.rdma, *device.interfaces))
    what = _class_of(device) or "device"
    details = f"{what} {_hex(device.vendor)}:{_hex(device.device)} {names}".rstrip()
    return Branch(str(device.address), details + _source(device))


def _class_of(device: PciDevice) -> str | None:
    if device.kind is DeviceKind.NVSWITCH:
        return "NVSwitch"
    return _CLASSES.get((device.class_code or 0) >> 8)


def _source(device: PciDevice) -> str:
    plain = device.node_source in {NodeSource.SYSFS, NodeSource.UNKNOWN}
    return "" if plain else f" ({device.node_source})"


def _distances(nodes: Sequence[NumaNode], width: int, style: Style) -> Iterator[str]:
    shown = [node for node in nodes if node.kind is not NodeKind.EMPTY]
    if len(shown) < 2:
        return
    yield ""
    left_out = len(nodes) - len(shown)
    note = f" (without {many(left_out, 'empty node')})" if left_out else ""
    yield style.strong(f"distances{note}")
    cell = max(3, *(len(str(node.id)) for node in shown)) + 1
    label = max(len(f"node {node.id}") for node in shown)
    columns = max(1, (width - label) // cell)
    for start in range(0, len(shown), columns):
        block = shown[start : start + columns]
        if start:
            yield ""
        yield " " * label + "".join(f"{node.id:>{cell}}" for node in block)
        for node in shown:
            row = "".join(
                f"{_known((node.distances or {}).get(other.id)):>{cell}}" for other in block
            )
            yield f"{f'node {node.id}':<{label}}{row}"


def _warnings(topology: Topology, width: int, style: Style) -> Iterator[str]:
    if not topology.warnings:
        return
    yield ""
    yield style.strong(many(len(topology.warnings), "warning"))
    counts = Counter(warning.code for warning in topology.warnings)
    for code, group in groupby(topology.warnings, key=lambda warning: warning.code):
        for warning in list(group)[:_SHOWN_WARNINGS]:
            text = f"{style.alarm(code)}: {warning.message}"
            yield from textwrap.wrap(
                text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        if counts[code] > _SHOWN_WARNINGS:
            yield f"  and {counts[code] - _SHOWN_WARNINGS} more {code} (all are in -o json)"


def _package_of(node: NumaNode, packages: Iterable[CpuGroup]) -> CpuGroup | None:
    return next((group for group in packages if node.cpus and node.cpus <= group.cpus), None)


def _cores_in(topology: Topology, cpus: CpuSet) -> tuple[CpuSet, ...] | None:
    if topology.cores is None:
        return None
    return tuple(core for core in topology.cores if core <= cpus)


def _dies(topology: Topology, cpus: CpuSet) -> str:
    dies = [group for group in topology.dies if group.cpus <= cpus]
    return f", {len(dies)} dies" if len(dies) > 1 else ""


def _near(nodes: Sequence[int]) -> str:
    return f", nearest CPUs: node {cpulist.render(nodes)}" if nodes else ""


def _bytes_of(nodes: Sequence[NumaNode]) -> str:
    known = [node.memory_bytes for node in nodes if node.memory_bytes is not None]
    return size_text(sum(known)) if nodes and len(known) == len(nodes) else "?"


def _list(cpus: CpuSet | None) -> str:
    return "?" if cpus is None else cpulist.render(cpus)


def _known(value: int | None) -> str:
    return "?" if value is None else str(value)


def _hex(number: int | None) -> str:
    return "????" if number is None else f"{number:04x}"
