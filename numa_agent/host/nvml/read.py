"""All that NVML says in one pass.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from typing import TypeVar

from numa_agent.core.nvml import NvmlAnswers
from numa_agent.host.nvml import calls as keys
from numa_agent.host.nvml.calls import CallError, Calls, Key
from numa_agent.host.nvml.conditions import gpu_conditions, start_condition
from numa_agent.host.nvml.gpu import GpuReader

T = TypeVar("T")


def read(calls: Calls) -> NvmlAnswers:
    """What NVML says; where it doesn't start, only the condition that says why."""
    try:
        return read_started(calls)
    except CallError as error:
        conditions = (start_condition(error),)
        return NvmlAnswers(driver_version=None, nvml_version=None, gpus=(), conditions=conditions)


def read_started(calls: Calls) -> NvmlAnswers:
    """What NVML says. Raises CallError where it doesn't start or doesn't count its GPUs."""
    calls.ask(keys.INIT)
    readers = [GpuReader(calls, index) for index in range(calls.ask(keys.GPU_COUNT))]
    opened = [reader.index for reader in readers if reader.opened]
    gpus = tuple(reader.read(opened) for reader in readers)
    return NvmlAnswers(
        driver_version=_of_system(calls, keys.DRIVER_VERSION),
        nvml_version=_of_system(calls, keys.NVML_VERSION),
        gpus=gpus,
        conditions=gpu_conditions(gpus),
    )


def _of_system(calls: Calls, key: Key[T]) -> T | None:
    try:
        return calls.ask(key)
    except CallError:
        return None
