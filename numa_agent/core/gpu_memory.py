"""Which NUMA node is the own memory of a GPU that only its device plugin names.

Where NVML can't be asked, the map has GPUs by address, with the node of their memory as the kernel
driver's files tell it (Grace Hopper), and a plugin calls one by its UUID.
"""

from collections.abc import Iterable

from numa_agent.core.devices import NVIDIA, Gpu

_UUIDS = ("GPU-", "MIG-")
"""How NVIDIA's driver begins the name of a GPU or of a part of one."""


class GpuMemory:
    """The GPUs of a machine whose own memory is a NUMA node."""

    def __init__(self, gpus: Iterable[Gpu]) -> None:
        """Take the map's GPUs."""
        self._gpus = tuple(gpus)

    def of(self, unit: str, nodes: tuple[int, ...]) -> int | None:
        """The node of the memory of the one GPU that a device may be, None where it isn't told.

        The map doesn't know its name; `nodes` are those that it may be in, none if unknown.
        """
        if not unit.startswith(_UUIDS):
            return None
        candidates = self._candidates(unit, nodes)
        return candidates[0].memory_node if len(candidates) == 1 else None

    def may_be(self, unit: str, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """All nodes of which the memory of such a device may be one."""
        found = {each.memory_node for each in self._candidates(unit, nodes)}
        return tuple(sorted(node for node in found if node is not None))

    def _candidates(self, unit: str, nodes: tuple[int, ...]) -> list[Gpu]:
        named = unit.startswith(_UUIDS)
        return [
            gpu
            for gpu in self._gpus
            if not (named and _is_another(gpu))
            and (not nodes or not gpu.device.nodes or set(nodes) & set(gpu.device.nodes))
        ]


def _is_another(gpu: Gpu) -> bool:
    """Whether a GPU can't be one with a UUID that the map doesn't know."""
    return gpu.device.vendor not in {NVIDIA, None} or (
        gpu.nvml is not None and gpu.nvml.uuid is not None
    )
