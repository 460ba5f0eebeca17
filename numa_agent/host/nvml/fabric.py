"""A GPU's registration with the NVLink fabric, in the structs of nvml.h.

They are declared here because some of the binding's hold 80 bytes of UUID instead of 16: the first
form in releases up to 13.595, the second in those up to 12.560.
https://docs.nvidia.com/deploy/nvml-api/structnvmlGpuFabricInfo__v2__t.html
"""

import ctypes
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from numa_agent.host.nvml.calls import CallError, Registration

_TO_NEXT_FORM = ("FunctionNotFound", "ArgumentVersionMismatch")

_UUID_CUTS = (0, 8, 12, 16, 20, 32)

_INFO = (
    ("cluster_uuid", ctypes.c_ubyte * 16),
    ("status", ctypes.c_uint),
    ("clique_id", ctypes.c_uint32),
    ("state", ctypes.c_ubyte),
)


class _First(ctypes.Structure):
    _fields_ = _INFO


class _Second(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint), *_INFO, ("health_mask", ctypes.c_uint32))


class _Third(ctypes.Structure):
    _fields_ = (*_Second._fields_, ("health_summary", ctypes.c_ubyte))


_FORMS: tuple[tuple[str, type[ctypes.Structure], int | None], ...] = (
    ("nvmlDeviceGetGpuFabricInfoV", _Second, 2),
    ("nvmlDeviceGetGpuFabricInfoV", _Third, 3),
    ("nvmlDeviceGetGpuFabricInfo", _First, None),
)


def ask_fabric(call: Callable[..., Any], handle: Any) -> Registration:
    """A GPU's registration, in the first form that the driver knows.

    The struct is made by the caller, says its own version (its size, with the form's number in
    the highest byte) and is passed by reference.
    """
    refusals: list[CallError] = []
    for function, struct, number in _FORMS:
        info: Any = struct()
        if number is not None:
            info.version = ctypes.sizeof(struct) | number << 24
        try:
            call(function, handle, ctypes.byref(info))
        except CallError as refusal:
            if refusal.error not in _TO_NEXT_FORM:
                raise
            refusals.append(refusal)
        else:
            return _registration(info)
    raise refusals[0]


def _registration(info: Any) -> Registration:
    digits = bytes(info.cluster_uuid).hex()
    return Registration(
        state=info.state,
        status=info.status,
        cluster_uuid="-".join(digits[start:end] for start, end in pairwise(_UUID_CUTS)),
        clique_id=info.clique_id,
    )
