"""The machine's map from sysfs and procfs: reading here, meaning in core.topology."""

from pathlib import Path

from numa_agent.core.assembly import assemble
from numa_agent.core.errors import SourceError
from numa_agent.core.facts import MachineFacts
from numa_agent.core.topology import Topology, TopologyWarning
from numa_agent.host.sysfs import nodes, pci
from numa_agent.host.sysfs.cpus import read_cpus
from numa_agent.host.sysfs.files import Directory
from numa_agent.host.sysfs.sets import CpuSetReader


def read_facts(host_root: Path) -> MachineFacts:
    """What the files of the machine say whose root (holding sys/ and proc/) is `host_root`.

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
        sets = CpuSetReader()
        cpus = read_cpus(root, sets)
        numa_nodes = nodes.read_nodes(root, cpus.online, sets)
        devices = pci.read_devices(root, sets)
        without_cpus = any(not node.cpus for node in numa_nodes)
        owners = pci.read_gpu_memory_nodes(root) if without_cpus else {}
    return MachineFacts(
        cpus=cpus,
        nodes=numa_nodes,
        pci=devices,
        gpu_memory_nodes=owners,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def read_topology(host_root: Path) -> Topology:
    """The map by these files alone. Raises SourceError as read_facts."""
    return assemble(read_facts(host_root))
