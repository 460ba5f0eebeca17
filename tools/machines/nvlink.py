"""What NVML answers about pairs: a GPU's NVLinks, and its way to every other GPU."""

import itertools

from .gpus import Gpu
from .pci import Device
from .spec import Nvidia

_SINGLE, _MULTIPLE, _HOST_BRIDGE, _NODE, _SYSTEM = 10, 20, 30, 40, 50
_P2P_OK, _P2P_CHIPSET, _P2P_NOT_SUPPORTED = 0, 1, 5
_TO_GPU, _TO_SWITCH = 0, 2
_ACTIVE = 1


def bus_id(device: Device) -> str:
    """The address in NVML's spelling: eight domain digits, capitals, function always 0."""
    address = device.address
    return f"{address.domain:08X}:{address.bus:02X}:{address.device:02X}.0"


def link_answers(
    nvidia: Nvidia, gpus: tuple[Gpu, ...], gpu: Gpu, switches: list[Device]
) -> dict[str, object]:
    """One entry per NVLink in each list; every link is up."""
    if nvidia.switched:
        kind = _TO_SWITCH
        ends = list(itertools.islice(itertools.cycle(switches), gpu.model.nvlinks))
    else:
        kind = _TO_GPU
        ends = [gpus[peer].device for peer in _linked(nvidia, gpu)]
    return {
        "nvlink_state": [_ACTIVE] * len(ends),
        "nvlink_version": [gpu.model.nvlink_version] * len(ends),
        "nvlink_remote_type": [kind] * len(ends),
        "nvlink_remote_bus_id": [bus_id(end) for end in ends],
    }


def _linked(nvidia: Nvidia, gpu: Gpu) -> list[int]:
    """The GPU at the other end of each of the GPU's links, by NVML index."""
    peers: list[int] = []
    for first, second, count in nvidia.links:
        if gpu.index in (first, second):
            peers += [second if gpu.index == first else first] * count
    return peers


def peer_answers(nvidia: Nvidia, gpus: tuple[Gpu, ...], gpu: Gpu) -> dict[str, object]:
    """One entry per GPU, the asked one included, in each list."""
    levels = [_level(gpu.device, other.device) for other in gpus]
    linked = {other.index for other in gpus} if nvidia.switched else set(_linked(nvidia, gpu))
    direct = [
        _P2P_OK if other.index in linked or level <= _HOST_BRIDGE else _P2P_CHIPSET
        for other, level in zip(gpus, levels, strict=True)
    ]
    links = [_P2P_OK if other.index in linked else _P2P_NOT_SUPPORTED for other in gpus]
    tables = {
        "common_ancestor": levels,
        "p2p_read": direct,
        "p2p_write": direct,
        "p2p_nvlink": links,
        "p2p_atomics": links,
        "p2p_pci": direct,
    }
    return {name: _but_self(values, gpu.index) for name, values in tables.items()}


def _but_self(values: list[int], index: int) -> list[object]:
    """A GPU asked about its way to itself refuses."""
    return [*values[:index], {"error": "InvalidArgument"}, *values[index + 1 :]]


def _level(first: Device, second: Device) -> int:
    """NVML's topology level of two devices, from the bridges above them."""
    above, beside = first.bridges, second.bridges
    if above[0] != beside[0]:
        return _NODE if first.node == second.node != -1 else _SYSTEM
    pairs = zip(above, beside, strict=False)
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    if shared == 1:
        return _HOST_BRIDGE
    return _SINGLE if max(len(above), len(beside)) - shared <= 1 else _MULTIPLE
