"""What NVML answers about pairs: a GPU's NVLinks, and its way to every other GPU."""

import itertools
from collections.abc import Mapping

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


def error(name: str) -> dict[str, str]:
    """A refusal by its name, which is that of the binding's exception without `NVMLError_`."""
    return {"error": name}


def link_answers(
    nvidia: Nvidia, gpus: tuple[Gpu, ...], gpu: Gpu, switches: list[Device]
) -> dict[str, object]:
    """One entry per NVLink in each list; every link is up.

    A switch outside of the machine, as in a rack of GB200, has no address here.
    """
    ends: list[str | dict[str, str]] = [bus_id(switch) for switch in switches]
    if nvidia.switched:
        kind = _TO_SWITCH
        behind = itertools.cycle(ends or [error("NotSupported")])
        ends = list(itertools.islice(behind, gpu.model.nvlinks))
    else:
        kind = _TO_GPU
        ends = [bus_id(gpus[peer].device) for peer in _linked(nvidia, gpu)]
    return {
        "nvlink_state": [_ACTIVE] * len(ends),
        "nvlink_version": [gpu.model.nvlink_version] * len(ends),
        "nvlink_remote_type": [kind] * len(ends),
        "nvlink_remote_bus_id": ends,
    }


def _linked(nvidia: Nvidia, gpu: Gpu) -> list[int]:
    """The GPU at the other end of each of the GPU's links, by NVML index."""
    peers: list[int] = []
    for first, second, number in nvidia.links:
        if gpu.index in (first, second):
            peers += [second if gpu.index == first else first] * number
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
    # A GPU asked about its way to itself refuses.
    refusals = dict.fromkeys(nvidia.lost, "GpuIsLost") | {gpu.index: "InvalidArgument"}
    return {name: _refused(values, refusals) for name, values in tables.items()}


def _refused(values: list[int], refusals: Mapping[int, str]) -> list[object]:
    return [
        error(refusals[index]) if index in refusals else value
        for index, value in enumerate(values)
    ]


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
