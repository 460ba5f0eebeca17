"""A device's NUMA node, with the source of the answer; unknown stays unknown.

The kernel's numa_node is -1 where firmware gives no locality (Documentation/ABI/testing/
sysfs-bus-pci: "-1 means unknown"), and local_cpulist then names every CPU, which says nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import NodeSource, NumaNode


@dataclass(frozen=True, slots=True)
class Place:
    """A device's node, always one with CPUs, and where the answer came from."""

    node: int | None
    source: NodeSource


class Locator:
    """Finds a device's place among the nodes of one machine."""

    def __init__(self, nodes: Iterable[NumaNode], online: CpuSet) -> None:
        """Take the machine's nodes and its online CPUs."""
        listed = tuple(nodes)
        self._online = online
        self._cpus = {node.id: node.cpus for node in listed if node.cpus}
        self._nearest: Mapping[int, tuple[int, ...]] = {
            node.id: node.nearest_cpu_nodes for node in listed
        }
        unsure = any(node.cpus is None for node in listed)
        self._only = next(iter(self._cpus)) if len(self._cpus) == 1 and not unsure else None

    @property
    def several(self) -> bool:
        """Whether there is a choice of nodes, or may be."""
        return self._only is None

    def of_node_id(self, raw: int | None, source: NodeSource = NodeSource.SYSFS) -> Place | None:
        """The place that a numa_node number gives, None when it gives none.

        A node without CPUs stands for the nearest node with CPUs, if that is a single one.
        """
        if raw is None or raw < 0:
            return None
        near = self._nearest.get(raw, ())
        return Place(near[0], source) if len(near) == 1 else None

    def of_local_cpus(self, cpus: CpuSet | None) -> Place | None:
        """The place that local CPUs give: their node, if they lie in one and aren't all CPUs."""
        if not cpus or cpus >= self._online:
            return None
        holders = [node for node, own in self._cpus.items() if own & cpus]
        return Place(holders[0], NodeSource.LOCAL_CPULIST) if len(holders) == 1 else None

    def otherwise(self) -> Place:
        """The place of a device that no file places: the only node there is, or unknown."""
        if self._only is not None:
            return Place(self._only, NodeSource.SINGLE_NODE)
        return Place(None, NodeSource.UNKNOWN)
