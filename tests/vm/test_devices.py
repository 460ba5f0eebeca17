"""Devices of a real kernel: behind a bridge of node 1 a GPU is on node 1, elsewhere unknown.

QEMU's display stands in for the GPU; that it is one only the fake NVML says, by its address.
"""

from typing import Any

import pytest

from tests.nvml.library import build, write
from tests.vm.guest import RunScript
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

MACHINE = Machine(
    nodes=(Node(cpus=range(2)), Node(cpus=range(2, 4))), displays=(1, None), distances=()
)


@pytest.fixture(scope="module")
def gpus(guest: RunScript, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The two GPUs of the map that the guest has of itself, by their address."""
    folder = tmp_path_factory.mktemp("nvml")
    library, answers = build(folder), folder / "nvml.txt"
    listed = [
        {"handle": None, "pci": {"bus_id": f"0000{address}".upper()}, "uuid": f"GPU-{address}"}
        for address in MACHINE.display_addresses
    ]
    write(answers, {"init": None, "system": {"driver_version": "580.1"}, "gpus": listed})
    seen = guest(MACHINE, "devices", str(library), str(answers), visible=[folder]).json()
    return {gpu["address"]: gpu for gpu in seen["gpus"]}


def test_a_gpu_behind_a_bridge_of_a_node_is_on_that_node_by_sysfs(gpus: Any) -> None:
    gpu = gpus[MACHINE.display_addresses[0]]
    assert (gpu["node"], gpu["node_source"], gpu["raw_numa_node"]) == (1, "sysfs", 1)
    assert (gpu["cpus"], gpu["uuid"]) == ("2-3", f"GPU-{gpu['address']}")


def test_a_gpu_on_the_root_bus_is_unknown(gpus: Any) -> None:
    gpu = gpus[MACHINE.display_addresses[1]]
    assert (gpu["node"], gpu["node_source"], gpu["raw_numa_node"]) == (None, "unknown", -1)
    assert gpu["cpus"] is None
