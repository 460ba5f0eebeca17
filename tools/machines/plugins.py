"""What device plugins offer kubelet, and which of it the containers hold.

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
"""

from collections import Counter
from dataclasses import dataclass

from .gpus import Gpu
from .nvml import instances
from .pci import Device
from .section import SpecError
from .spec import Container, Machine

_GPU_RESOURCE = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Offer:
    """One device id; `node` is -1 where the plugin tells no topology."""

    resource: str
    device_id: str
    node: int
    healthy: bool = True


Name = int | tuple[int, ...] | str
"""How a description names a device: NVML index, (NVML index, MIG index), or PCI address."""

Offers = dict[Name, Offer]


def find_offers(machine: Machine, devices: tuple[Device, ...], gpus: tuple[Gpu, ...]) -> Offers:
    """NVIDIA's GPUs in NVML's order, MIG instances in their GPU's place, then all others."""
    offers: Offers = {}
    for gpu in gpus:
        offers |= _of_gpu(machine, gpu)
    numbers: Counter[str] = Counter()
    for device in devices:
        template = device.template
        if template.resource and template.used_by_host:
            form = {"address": device.address, "number": numbers[template.resource]}
            numbers[template.resource] += 1
            device_id = template.device_id.format(**form)
            offers[str(device.address)] = Offer(template.resource, device_id, device.node)
    for pod in machine.pods:
        for container in pod.containers:
            _check(machine, container, offers)
    return offers


def _of_gpu(machine: Machine, gpu: Gpu) -> Offers:
    """The whole GPU, or by the plugin's mixed strategy its instances under their profiles."""
    node, healthy = gpu.device.node, gpu.index not in machine.nvidia.lost
    if gpu.index not in machine.nvidia.mig:
        return {gpu.index: Offer(_GPU_RESOURCE, gpu.uuid, node, healthy)}
    return {
        (gpu.index, index): Offer(f"nvidia.com/mig-{profile}", uuid, node, healthy)
        for index, profile, uuid in instances(machine, gpu)
    }


def _check(machine: Machine, container: Container, offers: Offers) -> None:
    for name in _names(container):
        if name not in offers:
            problem = f"{container.name}: no device plugin offers {name}"
            raise SpecError(f"{machine.name}.yaml: pods: {problem}")


def _names(container: Container) -> tuple[Name, ...]:
    return (*container.gpus, *container.mig, *container.devices)


def held(container: Container, offers: Offers) -> list[Offer]:
    """The devices that kubelet granted the container."""
    return [offers[name] for name in _names(container)]


def count(offers: list[Offer]) -> dict[str, str]:
    """The number of devices of each resource, as quantities."""
    numbers = Counter(offer.resource for offer in offers)
    return {resource: str(number) for resource, number in sorted(numbers.items())}
