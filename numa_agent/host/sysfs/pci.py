"""PCI functions from /sys/bus/pci/devices: what they are, and all that tells where.

Files: Documentation/ABI/testing/sysfs-bus-pci (https://docs.kernel.org/admin-guide/abi-testing.html).
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from numa_agent.config import NVIDIA_GPUS_DIR, PCI_DIR
from numa_agent.core.devices import DeviceKind, device_kind
from numa_agent.core.facts import PciFacts
from numa_agent.core.links import parse_path
from numa_agent.core.pci import PciAddress
from numa_agent.host.sysfs.files import Directory, number
from numa_agent.host.sysfs.sets import CpuSetReader

_CODE = re.compile(r"0x[0-9a-f]{4,6}")
_VIRTIO = re.compile(r"virtio\d+")
_VIRTIO_VENDOR = 0x1AF4
_GPU_NODE = re.compile(r"^Node:\s+(\d{1,5})$", re.MULTILINE)


def read_devices(root: Directory, sets: CpuSetReader) -> tuple[PciFacts, ...]:
    """The files of every PCI function, in address order; none where the machine has no PCI."""
    directory = root.directory(PCI_DIR)
    if directory is None:
        return ()
    with directory:
        found = [facts for name in directory.names() if (facts := _read(directory, name, sets))]
    found.sort(key=lambda facts: facts.address)
    return tuple(found)


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


def _read(directory: Directory, name: str, sets: CpuSetReader) -> PciFacts | None:
    try:
        address = PciAddress.parse(name)
    except ValueError as error:
        directory.warn("pci-name", directory.of(name), f"{directory.of(name)}: {error}; left out")
        return None
    class_code = directory.value(name + "/class", _code)
    vendor = directory.value(name + "/vendor", _code)
    numa_node = directory.value(name + "/numa_node", number)
    device = directory.value(name + "/device", _code)
    # Bridges and system devices are most of a machine's functions, and nobody works beside them.
    matters = device_kind(class_code, vendor, device) is not DeviceKind.OTHER
    placed = numa_node is not None and numa_node >= 0
    link = directory.link(f"{name}/driver") if matters else None
    driver = None if link is None else link.rpartition("/")[2]
    return PciFacts(
        address=address,
        class_code=class_code,
        vendor=vendor,
        device=device,
        numa_node=numa_node,
        local_cpus=None
        if placed and not matters
        else sets.read(directory, f"{name}/local_cpulist", f"{name}/local_cpus"),
        path=None if placed and not matters else parse_path(directory.link(name) or ""),
        driver=driver,
        physical_function=_address(directory.link(f"{name}/physfn")) if matters else None,
        interfaces=_interfaces(
            directory, name, is_virtio=driver == "virtio-pci" or vendor == _VIRTIO_VENDOR
        )
        if matters
        else (),
        rdma=tuple(directory.names(f"{name}/infiniband")) if matters else (),
    )


def _interfaces(directory: Directory, name: str, *, is_virtio: bool) -> tuple[str, ...]:
    """Network interfaces; a virtio device has them one level lower than a PCI driver's own."""
    own = directory.names(f"{name}/net")
    if own or not is_virtio:
        return tuple(own)
    inner = (entry for entry in directory.names(name) if _VIRTIO.fullmatch(entry))
    return tuple(found for entry in inner for found in directory.names(f"{name}/{entry}/net"))


def _address(link: str | None) -> PciAddress | None:
    try:
        return None if link is None else PciAddress.parse(link.rpartition("/")[2])
    except ValueError:
        return None


def _gpu_node(text: str) -> int | None:
    match = _GPU_NODE.search(text)
    return int(match[1]) if match else None


@lru_cache(maxsize=1024)  # a machine has hundreds of functions and a few dozen codes
def _code(text: str) -> int:
    if _CODE.fullmatch(text) is None:
        raise ValueError(f"not a PCI code: {text[:60]!r}")
    return int(text, 16)
