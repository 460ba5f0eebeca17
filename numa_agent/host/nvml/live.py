"""NVML itself, through NVIDIA's binding: opened once, kept open, never used across a fork.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlInitializationAndCleanup.html
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from numa_agent.core.nvml import NvmlCondition
from numa_agent.host.nvml import binding
from numa_agent.host.nvml import calls as keys
from numa_agent.host.nvml.calls import CallError, Key
from numa_agent.host.nvml.fabric import ask_fabric

T = TypeVar("T")

_NO_GPUS = 1
"""NVML_INIT_FLAG_NO_GPUS: start on a machine whose driver has no GPU too."""


@dataclass(frozen=True, slots=True)
class HighestIds:
    """The highest CPU and NUMA node that the kernel could ever show, which size the masks."""

    cpu: int
    node: int


class LiveCalls:
    """Answers as the driver does.

    Asking `init` opens NVML, and opens it again after `close`. Another process than the one that
    opened it is refused: the driver's state doesn't survive a fork.
    """

    def __init__(self, library: Path | None, highest: HighestIds) -> None:
        """Take the library's absolute path, None to let the loader find it."""
        self._library = library
        self._highest = highest
        self._nvml: Any = None
        self._opener: int | None = None
        self._handles: dict[int, Any] = {}
        self._instances: dict[tuple[int, int], Any] = {}

    def conditions(self) -> tuple[NvmlCondition, ...]:
        """What is wrong with the binding, once it is loaded."""
        shadow = self._nvml and binding.shadow_condition(getattr(self._nvml, "__file__", None))
        return (shadow,) if shadow else ()

    def close(self) -> None:
        """Let go of the driver: while held, its upgrade, MIG changes and GPU resets must wait.

        In a fork this does nothing, since the driver is the parent's.
        """
        if self._opener != os.getpid():
            return
        self._opener = None
        self._handles.clear()
        self._instances.clear()
        # A library that fails to shut down is as closed as it can be.
        with suppress(CallError):
            self._call("nvmlShutdown")

    def ask(
        self,
        key: Key[T],
        gpu: int | None = None,
        argument: int | None = None,
        mig: int | None = None,
    ) -> T:
        """The driver's answer to one call."""
        if self._opener not in (None, os.getpid()):
            raise CallError("OpenedBeforeFork", f"by process {self._opener}")
        if self._opener is None:
            if key is not keys.INIT:
                raise CallError("Uninitialized")
            self._open()
        answer: T = self._answer(key, gpu, argument, mig)
        return answer

    def _open(self) -> None:
        if self._library is not None:
            binding.preload(self._library)
        self._nvml = self._nvml or binding.load()
        self._call("nvmlInitWithFlags", _NO_GPUS)
        self._opener = os.getpid()

    def _answer(
        self, key: Key[Any], gpu: int | None, argument: int | None, mig: int | None
    ) -> Any:
        if key is keys.INIT:
            return None
        if gpu is None:
            return self._converted(binding.OF_SYSTEM[key])
        if key is keys.HANDLE:
            return self._open_gpu(gpu)
        if key is keys.MIG_DEVICE and argument is not None:
            return self._open_instance(gpu, argument)
        handle = self._handle(gpu) if mig is None else self._instance(gpu, mig)
        if key is keys.FABRIC:
            return ask_fabric(self._call, handle)
        if argument is None:
            return self._converted(binding.OF_GPU[key], handle)
        if key in binding.OF_PAIR:
            function, numbers = binding.OF_PAIR[key]
            return self._call(function, handle, self._handle(argument), *numbers)
        if key in binding.OF_SCOPE:
            return self._mask(key, handle, argument)
        return self._converted(binding.OF_GPU[key], handle, argument)

    def _call(self, name: str, *arguments: Any) -> Any:
        function = binding.wrapper(self._nvml, name)
        with binding.translated(self._nvml):
            return function(*arguments)

    def _converted(self, wrapper: binding.Wrapper, *arguments: Any) -> Any:
        function = binding.wrapper(self._nvml, wrapper.name)
        with binding.translated(self._nvml):
            return wrapper.value(function(*arguments))

    def _mask(self, key: Key[Any], handle: Any, scope: int) -> frozenset[int]:
        highest = self._highest.cpu if key is keys.CPU_AFFINITY else self._highest.node
        function = binding.OF_SCOPE[key]
        with binding.translated(self._nvml):
            return binding.ask_mask(
                lambda words: self._call(function, handle, words, scope), highest
            )

    def _open_gpu(self, gpu: int) -> None:
        # Asked anew in every pass: a GPU may be lost by now.
        self._handles[gpu] = self._call("nvmlDeviceGetHandleByIndex", gpu)

    def _handle(self, gpu: int) -> Any:
        if gpu not in self._handles:
            self._open_gpu(gpu)
        return self._handles[gpu]

    def _open_instance(self, gpu: int, mig: int) -> None:
        handle = self._handle(gpu)
        self._instances[gpu, mig] = self._call("nvmlDeviceGetMigDeviceHandleByIndex", handle, mig)

    def _instance(self, gpu: int, mig: int) -> Any:
        if (gpu, mig) not in self._instances:
            self._open_instance(gpu, mig)
        return self._instances[gpu, mig]
