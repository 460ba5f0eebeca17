"""A node with four GPUs that only the fake NVML knows: QEMU's displays, two behind each node."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.bench.bench import Bench
from tests.nvml.library import NAME, build, write
from tests.vm.machine import Machine, Node

MACHINE = Machine(
    nodes=(
        Node(cpus=range(6), memory_mib=2048),
        Node(cpus=range(6, 12), memory_mib=2048),
    ),
    threads=2,
    distances=((10, 21), (21, 10)),
    displays=(0, 0, 1, 1),
)

CARDS: Mapping[str, int] = {
    f"GPU-{index:08x}-0000-4000-8000-000000000000": node
    for index, node in enumerate(MACHINE.displays)
    if node is not None
}
"""The NUMA node of each card, by its UUID."""

RESOURCE = "aliyun.com/gpu"

LIBRARY = f"/usr/lib/x86_64-linux-gnu/{NAME}"
"""Where NVIDIA's runtime has it in a container."""

DRIVER = Path("/run/nvidia")
"""The guest's folder of the library and its answers."""

VERSION = "580.95.05"

XID = 8
"""nvmlEventTypeXidCriticalError: the cards tell their errors."""

INSTALL = f"""\
set -e
cp -r /run/share/nvidia {DRIVER}
mount -t tmpfs tmpfs /proc/driver
mkdir /proc/driver/nvidia
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}' >/proc/driver/nvidia/version
cd {DRIVER}
echo 0x10de >vendor
echo 0x2330 >device
echo 0x030200 >class
for address in {" ".join(MACHINE.display_addresses)}; do
    for file in vendor device class; do
        mount -o bind $file "$(readlink -f /sys/bus/pci/devices/$address)/$file"
    done
done
"""
"""QEMU has no device with NVIDIA's number: whoever mounts sysfs after this sees its displays as
such, as the agent's pod does."""


class GpuBench(Bench):
    """The overlay that offers cards, on a node with NVIDIA's driver and runtime, as both seem."""

    def __init__(self) -> None:
        super().__init__(overlay="gpu-plugin", machine=MACHINE)

    def prepare(self) -> None:
        """What NVIDIA's GPU operator brings: driver, runtime, its class and the node's label."""
        guest = self.cluster.node
        folder = guest.share / "nvidia"
        library = build(folder, str(Path(__file__).with_name("nvml_file.c")))
        assert library.name == NAME
        write(folder / "nvml.txt", answers())
        shutil.copy(guest.share / "nvidia-runtime", folder / "runtime")
        (folder / "mounts").write_text(",".join(map(json.dumps, mounts())).replace(" ", "") + "\n")
        guest.run(INSTALL)
        runtime = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "nvidia"},
            "handler": "nvidia",
        }
        self.cluster.kubectl("apply", "-f", "-", data=runtime)
        label = ("nvidia.com/gpu.present=true", "--overwrite")
        self.cluster.kubectl("label", "node", guest.name, *label)


def answers() -> Any:
    """What NVML says, in the form of a nvml.json."""
    gpus = [
        {
            "handle": None,
            "pci": {"bus_id": f"0000{address}".upper()},
            "uuid": uuid,
            "minor_number": minor,
            "name": "NVIDIA fake",
            "event_types": XID,
        }
        for minor, (uuid, address) in enumerate(zip(CARDS, MACHINE.display_addresses, strict=True))
    ]
    return {"init": None, "system": {"driver_version": VERSION}, "gpus": gpus}


def mounts() -> list[dict[str, object]]:
    """What the runtime mounts into a container that gets cards, as its config.json names it."""
    options = ["rbind", "ro", "nosuid", "nodev"]
    pairs = {LIBRARY: f"{DRIVER}/{NAME}", str(DRIVER): str(DRIVER)}
    return [
        {"destination": to, "type": "bind", "source": source, "options": options}
        for to, source in pairs.items()
    ]
