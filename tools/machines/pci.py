"""The PCI tree: where every device of a description ends up, and the files that show it.

https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci) and
https://docs.kernel.org/PCI/pci-iov-howto.html
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pci import PciAddress

from .devices import Template
from .section import SpecError
from .spec import Bridge, Endpoint, Item, Machine, Root
from .tree import Tree, lines, link, merged

_MAX_VFS = 8
"""How many virtual functions the firmware of every card allows, set up or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One PCI function: its address, its folder in sys/devices, and its numa_node.

    `local_cpus` is None where they are those of its node. A virtual function has `physical`, the
    function that it is of, and its `number` among the `vfs` there.
    """

    address: PciAddress
    path: str
    node: int
    template: Template
    local_cpus: CpuSet | None = None
    vfs: int = 0
    physical: "Device | None" = None
    number: int = 0

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
    known = {-1} | {node.id for node in machine.nodes}
    for device in devices:
        if device.node not in known:
            problem = f"{device.address}: no node {device.node}"
            raise SpecError(f"{machine.name}.yaml: pci: {problem}")
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
        address = PciAddress(root.domain, bus, slot, 0)
        inside = f"{path}/{address}"
        if isinstance(item, Bridge):
            yield Device(address=address, path=inside, node=root.node, template=item.template)
            yield from _bus_devices(root, item.children, inside, next(buses), buses, first=0)
        else:
            node = root.node if item.numa_node is None else item.numa_node
            whole = Device(
                address=address,
                path=inside,
                node=node,
                template=item.template,
                local_cpus=item.local_cpus,
            )
            yield from _functions(whole, item)


def _functions(first: Device, endpoint: Endpoint) -> Iterator[Device]:
    """The functions of one device: its equal ones, its companion, then the virtual ones."""
    template = endpoint.template
    kinds = [template] * template.functions
    kinds += [] if template.companion is None else [template.companion]
    for function, kind in enumerate(kinds):
        yield replace(_moved(first, function), template=kind, vfs=0 if function else endpoint.vfs)
    virtual = replace(template, device=template.vf_device)
    for number in range(endpoint.vfs):
        moved = _moved(first, len(kinds) + number)
        yield replace(moved, template=virtual, physical=first, number=number)


def _moved(device: Device, functions: int) -> Device:
    """The function so many places after the device's; eight of them make a slot."""
    start = device.address
    slot, function = divmod(start.device * 8 + functions, 8)
    address = PciAddress(start.domain, start.bus, slot, function)
    return replace(device, address=address, path=f"{device.path.rpartition('/')[0]}/{address}")


def pci_files(machine: Machine, devices: tuple[Device, ...]) -> Tree:
    """The devices' folders and the links of bus/pci that lead to them."""
    return merged(*(_function(machine, device) for device in devices), *map(_virtual, devices))


def near_cpus(machine: Machine, device: Device) -> CpuSet:
    """What local_cpulist names: the node's CPUs, and all online ones where it is unknown."""
    if device.local_cpus is not None:
        return device.local_cpus & machine.cpus.online
    return machine.cpus.online if device.node == -1 else machine.node_cpus(device.node)


def _function(machine: Machine, device: Device) -> Tree:
    template = device.template
    values: dict[str, object] = {
        "class": template.pci_class,
        "vendor": template.vendor,
        "device": template.device,
        "numa_node": device.node,
        "local_cpulist": render(near_cpus(machine, device)),
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


def _virtual(device: Device) -> Tree:
    """What ties virtual functions to their physical one; other functions have none of it."""
    if device.vfs:
        return lines(device.path, {"sriov_totalvfs": _MAX_VFS, "sriov_numvfs": device.vfs})
    if device.physical is None:
        return {}
    return merged(
        link(f"{device.path}/physfn", device.physical.path),
        link(f"{device.physical.path}/virtfn{device.number}", device.path),
    )
