"""What of NVML's answers comes into a recording, as docs/recorded-machines.md has them.

An answer's error is NVML's own word, so that one that isn't known is `Unknown`.
"""

import re
from collections.abc import Mapping

from numa_agent.core.documents import Document, mapping
from numa_agent.core.recording import words
from numa_agent.core.recording.fields import Leaf, mistyped, number, one_of, reduced, text
from numa_agent.core.recording.pseudonyms import Names

FORMAT = "numa-agent.nvml/v1"

_ERRORS = {
    *("Uninitialized", "InvalidArgument", "NotSupported", "NoPermission", "AlreadyInitialized"),
    *("NotFound", "InsufficientSize", "InsufficientPower", "DriverNotLoaded", "Timeout"),
    *("IrqIssue", "LibraryNotFound", "FunctionNotFound", "CorruptedInforom", "GpuIsLost"),
    *("ResetRequired", "OperatingSystem", "LibRmVersionMismatch", "InUse", "Memory", "NoData"),
    *("VgpuEccNotSupported", "InsufficientResources", "FreqNotSupported", "Deprecated"),
    *("ArgumentVersionMismatch", "NotReady", "GpuNotFound", "InvalidState", "Unknown"),
    *("ResetTypeNotSupported", "BindingError", "BindingNotFound", "OpenedBeforeFork", "NotText"),
}
_CODE = re.compile(r"Code\d{1,4}")
_CPUS = text(words.cpus)
_ADDRESS = text(lambda names, value: value if words.is_address(value) else names.word(value))
_CLUSTER = text(lambda names, value: words.uuid(names, value) if value.strip("0-") else value)
_NUMBERS = (
    *("minor_number", "memory_bytes", "persistence_mode", "numa_node_id", "addressing_mode"),
    *("c2c_enabled", "gpu_instance", "compute_instance"),
)
_LISTS = (
    *("nvlink_state", "nvlink_version", "nvlink_remote_type", "common_ancestor"),
    *("p2p_read", "p2p_write", "p2p_nvlink", "p2p_atomics", "p2p_pci"),
)


def _or_error(shape: object) -> Leaf:
    """An answer, or the error in its place; lists may have one in each place."""

    def leaf(names: Names, value: object) -> object:
        if isinstance(value, Mapping) and "error" in value:
            return {"error": _error(names, value["error"])}
        if isinstance(shape, list) and isinstance(value, list):
            return [_or_error(shape[0])(names, entry) for entry in value]
        return reduced(shape, value, names)

    return leaf


def _error(names: Names, value: object) -> object:
    if not isinstance(value, str):
        return mistyped(names, value)
    known = value in _ERRORS or _CODE.fullmatch(value) or not value or names.keep
    return value if known else "Unknown"


def _nothing(names: Names, value: object) -> object:
    return mistyped(names, value)


_DEVICE: Mapping[str, object] = {
    "uuid": text(words.unit),
    "name": text(words.product),
    **dict.fromkeys(_NUMBERS, number),
}
_GPU: Mapping[str, object] = {
    **_DEVICE,
    "handle": _nothing,
    "pci": {"bus_id": _ADDRESS},
    "cpu_affinity": [_CPUS],
    "memory_affinity": [_CPUS],
    "mig_mode": {"current": number, "pending": number},
    "mig_devices": [{key: _or_error(each) for key, each in _DEVICE.items()}],
    **{key: [number] for key in _LISTS},
    "nvlink_remote_bus_id": [_ADDRESS],
    "fabric": {"state": number, "status": number, "cluster_uuid": _CLUSTER, "clique_id": number},
}
_VERSIONS = {key: _or_error(text(words.version)) for key in ("driver_version", "nvml_version")}
_SHAPE = {
    "format": one_of(FORMAT),
    "init": _or_error(_nothing),
    "system": _VERSIONS,
    "gpus": _or_error([{key: _or_error(each) for key, each in _GPU.items()}]),
}


def answers(document: Document, names: Names) -> Document:
    """NVML's answers, call by call."""
    return mapping(reduced(_SHAPE, document, names))


def device_files(document: Document) -> frozenset[str]:
    """The names below /dev of the GPUs that answered with their minor number (`nvidia3`)."""
    gpus = document.get("gpus")
    minors = [mapping(gpu).get("minor_number") for gpu in gpus] if isinstance(gpus, list) else []
    return frozenset(f"nvidia{each}" for each in minors if type(each) is int and each >= 0)
