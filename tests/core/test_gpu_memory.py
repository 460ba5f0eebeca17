"""The memory of a GPU that only its device plugin names."""

from dataclasses import replace

import pytest

from numa_agent.core.devices import AMD, NVIDIA, DeviceKind, Gpu
from numa_agent.core.gpu_memory import GpuMemory
from tests.core.test_koordinator_device import UNTOLD
from tests.machine_tree import pci_device
from tests.serve.reports import gpu


def hopper(number: int, node: int, memory: int | None, vendor: int | None = NVIDIA) -> Gpu:
    address = f"000{number}:01:00.0"
    device = pci_device(address, kind=DeviceKind.GPU, vendor=vendor, node=node, nodes=(node,))
    return replace(gpu(address, device), memory_node=memory)


ONE, OTHER = hopper(0, 0, 2), hopper(1, 1, 10)


@pytest.mark.parametrize(
    ("gpus", "unit", "nodes", "found", "may_be"),
    [
        # Two superchips, a GPU each.
        ((ONE, OTHER), "GPU-a", (0,), 2, (2,)),
        ((ONE, OTHER), "MIG-a", (1,), 10, (10,)),
        ((ONE, OTHER), "GPU-a", (), None, (2, 10)),
        # Two GPUs beside the same CPUs.
        ((ONE, hopper(1, 0, 10)), "GPU-a", (0,), None, (2, 10)),
        # One that has no memory of its own in the machine may be it as well.
        ((ONE, hopper(1, 0, None)), "GPU-a", (0,), None, (2,)),
        # One that NVML names is another, and so is one of another maker.
        ((replace(ONE, nvml=replace(UNTOLD, uuid="GPU-b")), OTHER), "GPU-a", (), 10, (10,)),
        ((ONE, hopper(1, 0, 10, AMD)), "GPU-a", (0,), 2, (2,)),
        # A number tells nothing of what it is.
        ((ONE, OTHER), "7", (0,), None, (2,)),
        ((), "GPU-a", (0,), None, ()),
    ],
)
def test_it_is_told_by_elimination_or_may_be_one_of_several(
    gpus: tuple[Gpu, ...],
    unit: str,
    nodes: tuple[int, ...],
    found: int | None,
    may_be: tuple[int, ...],
) -> None:
    memory = GpuMemory(gpus)
    assert (memory.of(unit, nodes), memory.may_be(unit, nodes)) == (found, may_be)
