"""The machine's NVIDIA GPUs, and what the driver shows of them in proc/driver/nvidia."""

from dataclasses import dataclass

from .devices import GpuModel
from .identity import make_uuid
from .pci import Device
from .spec import Machine
from .tree import Tree, merged

_FIRST_MEMORY, _MEMORY_APART = 0x420000000000, 0x20000000000


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU that the driver runs, with its position in NVML's order."""

    index: int
    device: Device
    model: GpuModel
    uuid: str


def find_gpus(machine: Machine, devices: tuple[Device, ...]) -> tuple[Gpu, ...]:
    """The GPUs that the NVIDIA driver runs, in PCI order, which is NVML's."""
    found = [(d, d.template.gpu) for d in devices if d.template.used_by_host]
    with_model = [(device, model) for device, model in found if model is not None]
    return tuple(
        Gpu(index, device, model, "GPU-" + make_uuid(machine.name, "gpu", str(device.address)))
        for index, (device, model) in enumerate(with_model)
    )


def driver_files(machine: Machine, gpus: tuple[Gpu, ...]) -> Tree:
    """The driver's version and one folder per GPU; nothing where no driver is loaded."""
    if not gpus or machine.nvidia.init_error == "DriverNotLoaded":
        return {}
    version = (
        f"NVRM version: NVIDIA UNIX Open Kernel Module for {machine.arch}  {machine.nvidia.driver}"
        "  Release Build\nGCC version:  gcc version 12.3.0\n"
    )
    folders = [_folder(machine, gpu) for gpu in gpus]
    return merged({"proc/driver/nvidia/version": version}, *folders)


def _folder(machine: Machine, gpu: Gpu) -> Tree:
    folder = f"proc/driver/nvidia/gpus/{gpu.device.address}"
    information = (
        f"Model: \t\t {gpu.model.name}\nGPU UUID: \t {gpu.uuid}\nBus Type: \t PCIe\n"
        f"Bus Location: \t {gpu.device.address}\nDevice Minor: \t {gpu.index}\n"
        "GPU Excluded:\t No\n"
    )
    own = machine.nvidia.memory_nodes.get(gpu.index)
    if own is None:
        return {f"{folder}/information": information}
    size = next(node.memory for node in machine.nodes if node.id == own)
    start = _FIRST_MEMORY + gpu.index * _MEMORY_APART
    status = f"Node:      {own}\nStatus:    online\nAddress:   {start:x}\nSize:      {size:x}\n"
    return {f"{folder}/information": information, f"{folder}/numa_status": status}
