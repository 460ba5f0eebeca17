"""What is kept back for the system: as the Node tells it, and as kubelet's settings do.

kubelet tells its Node a while after it has started with other settings:
https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/
"""

from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.kubelet_config import eviction_bytes
from numa_agent.core.node import Node

MEBIBYTE = 1 << 20
"""Less than that between two sources is rounding: a percentage, or MemTotal of another boot."""


def is_of(node: Node, settings: KubeletSettings) -> bool:
    """Whether a Node tells what these settings of its kubelet keep back, as far as both do."""
    cpu, memory = cpu_by_node(node), memory_by_node(node)
    if cpu is not None and cpu != settings.reserved.get("cpu", 0):
        return False
    if memory is None:
        return True
    return abs(memory_by_settings(settings, node.capacity["memory"]) - memory) < MEBIBYTE


def cpu_by_node(node: Node) -> int | None:
    """The thousandths of a CPU between capacity and allocatable, None unless it has both."""
    capacity, allocatable = node.capacity, node.allocatable
    if "cpu" not in capacity or "cpu" not in allocatable:
        return None
    return max(0, capacity["cpu"] - allocatable["cpu"])


def memory_by_node(node: Node) -> int | None:
    """The bytes but hugepages between capacity and allocatable, None unless it has both."""
    capacity, allocatable = node.capacity, node.allocatable
    if "memory" not in capacity or "memory" not in allocatable:
        return None
    huge = sum(size for name, size in capacity.items() if name.startswith("hugepages-"))
    return max(0, capacity["memory"] - allocatable["memory"] - huge)


def memory_by_settings(settings: KubeletSettings, machine: int) -> int:
    """The bytes of systemReserved, kubeReserved and evictionHard on a machine of so many."""
    return settings.reserved.get("memory", 0) + eviction_bytes(settings, machine)
