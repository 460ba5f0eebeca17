"""One way to ask NVML, whatever answers: each key of nvml.json is one call.

The keys and their meaning are those of docs/recorded-machines.md, the calls those of
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from numa_agent.core import cpulist
from numa_agent.core.documents import mapping
from numa_agent.core.pci import PciAddress

T = TypeVar("T")


class CallError(Exception):
    """A call that was refused.

    `error` is the binding's exception without `NVMLError_`, such as `GpuIsLost`; `Code31` is a
    code that it has no name for. `detail` says more where more is known.
    """

    def __init__(self, error: str, detail: str = "") -> None:
        super().__init__(f"{error} ({detail})" if detail else error)
        self.error = error
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """A call: its name in nvml.json, and how its value there is read (ValueError if it can't)."""

    name: str
    decode: Callable[[object], T]


class Calls(Protocol):
    """NVML, live or recorded."""

    def ask(
        self,
        key: Key[T],
        gpu: int | None = None,
        argument: int | None = None,
        mig: int | None = None,
    ) -> T:
        """The answer to one call. Raises CallError when it is refused.

        `argument` is the link, the other GPU, the scope or the MIG index, None where the call
        takes none; `mig` turns the question to one MIG instance of the GPU.
        """
        ...


@dataclass(frozen=True, slots=True)
class MigMode:
    """Whether MIG is on, and whether it is after the GPU's next reset."""

    current: bool
    pending: bool


@dataclass(frozen=True, slots=True)
class Registration:
    """A GPU's registration with the NVLink fabric; `status` matters when `state` is completed."""

    state: int
    status: int
    cluster_uuid: str
    clique_id: int


def _nothing(value: object) -> None:
    if value is not None:
        raise ValueError(f"expected null, found {value!r}")


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"expected a whole number, found {value!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {value!r}")
    return value


def _ids(value: object) -> frozenset[int]:
    return cpulist.parse(_text(value))


def _address(value: object) -> PciAddress:
    return PciAddress.parse(_text(value))


def _length(value: object) -> int:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, found {value!r}")
    return len(value)


def _instance(value: object) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"expected a MIG instance, found {value!r}")


def _pci(value: object) -> PciAddress:
    return _address(mapping(value).get("bus_id"))


def _mig_mode(value: object) -> MigMode:
    mode = mapping(value)
    return MigMode(bool(_number(mode.get("current"))), bool(_number(mode.get("pending"))))


def _registration(value: object) -> Registration:
    info = mapping(value)
    return Registration(
        state=_number(info.get("state")),
        status=_number(info.get("status")),
        cluster_uuid=_text(info.get("cluster_uuid")),
        clique_id=_number(info.get("clique_id")),
    )


INIT = Key("init", _nothing)
DRIVER_VERSION = Key("system.driver_version", _text)
NVML_VERSION = Key("system.nvml_version", _text)
GPU_COUNT = Key("gpus", _length)

HANDLE = Key("handle", _nothing)
PCI = Key("pci", _pci)
UUID = Key("uuid", _text)
MINOR_NUMBER = Key("minor_number", _number)
NAME = Key("name", _text)
MEMORY_BYTES = Key("memory_bytes", _number)
PERSISTENCE_MODE = Key("persistence_mode", _number)
NUMA_NODE_ID = Key("numa_node_id", _number)
ADDRESSING_MODE = Key("addressing_mode", _number)
C2C_ENABLED = Key("c2c_enabled", _number)
CPU_AFFINITY = Key("cpu_affinity", _ids)
MEMORY_AFFINITY = Key("memory_affinity", _ids)
FABRIC = Key("fabric", _registration)

MIG_MODE = Key("mig_mode", _mig_mode)
MIG_COUNT = Key("mig_devices", _length)
MIG_DEVICE = Key("mig_devices", _instance)
GPU_INSTANCE = Key("gpu_instance", _number)
COMPUTE_INSTANCE = Key("compute_instance", _number)

NVLINK_STATE = Key("nvlink_state", _number)
NVLINK_VERSION = Key("nvlink_version", _number)
NVLINK_REMOTE_TYPE = Key("nvlink_remote_type", _number)
NVLINK_REMOTE = Key("nvlink_remote_bus_id", _address)

COMMON_ANCESTOR = Key("common_ancestor", _number)
# By name, in the order of nvmlGpuP2PCapsIndex_t, which the live call takes.
P2P = {name: Key(f"p2p_{name}", _number) for name in ("read", "write", "nvlink", "atomics", "pci")}
