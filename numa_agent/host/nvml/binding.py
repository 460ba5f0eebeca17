"""NVIDIA's Python binding: the module `pynvml` of the distribution nvidia-ml-py.

The binding's source is its release on PyPI (nvidia-ml-py); each quirk handled here was seen in
releases 12.550 to 13.615.
"""

import ctypes
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numa_agent.core.nvml import NvmlCondition
from numa_agent.core.pci import PciAddress
from numa_agent.host.nvml import calls as keys
from numa_agent.host.nvml.calls import CallError, Key, MigMode

LIBRARY = "libnvidia-ml.so.1"
"""The only name by which the binding looks for the library."""

_WORD_BITS = 64

_REQUIRED = ("nvmlInitWithFlags", "nvmlShutdown")

_MISFITS = (
    ctypes.ArgumentError,
    ArithmeticError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    ValueError,
)
"""What an old binding raises that can't make the call, or a result that isn't as expected."""


def load() -> Any:
    """The module. Raises CallError where it isn't installed, or isn't a binding to NVML at all.

    The distribution `pynvml` 13 makes every import of the name warn, NVIDIA's own included, which
    is an error under `-W error`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pynvml
        except Exception as error:  # whatever a module of this name raises that isn't NVIDIA's
            raise CallError("BindingNotFound", str(error)) from error
    if not _is_binding(pynvml):
        place = getattr(pynvml, "__file__", None) or list(getattr(pynvml, "__path__", ()))
        raise CallError("BindingNotFound", f"{place} is another module of that name")
    return pynvml


def _is_binding(module: Any) -> bool:
    error = getattr(module, "NVMLError", None)
    return (
        isinstance(error, type)
        and issubclass(error, Exception)
        and all(callable(getattr(module, name, None)) for name in _REQUIRED)
    )


def preload(library: Path) -> None:
    """Load the library from a path, so that the binding's look-up by name finds this one.

    Raises CallError where that can't be: the file must be a library of the SONAME looked for.
    """
    try:
        wanted = ctypes.CDLL(str(library))
    except OSError as error:
        raise CallError("LibraryNotFound", str(error)) from error
    except ValueError as error:  # a NUL, or what has no bytes
        raise CallError("LibraryNotFound", f"{str(library)!r}: {error}") from error
    try:
        found = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise CallError("LibraryNotFound", f"the SONAME of {library} isn't {LIBRARY}") from error
    if found._handle != wanted._handle:
        raise CallError("LibraryNotFound", f"another {LIBRARY} is loaded than {library}")


def shadow_condition(file: str | None) -> NvmlCondition | None:
    """What is wrong if the module isn't NVIDIA's one file, which the old `pynvml` shadows."""
    if file is not None and Path(file).name == "pynvml.py":
        return None
    from importlib import metadata

    try:
        owner = f"pynvml {metadata.version('pynvml')}"
    except metadata.PackageNotFoundError:
        owner = "another distribution"
    return NvmlCondition(
        code="nvml-binding-shadowed",
        message=f"{file or 'pynvml'} is of {owner} and hides NVIDIA's binding, so that newer facts"
        " are missing; uninstall it and keep nvidia-ml-py",
    )


@contextmanager
def translated(nvml: Any) -> Iterator[None]:
    """Turn the binding's error into a CallError, and what it can't do or convert as well.

    Its errors aren't hashable and don't compare with numbers, so the class's name tells them
    apart; a code without a class of its own is named by its number.
    """
    try:
        yield
    except nvml.NVMLError as error:
        name = type(error).__name__.removeprefix("NVMLError")
        number = getattr(error, "value", None)
        code = "Unknown" if number is None else f"Code{number}"
        raise CallError(name.removeprefix("_") or code) from error
    except UnicodeDecodeError as error:
        raise CallError("NotText", str(error)) from error
    except _MISFITS as error:
        raise CallError("BindingError", f"{type(error).__name__}: {error}") from error


def wrapper(nvml: Any, name: str) -> Callable[..., Any]:
    """The binding's function; one that it is too old for is as good as missing in the driver."""
    found: Callable[..., Any] | None = getattr(nvml, name, None)
    if found is None:
        raise CallError("FunctionNotFound", f"this nvidia-ml-py has no {name}")
    return found


def text(value: bytes | str) -> str:
    """A text result, which old releases give as bytes."""
    found = value.decode() if isinstance(value, bytes) else value
    if not isinstance(found, str):
        raise TypeError(f"expected text, found {found!r}")
    return found


