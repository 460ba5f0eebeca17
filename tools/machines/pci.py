"""The PCI tree: where every device of a description ends up, and the files that show it.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci)
"""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from numa_agent.core.cpulist import render
from numa_agent.core.pci import PciAddress

from .devices import Template
from .section import SpecError
from .spec import Bridge, Item, Machine, Root
from .tree import Tree, lines, link, merged

_ETHERNET, _INFINIBAND, _NVME = "0x0200", "0x0207", "0x0108"


@dataclass(frozen=True, slots=True)
class Device:
    """One PCI function: its address, its folder in sys/devices, and its root's NUMA node."""

    address: PciAddress
    path: str
    node: int
    template: Template

    @property
    def bridges(self) -> tuple[str, ...]:
        """The root complex and the bridges above the device, from the top."""
        return tuple(self.path.split("/")[2:-1])


def place(machine: Machine) -> tuple[Device, ...]:
    """Every function of the machine, by address; buses are numbered depth first as at boot."""
    devices = sorted(
        (device for root in machine.roots for device in _root_devices(root)),
        key=lambda device: device.address,
    )
    for before, after in itertools.pairwise(devices):
        if before.address == after.address:
            problem = f"two devices get the address {after.address}: their roots are too close"
            raise SpecError(f"{machine.name}.yaml: pci: {problem}")
    return tuple(devices)


def _root_devices(root: Root) -> Iterator[Device]:
    path = f"sys/devices/pci{root.domain:04x}:{root.bus:02x}"
    buses = iter(range(root.bus + 1, 256))
    # Device 0 of a root bus is the host bridge, so ports and devices start at 1.
    yield from _bus_devices(root, root.items, path, root.bus, buses, first=1)


def _bus_devices(
    root: Root, items: tuple[Item, ...], path: str, bus: int, buses: Iterator[int], first: int
) -> Iterator[Device]:
    for slot, item in enumerate(items, first):
        for function in range(1 if isinstance(item, Bridge) else item.template.functions):
            address = PciAddress(root.domain, bus, slot, function)
            yield Device(address, f"{path}/{address}", root.node, item.template)
        if isinstance(item, Bridge):
            inside = f"{path}/{PciAddress(root.domain, bus, slot, 0)}"
            yield from _bus_devices(root, item.children, inside, next(buses), buses, first=0)


def pci_files(machine: Machine, devices: tuple[Device, ...]) -> Tree:
    """The devices' folders and the links of bus/pci and class that lead to them."""
    files = [_function(machine, device) for device in devices]
    interfaces = [tree for kind in (_network, _rdma, _nvme) for tree in kind(machine, devices)]
    return merged(*files, *interfaces)


def _function(machine: Machine, device: Device) -> Tree:
    template = device.template
    near = machine.cpus.online if device.node == -1 else machine.node_cpus(device.node)
    values: dict[str, object] = {
        "class": template.pci_class,
        "vendor": template.vendor,
        "device": template.device,
        "numa_node": device.node,
        "local_cpulist": render(near),
    }
    if template.subsystem_vendor:
        values["subsystem_vendor"] = template.subsystem_vendor
        values["subsystem_device"] = template.subsystem_device
    by_address = link(f"sys/bus/pci/devices/{device.address}", device.path)
    return merged(lines(device.path, values), by_address, _driver(device))


def _driver(device: Device) -> Tree:
    if not device.template.driver:
        return {}
    folder = f"sys/bus/pci/drivers/{device.template.driver}"
    return merged(
        link(f"{device.path}/driver", folder),
        link(f"{folder}/{device.address}", device.path),
    )


def _of_class(devices: tuple[Device, ...], *classes: str) -> list[Device]:
    return [device for device in devices if device.template.base_class in classes]


def _network(machine: Machine, devices: tuple[Device, ...]) -> Iterator[Tree]:
    for device in _of_class(devices, _ETHERNET, _INFINIBAND):
        name = interface_name(device)
        digest = hashlib.sha256(f"{machine.name}/{device.address}".encode()).hexdigest()
        mac = ":".join(["02", *(digest[at : at + 2] for at in range(0, 10, 2))])
        folder = f"{device.path}/net/{name}"
        yield merged(
            lines(folder, {"address": mac, "operstate": "up"}),
            link(f"{folder}/device", device.path),
            link(f"sys/class/net/{name}", folder),
        )


def interface_name(device: Device) -> str:
    """The predictable name systemd would give: `ibp28s0` for InfiniBand at 0000:1c:00.0."""
    address = device.address
    kind = "ib" if device.template.base_class == _INFINIBAND else "en"
    domain = f"P{address.domain}" if address.domain else ""
    function = f"f{address.function}" if device.template.functions > 1 else ""
    return f"{kind}{domain}p{address.bus}s{address.device}{function}"


def _rdma(_: Machine, devices: tuple[Device, ...]) -> Iterator[Tree]:
    adapters = [device for device in devices if device.template.driver == "mlx5_core"]
    for number, device in enumerate(adapters):
        folder = f"{device.path}/infiniband/mlx5_{number}"
        infiniband = device.template.base_class == _INFINIBAND
        port = {"state": "4: ACTIVE", "link_layer": "InfiniBand" if infiniband else "Ethernet"}
        yield merged(
            lines(folder, {"node_type": "1: CA"}),
            lines(f"{folder}/ports/1", port),
            link(f"{folder}/device", device.path),
            link(f"sys/class/infiniband/mlx5_{number}", folder),
        )


def _nvme(_: Machine, devices: tuple[Device, ...]) -> Iterator[Tree]:
    for number, device in enumerate(_of_class(devices, _NVME)):
        folder = f"{device.path}/nvme/nvme{number}"
        yield merged(
            lines(folder, {"address": device.address, "transport": "pcie"}),
            link(f"{folder}/device", device.path),
            link(f"sys/class/nvme/nvme{number}", folder),
        )
