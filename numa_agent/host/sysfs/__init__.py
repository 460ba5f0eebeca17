"""The machine's map from sysfs and procfs: reading here, meaning in core.topology."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from numa_agent.core.errors import SourceError
from numa_agent.core.locality import Locator
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import NumaNode, PciDevice, Topology, TopologyWarning
from numa_agent.host.sysfs import nodes, pci
from numa_agent.host.sysfs.cpus import CpuSetReader, read_cpus
from numa_agent.host.sysfs.files import Directory


def read_topology(host_root: Path) -> Topology:
    """The map of the machine whose root (holding sys/ and proc/) is `host_root`.

    A file that is missing or damaged costs its own fact. Raises SourceError when the root itself
    can't be opened.
    """
    warnings: list[TopologyWarning] = []
    try:
        root = Directory.root(host_root, warnings)
    except OSError as error:
        raise SourceError(
            f"host root {host_root}: {error.strerror}; give the folder that holds the machine's"
            " sys/ and proc/ with --host-root"
        ) from error
    with root:
        return _read(root, warnings)


def _read(root: Directory, warnings: list[TopologyWarning]) -> Topology:
    sets = CpuSetReader()
    cpus = read_cpus(root, sets)
    numa_nodes = nodes.read_nodes(root, cpus.online, sets)
    devices = pci.read_devices(root, Locator(numa_nodes, cpus.online), sets)
    if any(not node.cpus for node in numa_nodes):
        numa_nodes = _beside_their_gpus(numa_nodes, devices, pci.read_gpu_memory_nodes(root))
    return Topology(
        online=cpus.online,
        present=cpus.present,
        isolated=cpus.isolated,
        cores=cpus.cores,
        packages=cpus.packages,
        dies=cpus.dies,
        clusters=cpus.clusters,
        cpu_kinds=cpus.kinds,
        caches=cpus.caches,
        nodes=numa_nodes,
        pci_devices=devices,
        warnings=tuple(sorted(warnings, key=lambda w: (w.code, w.subject, w.message))),
    )


def _beside_their_gpus(
    numa_nodes: tuple[NumaNode, ...],
    devices: tuple[PciDevice, ...],
    owners: Mapping[int, PciAddress],
) -> tuple[NumaNode, ...]:
    """Nodes of GPU memory are nearest to the CPUs beside their GPU, whatever the distances say.

    Firmware gives such nodes the same distance to every other node (POWER9, Grace).
    """
    places = {device.address: device.node for device in devices}
    homes = {node_id: places.get(gpu) for node_id, gpu in owners.items()}
    return tuple(
        replace(node, nearest_cpu_nodes=(home,))
        if not node.cpus and (home := homes.get(node.id)) is not None
        else node
        for node in numa_nodes
    )