def address(info: Any) -> PciAddress:
    """The address in a PCI struct, from its numbers: its texts were cut in one driver or other.

    NVML names a GPU, which is always function 0.
    """
    return PciAddress(info.domain, info.bus, info.device, 0)


def bits(words: Any) -> frozenset[int]:
    """The ids in a mask of 64-bit words, the lowest word first."""
    return frozenset(
        _WORD_BITS * position + bit
        for position, word in enumerate(words)
        for bit in range(_WORD_BITS)
        if word >> bit & 1
    )


def ask_mask(ask: Callable[[int], Any], highest: int) -> frozenset[int]:
    """The ids of a mask that `ask` fills, given a number of words that holds the highest id.

    A driver that finds it too small, which it says in either of two ways, gets twice as many.
    """
    words = highest // _WORD_BITS + 1
    try:
        return bits(ask(words))
    except CallError as refusal:
        if refusal.error not in ("InsufficientSize", "InvalidArgument"):
            raise
    return bits(ask(2 * words))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The binding's function for a key, and what makes the key's value of its result."""

    name: str
    value: Callable[[Any], object] = int


def _mig_mode(modes: Any) -> MigMode:
    return MigMode(bool(modes[0]), bool(modes[1]))


OF_SYSTEM: Mapping[Key[Any], Wrapper] = {
    keys.DRIVER_VERSION: Wrapper("nvmlSystemGetDriverVersion", text),
    keys.NVML_VERSION: Wrapper("nvmlSystemGetNVMLVersion", text),
    keys.GPU_COUNT: Wrapper("nvmlDeviceGetCount"),
}
"""Calls without a GPU."""

OF_GPU: Mapping[Key[Any], Wrapper] = {
    keys.PCI: Wrapper("nvmlDeviceGetPciInfo", address),
    keys.UUID: Wrapper("nvmlDeviceGetUUID", text),
    keys.MINOR_NUMBER: Wrapper("nvmlDeviceGetMinorNumber"),
    keys.NAME: Wrapper("nvmlDeviceGetName", text),
    keys.MEMORY_BYTES: Wrapper("nvmlDeviceGetMemoryInfo", lambda info: int(info.total)),
    keys.PERSISTENCE_MODE: Wrapper("nvmlDeviceGetPersistenceMode"),
    keys.NUMA_NODE_ID: Wrapper("nvmlDeviceGetNumaNodeId"),
    keys.ADDRESSING_MODE: Wrapper("nvmlDeviceGetAddressingMode"),
    keys.C2C_ENABLED: Wrapper("nvmlDeviceGetC2cModeInfoV", lambda info: int(info.isC2cEnabled)),
    keys.MIG_MODE: Wrapper("nvmlDeviceGetMigMode", _mig_mode),
    keys.MIG_COUNT: Wrapper("nvmlDeviceGetMaxMigDeviceCount"),
    keys.GPU_INSTANCE: Wrapper("nvmlDeviceGetGpuInstanceId"),
    keys.COMPUTE_INSTANCE: Wrapper("nvmlDeviceGetComputeInstanceId"),
    keys.NVLINK_STATE: Wrapper("nvmlDeviceGetNvLinkState"),
    keys.NVLINK_VERSION: Wrapper("nvmlDeviceGetNvLinkVersion"),
    keys.NVLINK_REMOTE_TYPE: Wrapper("nvmlDeviceGetNvLinkRemoteDeviceType"),
    keys.NVLINK_REMOTE: Wrapper("nvmlDeviceGetNvLinkRemotePciInfo", address),
}
"""Calls that take a handle, and a link where there is one."""

OF_PAIR: Mapping[Key[Any], tuple[str, tuple[int, ...]]] = {
    keys.COMMON_ANCESTOR: ("nvmlDeviceGetTopologyCommonAncestor", ()),
    # By number: the binding's NVML_P2P_CAPS_INDEX_READ is a tuple by mistake.
    **{
        key: ("nvmlDeviceGetP2PStatus", (position,))
        for position, key in enumerate(keys.P2P.values())
    },
}
"""Calls that take two handles, and the numbers that follow."""

OF_SCOPE: Mapping[Key[Any], str] = {
    keys.CPU_AFFINITY: "nvmlDeviceGetCpuAffinityWithinScope",
    keys.MEMORY_AFFINITY: "nvmlDeviceGetMemoryAffinity",
}
"""Calls that fill a mask of ids within a scope."""
