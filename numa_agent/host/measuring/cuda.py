"""Copies between a node's memory and a GPU, by CUDA's driver library (libcuda.so.1).

It comes with NVIDIA's driver, so that nothing is installed for it:
https://docs.nvidia.com/cuda/cuda-driver-api/. Loaded only where it is asked for, since a context
takes some of a GPU's memory and wakes it.
"""

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from numa_agent.core.errors import SourceError
from numa_agent.core.pci import PciAddress
from numa_agent.host.measuring.buffers import Buffer

LIBRARY = "libcuda.so.1"

MOST_BYTES = 64 << 20
"""Bytes of one copy, and of the GPU's memory that is taken."""

_PORTABLE = 1
_ID_LENGTH = 32

_SIGNATURES = {
    "cuInit": (ctypes.c_uint,),
    "cuDeviceGetCount": (ctypes.POINTER(ctypes.c_int),),
    "cuDeviceGet": (ctypes.POINTER(ctypes.c_int), ctypes.c_int),
    "cuDeviceGetPCIBusId": (ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "cuDevicePrimaryCtxRetain": (ctypes.POINTER(ctypes.c_void_p), ctypes.c_int),
    "cuDevicePrimaryCtxRelease_v2": (ctypes.c_int,),
    "cuCtxSetCurrent": (ctypes.c_void_p,),
    "cuCtxSynchronize": (),
    "cuMemAlloc_v2": (ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t),
    "cuMemFree_v2": (ctypes.c_uint64,),
    "cuMemHostRegister_v2": (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint),
    "cuMemHostUnregister": (ctypes.c_void_p,),
    "cuMemcpyHtoD_v2": (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t),
    "cuMemcpyDtoH_v2": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t),
}
"""The functions of CUDA 11 and later that are called, and what they take."""


class Library:
    """CUDA's driver library, each of whose calls is checked."""

    def __init__(self, path: str = LIBRARY) -> None:
        """Load and initialise it. Raises SourceError where it isn't there, or has no driver."""
        try:
            self._library = ctypes.CDLL(path)
            for name, takes in _SIGNATURES.items():
                getattr(self._library, name).argtypes = takes
        except (OSError, AttributeError) as error:
            raise SourceError(f"GPU copies need CUDA's driver library: {error}") from error
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function. Raises SourceError with CUDA's name of its error."""
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise SourceError(f"{name}: {self._said(code)}")

    def _said(self, code: int) -> str:
        text = ctypes.c_char_p()
        try:
            known = self._library.cuGetErrorName(code, ctypes.byref(text)) == 0
        except AttributeError:
            known = False
        return text.value.decode("ascii", "replace") if known and text.value else f"error {code}"


class Gpu:
    """One GPU, with a context and some of its memory until it is closed."""

    def __init__(self, library: Library, ordinal: int) -> None:
        """Take CUDA's number of it. Raises SourceError where it can't be had."""
        self._call = library.call
        self._device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(self._device), ordinal)
        self.address = _address(self._call, self._device, ordinal)
        self._context = ctypes.c_void_p()
        self._memory = ctypes.c_uint64()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)
        try:
            self._call("cuCtxSetCurrent", self._context)
            self._call("cuMemAlloc_v2", ctypes.byref(self._memory), MOST_BYTES)
        except SourceError:
            self._call("cuDevicePrimaryCtxRelease_v2", self._device)
            raise

    def close(self) -> None:
        """Give everything back. Raises SourceError."""
        self._call("cuCtxSetCurrent", self._context)
        try:
            self._call("cuMemFree_v2", self._memory)
        finally:
            self._call("cuDevicePrimaryCtxRelease_v2", self._device)

    def bytes_per_second(self, buffer: Buffer, seconds: float) -> tuple[float, float]:
        """What is copied of a buffer's stream to the GPU, and from it. Raises SourceError."""
        size = min(buffer.target.stream_bytes, MOST_BYTES)
        host, memory = ctypes.c_void_p(buffer.stream), self._memory
        self._call("cuCtxSetCurrent", self._context)
        with self._pinned(host, size):
            # To pin pages for long may move them off a node whose memory can be taken away.
            buffer.check()
            to_gpu = partial(self._call, "cuMemcpyHtoD_v2", memory, host, size)
            from_gpu = partial(self._call, "cuMemcpyDtoH_v2", host, memory, size)
            return self._rate(to_gpu, size, seconds), self._rate(from_gpu, size, seconds)

    @contextmanager
    def _pinned(self, host: ctypes.c_void_p, size: int) -> Iterator[None]:
        self._call("cuMemHostRegister_v2", host, size, _PORTABLE)
        try:
            yield
        finally:
            self._call("cuMemHostUnregister", host)

    def _rate(self, copy: Callable[[], None], size: int, seconds: float) -> float:
        copy()  # the first sets up what the others find
        self._call("cuCtxSynchronize")
        count, began = 0, time.perf_counter()
        now = began
        while now - began < seconds or not count:
            copy()
            self._call("cuCtxSynchronize")
            count += 1
            now = time.perf_counter()
        return size * count / (now - began)


@contextmanager
def opened(path: str, left_out: list[str]) -> Iterator[list[Gpu]]:
    """Every GPU that CUDA has; one that can't be had costs itself alone and is named.

    Raises SourceError where the library isn't there or has no driver.
    """
    library = Library(path)
    count = ctypes.c_int()
    library.call("cuDeviceGetCount", ctypes.byref(count))
    gpus: list[Gpu] = []
    try:
        for ordinal in range(count.value):
            try:
                gpus.append(Gpu(library, ordinal))
            except SourceError as error:
                left_out.append(f"CUDA's GPU {ordinal}: {error}")
        yield gpus
    finally:
        for gpu in gpus:
            try:
                gpu.close()
            except SourceError as error:
                left_out.append(f"GPU {gpu.address}: {error}")


def _address(call: Callable[..., None], device: ctypes.c_int, ordinal: int) -> PciAddress:
    text = ctypes.create_string_buffer(_ID_LENGTH)
    call("cuDeviceGetPCIBusId", text, _ID_LENGTH, device)
    try:
        return PciAddress.parse(text.value.decode("ascii", "replace").lower())
    except ValueError as error:
        raise SourceError(f"cuDeviceGetPCIBusId of GPU {ordinal}: {error}") from error
