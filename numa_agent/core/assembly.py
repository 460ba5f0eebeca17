"""The map from what files, drivers and the operator say: devices are placed here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from numa_agent.core import gpus as gpu_facts
from numa_agent.core.cpulist import render
from numa_agent.core.devices import BRIDGE, NodeSource, PciDevice, device_kind
from numa_agent.core.facts import MachineFacts, PciFacts
from numa_agent.core.locality import Evidence, Locator, Placement
from numa_agent.core.nvml import NvmlAnswers, NvmlGpu
from numa_agent.core.overrides import Overrides
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import NumaNode, Topology, TopologyWarning

NO_OVERRIDES = Overrides()


def assemble(
    facts: MachineFacts, *, nvml: NvmlAnswers | None = None, overrides: Overrides = NO_OVERRIDES
) -> Topology:
    """The map: sysfs is its base, NVML enriches it, and the operator's overrides come first."""
    said = _by_address(facts, nvml)
    warnings = _Warnings([*facts.warnings])
    devices = _placed(facts, said, overrides, warnings)
    listed = gpu_facts.gpus(
        devices,
        facts.nodes,
        facts.cpus.isolated or frozenset(),
        said,
        {gpu: node for node, gpu in facts.gpu_memory_nodes.items()},
    )
    links = gpu_facts.links(listed, devices)
    known = {device.address for device in devices}
    for address in sorted(said.keys() - known):
        warnings.add("nvml-gpu-without-pci", str(address), "NVML names a GPU that sysfs lacks")
    for link in links:
        if link.level and link.nvml_level and link.level is not link.nvml_level:
            message = f"{link.level} by sysfs, {link.nvml_level} by NVML; the first is kept"
            warnings.add("link-levels-differ", f"{link.a} - {link.b}", message)
    for condition in () if nvml is None else nvml.conditions:
        warnings.add(condition.code, condition.subject, condition.message)
    for gpu in listed:
        told = None if gpu.nvml is None else gpu.nvml.memory_node
        if told is not None and told != gpu.memory_node:
            message = f"NVML says that its memory is node {told}, no online node without CPUs"
            warnings.add("gpu-memory-node-odd", str(gpu.device.address), message)
    memory_owners = {gpu.memory_node: gpu.device for gpu in listed if gpu.memory_node is not None}
    return Topology(
        online=facts.cpus.online,
        present=facts.cpus.present,
        isolated=facts.cpus.isolated,
        cores=facts.cpus.cores,
        packages=facts.cpus.packages,
        dies=facts.cpus.dies,
        clusters=facts.cpus.clusters,
        cpu_kinds=facts.cpus.kinds,
        caches=facts.cpus.caches,
        nodes=_beside_their_gpus(facts.nodes, memory_owners),
        pci_devices=devices,
        gpus=listed,
        links=links,
        warnings=warnings.ordered(),
        gpu_driver=None if nvml is None else nvml.driver_version,
    )


def _by_address(facts: MachineFacts, nvml: NvmlAnswers | None) -> Mapping[PciAddress, NvmlGpu]:
    """NVML's GPUs by their address.

    A lost GPU doesn't give its own any more. As NVML counts in the order of addresses, GPUs
    without one are the driver's devices that are left over, if there are as many and all fit.
    """
    listed = () if nvml is None else nvml.gpus
    found = {gpu.address: gpu for gpu in listed if gpu.address is not None}
    nameless = [gpu for gpu in listed if gpu.address is None]
    left = [
        device.address
        for device in facts.pci
        if device.driver == "nvidia"
        and device.physical_function is None
        and device.address.function == 0
        and device.address not in found
    ]
    if nameless and len(nameless) == len(left):
        whole = found | dict(zip(left, nameless, strict=True))
        indexes = [whole[address].index for address in sorted(whole)]
        if len(left) == 1 or indexes == sorted(indexes):
            return whole
    return found


@dataclass(slots=True)
class _Warnings:
    found: list[TopologyWarning] = field(default_factory=list)

    def add(self, code: str, subject: str, message: str) -> None:
        self.found.append(
            TopologyWarning(code=code, subject=subject, message=f"{subject}: {message}")
        )

    def ordered(self) -> tuple[TopologyWarning, ...]:
        return tuple(sorted(self.found, key=lambda w: (w.code, w.subject, w.message)))


