"""What each error of NVML means for the machine as a whole, and what helps.

Codes and causes are those of nvmlReturn_t:
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_agent.core.nvml import NvmlAnswers, NvmlCondition, NvmlGpu
from numa_agent.host.nvml.calls import COMMON_ANCESTOR, P2P, CallError

NOTHING = NvmlAnswers(driver_version=None, nvml_version=None, gpus=(), conditions=())
"""The answers where NVML isn't asked."""

# A pair's error may be the other GPU's, which says so itself.
_PAIRS = {COMMON_ANCESTOR.name, *(key.name for key in P2P.values())}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an error leads to: a condition's code and a hint.

    `quiet` is an error that costs one fact of one GPU and isn't worth a condition there; `curable`
    is whether NVML can start in this process after it refused to.
    """

    code: str
    hint: str
    quiet: bool = False
    curable: bool = True


_PERMISSION = Outcome(
    "nvml-no-permission",
    "allow /dev/nvidiactl and /dev/nvidiaN in the container's device cgroup (nvidia runtime class"
    " with NVIDIA_VISIBLE_DEVICES=all, and NVIDIA_MIG_MONITOR_DEVICES=all for MIG)",
)
_BUSY = Outcome("nvml-not-ready", "the driver is busy or the GPU went away; it is asked again")
_ABSENT = Outcome("nvml-not-available", "this driver or this platform doesn't have it", quiet=True)
_ARGUMENT = Outcome(
    "nvml-call-refused", "the driver and nvidia-ml-py don't agree on a call", quiet=True
)
_OTHER = Outcome("nvml-error", "NVML is asked again; see the kernel's log for the driver's NVRM")

OUTCOMES: Mapping[str, Outcome] = {
    "LibraryNotFound": Outcome(
        "nvml-library-missing",
        "run the container with the nvidia runtime class, or mount the host's driver and name its"
        " libnvidia-ml.so.1 with --nvml PATH",
    ),
    "DriverNotLoaded": Outcome(
        "nvml-driver-not-loaded",
        "the kernel module isn't loaded, as while a driver is installed or upgraded; NVML is asked"
        " again",
    ),
    "LibRmVersionMismatch": Outcome(
        "nvml-version-mismatch",
        "the library is of another driver version than the loaded kernel module: reload the module"
        " or reboot the node, and restart this process, which keeps the library it has loaded",
        curable=False,
    ),
    "FunctionNotFound": _ABSENT,
    "NotSupported": _ABSENT,
    "NoPermission": _PERMISSION,
    "OperatingSystem": _PERMISSION,
    "GpuIsLost": Outcome(
        "nvml-gpu-lost",
        "it fell off the bus (XID 79): drain the node and reset it; the GPU keeps its place in the"
        " map",
    ),
    "ResetRequired": Outcome("nvml-reset-required", "drain the node and reset the GPU"),
    "InsufficientSize": _ARGUMENT,
    "ArgumentVersionMismatch": _ARGUMENT,
    "InvalidArgument": _ARGUMENT,
    "NotFound": _ARGUMENT,
    "NotReady": _BUSY,
    "InvalidState": _BUSY,
    "GpuNotFound": _BUSY,
    "Uninitialized": _BUSY,
    "Timeout": Outcome("nvml-timeout", "NVML is asked again", quiet=True),
    "Unknown": Outcome(
        "nvml-unknown-error",
        "often a missing permission or a half-loaded driver: check the container's devices and"
        " nvidia-smi on the host; NVML is asked again",
    ),
    # The names below are ours.
    "BindingNotFound": Outcome(
        "nvml-binding-missing", "install nvidia-ml-py beside numa-agent", curable=False
    ),
    "OpenedBeforeFork": Outcome(
        "nvml-forked",
        "NVML can't be used across a fork: start a new process, or open NVML after the fork",
        curable=False,
    ),
}


def outcome(error: str) -> Outcome:
    """What an error leads to; one that has no row of its own is asked again."""
    return OUTCOMES.get(error, _OTHER)


def start_condition(refusal: CallError) -> NvmlCondition:
    """Why NVML as a whole doesn't answer."""
    found = outcome(refusal.error)
    return NvmlCondition(code=found.code, message=f"NVML doesn't answer: {refusal}; {found.hint}")


def gpu_conditions(gpus: Iterable[NvmlGpu]) -> tuple[NvmlCondition, ...]:
    """What is wrong with some of the GPUs, one condition an error, each naming its GPUs."""
    named: dict[str, list[str]] = {}
    cold: list[str] = []
    for gpu in gpus:
        for error in sorted(_own_errors(gpu)):
            if not outcome(error).quiet:
                named.setdefault(error, []).append(_label(gpu))
        if gpu.persistence is False:
            cold.append(_label(gpu))
    conditions = [
        NvmlCondition(
            code=outcome(error).code,
            message=f"{error} from {', '.join(labels)}: {outcome(error).hint}",
        )
        for error, labels in sorted(named.items())
    ]
    return (*conditions, *_persistence(cold))


def _own_errors(gpu: NvmlGpu) -> set[str]:
    return {error.error for error in gpu.errors if error.call not in _PAIRS}


def _persistence(labels: list[str]) -> tuple[NvmlCondition, ...]:
    if not labels:
        return ()
    message = (
        f"persistence mode is off on {', '.join(labels)}: the driver starts such a GPU anew, for"
        " seconds, whenever its last user has left; run nvidia-persistenced"
    )
    return (NvmlCondition(code="nvml-persistence-off", message=message),)


def _label(gpu: NvmlGpu) -> str:
    return f"GPU {gpu.index}" + (f" ({gpu.address})" if gpu.address else "")
