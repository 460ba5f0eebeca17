"""What drivers make of PCI functions: network, RDMA, NVMe, DRM and accelerator devices.

Each lies in a folder below its function and is linked to from sys/class:
https://docs.kernel.org/admin-guide/abi-testing.html
"""

import hashlib
from collections import Counter
from collections.abc import Iterator

from .pci import Device
from .spec import Machine
from .tree import Tree, lines, link, merged

_ETHERNET, _INFINIBAND, _NVME = "0x0200", "0x0207", "0x0108"
_DRM_MAJOR, _ACCEL_MAJOR = 226, 261
_FIRST_RENDER_MINOR = 128


def interface_files(machine: Machine, devices: tuple[Device, ...]) -> Tree:
    """The interfaces of all devices that the host itself uses."""
    used = tuple(device for device in devices if device.template.used_by_host)
    kinds = (_network(machine, used), _rdma(used), _nvme(used), _drm(used), _accel(used))
    return merged(*(tree for trees in kinds for tree in trees))


def interface_name(device: Device) -> str:
    """The predictable name systemd would give: `ibp28s0` for InfiniBand at 0000:1c:00.0."""
    if device.physical is not None:
        return f"{interface_name(device.physical)}v{device.number}"
    address = device.address
    kind = "ib" if device.template.base_class == _INFINIBAND else "en"
    domain = f"P{address.domain}" if address.domain else ""
    function = f"f{address.function}" if device.template.functions > 1 else ""
    return f"{kind}{domain}p{address.bus}s{address.device}{function}"


def _interface(device: Device, kind: str, name: str, values: dict[str, object]) -> Tree:
    """One interface's folder below the function, and the class link to it."""
    folder = f"{device.path}/{kind}/{name}"
    return merged(
        lines(folder, values),
        link(f"{folder}/device", device.path),
        link(f"sys/class/{kind}/{name}", folder),
    )


def _of_class(devices: tuple[Device, ...], *classes: str) -> list[Device]:
    return [device for device in devices if device.template.base_class in classes]


def _network(machine: Machine, devices: tuple[Device, ...]) -> Iterator[Tree]:
    for device in _of_class(devices, _ETHERNET, _INFINIBAND):
        digest = hashlib.sha256(f"{machine.name}/{device.address}".encode()).hexdigest()
        mac = ":".join(["02", *(digest[at : at + 2] for at in range(0, 10, 2))])
        values: dict[str, object] = {"address": mac, "operstate": "up"}
        yield _interface(device, "net", interface_name(device), values)


def _rdma(devices: tuple[Device, ...]) -> Iterator[Tree]:
    """Each driver numbers its own by address, virtual functions last as they are made last."""
    adapters = [device for device in devices if device.template.rdma]
    adapters.sort(key=lambda device: (device.physical is not None, device.address))
    numbers: Counter[str] = Counter()
    for device in adapters:
        prefix = device.template.rdma
        name = f"{prefix}{numbers[prefix]}"
        numbers[prefix] += 1
        infiniband = device.template.base_class == _INFINIBAND
        port = {"state": "4: ACTIVE", "link_layer": "InfiniBand" if infiniband else "Ethernet"}
        yield _interface(device, "infiniband", name, {"node_type": "1: CA"})
        yield lines(f"{device.path}/infiniband/{name}/ports/1", port)


def _nvme(devices: tuple[Device, ...]) -> Iterator[Tree]:
    for number, device in enumerate(_of_class(devices, _NVME)):
        values: dict[str, object] = {"address": device.address, "transport": "pcie"}
        yield _interface(device, "nvme", f"nvme{number}", values)


def _drm(devices: tuple[Device, ...]) -> Iterator[Tree]:
    """A card and a render node each; their numbers are those of /dev/dri."""
    for number, device in enumerate(device for device in devices if device.template.drm):
        render = _FIRST_RENDER_MINOR + number
        for name, minor in ((f"card{number}", number), (f"renderD{render}", render)):
            yield _interface(device, "drm", name, {"dev": f"{_DRM_MAJOR}:{minor}"})


def _accel(devices: tuple[Device, ...]) -> Iterator[Tree]:
    """The numbers are those of /dev/accel."""
    for number, device in enumerate(device for device in devices if device.template.accel):
        yield _interface(device, "accel", f"accel{number}", {"dev": f"{_ACCEL_MAJOR}:{number}"})
