"""What each error of NVML means for the machine or one GPU, and what helps.

Codes and causes are those of nvmlReturn_t:
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from numa_agent.core.nvml import NvmlAnswers, NvmlCondition, NvmlError, NvmlGpu
from numa_agent.host.nvml.calls import HANDLE, CallError

NOTHING = NvmlAnswers(driver_version=None, nvml_version=None, gpus=(), conditions=())
"""The answers where NVML isn't asked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an error leads to: a condition's code and a hint.

    `quiet` is an error that costs one fact of one GPU and isn't worth a condition there; `curable`
    is whether NVML can start in this process after it refused to; `broken` is a GPU's own state,
    which opening NVML anew doesn't change.
    """

    code: str
    hint: str
    quiet: bool = False
    curable: bool = True
    broken: bool = False


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
        broken=True,
    ),
    "ResetRequired": Outcome(
        "nvml-reset-required", "drain the node and reset the GPU", broken=True
    ),
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
    "BindingError": _ARGUMENT,
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


def may_open_anew(gpus: Collection[NvmlGpu]) -> bool:
    """Whether none of the GPUs could be opened though opening NVML anew may help."""
    if any(gpu.opened for gpu in gpus):
        return False
    refused = [outcome(error.error) for gpu in gpus for error in gpu.errors]
    causes = [found for found in refused if not found.broken]
    return bool(causes) and all(found.curable for found in causes)


def gpu_conditions(gpus: Iterable[NvmlGpu]) -> tuple[NvmlCondition, ...]:
    """What is wrong with each of the GPUs: one condition for a code and a GPU."""
    return tuple(condition for gpu in gpus for condition in _conditions_of(gpu))


def _conditions_of(gpu: NvmlGpu) -> Iterator[NvmlCondition]:
    causes: dict[str, set[str]] = {}
    for error in gpu.errors:
        if _is_loud(error):
            causes.setdefault(outcome(error.error).code, set()).add(error.error)
    for code, errors in sorted(causes.items()):
        hint = outcome(min(errors)).hint
        yield _condition(gpu, code, f"{', '.join(sorted(errors))}: {hint}")
    if gpu.persistence is False:
        yield _condition(
            gpu,
            "nvml-persistence-off",
            "persistence mode is off: the driver starts the GPU anew, for seconds, whenever its"
            " last user has left; run nvidia-persistenced",
        )


def _is_loud(error: NvmlError) -> bool:
    """Whether an error is worth a condition: a pair's may be the other GPU's, which says so."""
    return not error.of_pair and (error.call == HANDLE.name or not outcome(error.error).quiet)


def _condition(gpu: NvmlGpu, code: str, found: str) -> NvmlCondition:
    return NvmlCondition(
        code=code,
        message=f"GPU {gpu.index} ({gpu.address or 'PCI address unknown'}): {found}",
        subject=str(gpu.address or f"GPU {gpu.index}"),
    )