def _placed(
    facts: MachineFacts,
    said: Mapping[PciAddress, NvmlGpu],
    overrides: Overrides,
    warnings: _Warnings,
) -> tuple[PciDevice, ...]:
    locator = Locator(facts.nodes, facts.cpus.online)
    bridges = {
        str(entry.address): entry.numa_node
        for entry in facts.pci
        if entry.class_code is None or entry.class_code >> 16 == BRIDGE
    }
    corrections = _corrections(facts, overrides, warnings)
    # Hundreds of bridges and system devices have nothing but a numa_node: one answer a number.
    plain: dict[int | None, Placement] = {}
    devices = []
    for entry in facts.pci:
        known_otherwise = entry.address in said or entry.address in corrections
        if entry.path is None and entry.local_cpus is None and not known_otherwise:
            if entry.numa_node not in plain:
                plain[entry.numa_node] = locator.place(_evidence(entry, bridges, None, None))
            placement = plain[entry.numa_node]
        else:
            correction, gpu = corrections.get(entry.address), said.get(entry.address)
            placement = locator.place(_evidence(entry, bridges, correction, gpu))
        for contradiction in placement.contradictions:
            message = f"{contradiction}; the first is kept"
            warnings.add("device-node-contradicted", str(entry.address), message)
        devices.append(_device(entry, placement))
    devices = _with_their_functions(devices)
    unplaced = sum(device.node_source is NodeSource.UNKNOWN for device in devices)
    if unplaced:
        count = f"{unplaced} PCI devices" if unplaced > 1 else "1 PCI device"
        warnings.add("pci-node-unknown", count, "no source knows their NUMA node")
    return tuple(devices)


def _with_their_functions(devices: Sequence[PciDevice]) -> list[PciDevice]:
    """Put virtual functions that nothing places where their physical function is."""
    virtual = {device.physical_function for device in devices} - {None}
    physical = {device.address: device for device in devices if device.address in virtual}
    return [
        replace(device, node=owner.node, nodes=owner.nodes, node_source=owner.node_source)
        if device.node_source is NodeSource.UNKNOWN
        and device.physical_function is not None
        and (owner := physical.get(device.physical_function)) is not None
        else device
        for device in devices
    ]


def _evidence(
    entry: PciFacts,
    bridges: Mapping[str, int | None],
    override: int | None,
    gpu: NvmlGpu | None,
) -> Evidence:
    above = () if entry.path is None else reversed((*entry.path.above, *entry.path.bridges))
    return Evidence(
        override=override,
        numa_node=entry.numa_node,
        bridges=tuple(bridges.get(name) for name in above),
        local_cpus=entry.local_cpus,
        nvml_nodes=None if gpu is None else gpu.memory_nodes,
    )


def _device(entry: PciFacts, placement: Placement) -> PciDevice:
    return PciDevice(
        address=entry.address,
        kind=device_kind(entry.class_code, entry.vendor, entry.device),
        class_code=entry.class_code,
        vendor=entry.vendor,
        device=entry.device,
        driver=entry.driver,
        physical_function=entry.physical_function,
        interfaces=entry.interfaces,
        rdma=entry.rdma,
        path=entry.path,
        node=placement.node,
        nodes=placement.nodes,
        raw_numa_node=entry.numa_node,
        node_source=placement.source,
    )


def _corrections(
    facts: MachineFacts, overrides: Overrides, warnings: _Warnings
) -> Mapping[PciAddress, int]:
    """The operator's node for each device that has one; bad entries are warnings."""
    for problem in overrides.problems:
        warnings.add("bad-override", "locality overrides", f"{problem}; the entry is left out")
    with_cpus = {node.id for node in facts.nodes if node.cpus}
    for entry in overrides.entries:
        if entry.node not in with_cpus:
            message = f"{entry.text}: nodes with CPUs are {render(with_cpus)}; it is left out"
            warnings.add("bad-override", "locality overrides", message)
    usable = Overrides(tuple(entry for entry in overrides.entries if entry.node in with_cpus))
    corrections: dict[PciAddress, int] = {}
    for device in facts.pci:
        found = usable.of(device.address)
        if found is None and device.physical_function is not None:
            found = usable.of(device.physical_function)
        if found is not None:
            corrections[device.address] = found.node
    return corrections


def _beside_their_gpus(
    nodes: Iterable[NumaNode], owners: Mapping[int, PciDevice]
) -> tuple[NumaNode, ...]:
    """Nodes of GPU memory are nearest to the CPUs beside their GPU, whatever the distances say.

    Firmware gives such nodes the same distance to every other node (POWER9, Grace).
    """
    homes = {memory: gpu.node for memory, gpu in owners.items() if gpu.node is not None}
    return tuple(
        node
        if node.cpus or node.id not in homes
        else replace(node, nearest_cpu_nodes=(homes[node.id],))
        for node in nodes
    )
