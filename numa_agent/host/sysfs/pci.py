"""PCI functions from /sys/bus/pci/devices and their NUMA nodes.

Files: Documentation/ABI/testing/sysfs-bus-pci (https://docs.kernel.org/admin-guide/abi-testing.html).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from numa_agent.config import NVIDIA_GPUS_DIR, PCI_DIR
from numa_agent.core.locality import Locator, Place
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import NodeSource, PciDevice
from numa_agent.host.sysfs.cpus import CpuSetReader
from numa_agent.host.sysfs.files import Directory, number

_CODE = re.compile(r"0x[0-9a-f]{4,6}")
_GPU_NODE = re.compile(r"^Node:\s+(\d{1,5})$", re.MULTILINE)


class _Raw(NamedTuple):
    name: str
    address: PciAddress
    class_code: int | None
    vendor: int | None
    device: int | None
    numa_node: int | None


def read_devices(root: Directory, locator: Locator, sets: CpuSetReader) -> tuple[PciDevice, ...]:
    """Every PCI function, in address order; none where the machine has no PCI."""
    directory = root.directory(PCI_DIR)
    if directory is None:
        return ()
    with directory:
        raws = [raw for name in directory.names() if (raw := _read_raw(directory, name))]
        raws.sort(key=lambda raw: raw.address)
        bridges = {raw.name: raw.numa_node for raw in raws}
        devices = tuple(_placed(directory, raw, bridges, locator, sets) for raw in raws)
    lost = sum(device.node_source is NodeSource.UNKNOWN for device in devices)
    if lost:
        path = root.of(PCI_DIR)
        root.warn("pci-node-unknown", path, f"{path}: no file gives the node of {lost} devices")
    return devices


def read_gpu_memory_nodes(root: Directory) -> Mapping[int, PciAddress]:
    """NUMA nodes that are a GPU's own memory, with that GPU's address.

    The NVIDIA driver tells on machines where it puts GPU memory online as nodes (POWER9, Grace).
    """
    found: dict[int, PciAddress] = {}
    for name in root.names(NVIDIA_GPUS_DIR):
        node = root.value(f"{NVIDIA_GPUS_DIR}/{name}/numa_status", _gpu_node)
        try:
            address = PciAddress.parse(name)
        except ValueError:
            continue
        if node is not None:
            found[node] = address
    return found


def _read_raw(directory: Directory, name: str) -> _Raw | None:
    try:
        address = PciAddress.parse(name)
    except ValueError as error:
        directory.warn("pci-name", directory.of(name), f"{directory.of(name)}: {error}; left out")
        return None
    return _Raw(
        name,
        address,
        directory.value(name + "/class", _code),
        directory.value(name + "/vendor", _code),
        directory.value(name + "/device", _code),
        directory.value(name + "/numa_node", number),
    )


def _placed(
    directory: Directory,
    raw: _Raw,
    bridges: Mapping[str, int | None],
    locator: Locator,
    sets: CpuSetReader,
) -> PciDevice:
    place = (
        locator.of_node_id(raw.numa_node)
        or _place_of_bridge(directory, raw.name, bridges, locator)
        or _place_of_local_cpus(directory, raw.name, locator, sets)
        or locator.otherwise()
    )
    return PciDevice(
        address=raw.address,
        class_code=raw.class_code,
        vendor=raw.vendor,
        device=raw.device,
        node=place.node,
        raw_numa_node=raw.numa_node,
        node_source=place.source,
    )


def _place_of_bridge(
    directory: Directory, name: str, bridges: Mapping[str, int | None], locator: Locator
) -> Place | None:
    for above in _bridges_above(directory.link(name) or ""):
        place = locator.of_node_id(bridges.get(above), NodeSource.BRIDGE)
        if place is not None:
            return place
    return None


def _bridges_above(link: str) -> Iterable[str]:
    """The names on the way from a device to its host bridge, nearest first."""
    return reversed(link.split("/")[:-1])


def _place_of_local_cpus(
    directory: Directory, name: str, locator: Locator, sets: CpuSetReader
) -> Place | None:
    if not locator.several:
        return None
    return locator.of_local_cpus(
        sets.read(directory, f"{name}/local_cpulist", f"{name}/local_cpus")
    )


def _gpu_node(text: str) -> int | None:
    match = _GPU_NODE.search(text)
    return int(match[1]) if match else None


@lru_cache(maxsize=1024)  # a machine has hundreds of functions and a few dozen codes
def _code(text: str) -> int:
    if _CODE.fullmatch(text) is None:
        raise ValueError(f"not a PCI code: {text[:60]!r}")
    return int(text, 16)
