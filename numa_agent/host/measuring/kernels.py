"""The two loops that are timed: reads in order, and reads that wait for each other.

Reading in order is libc's memchr for a byte that isn't there, which uses the widest loads that
the CPU has and writes nothing. Waiting reads are a few machine instructions (`_CHASE`), since
neither Python nor libc has a loop whose next address is what it has just read. They are written to
a page of their own, which is executable only when it is no longer writable.
"""

import ctypes
import mmap
import os
from array import array
from collections.abc import Callable

from numa_agent.core.errors import SourceError
from numa_agent.host.measuring.calls import LIBC

LINE = 64
"""Bytes of memory that one read brings; no CPU that is measured has shorter lines."""

ABSENT = 0
FILLER = 1
"""What a stream is filled with: every byte, so that memchr goes to the end."""

Chase = Callable[[int, int, int], int]
"""(offset, reads, base): the offset after so many reads, each of the offset of the next."""

_CHASE = {
    # mov rdi, [rdi+rdx]; dec rsi; jnz -9; mov rax, rdi; ret
    "x86_64": bytes.fromhex("488b3c17 48ffce 75f7 4889f8 c3"),
    # ldr x0, [x2, x0]; subs x1, x1, #1; b.ne -8; ret
    "aarch64": b"".join(
        word.to_bytes(4, "little") for word in (0xF8606840, 0xF1000421, 0x54FFFFC1, 0xD65F03C0)
    ),
}
"""The loop by architecture, to be called as a C function of three longs."""

_STEP = 0x9E3779B97F4A7C15
"""An odd constant without pattern (2^64 divided by the golden ratio)."""


class Chaser:
    """The loop of waiting reads, as long as this object lives."""

    def __init__(self, machine: str | None = None) -> None:
        """Raises SourceError where there is no such loop, or nothing may be made executable."""
        name = os.uname().machine if machine is None else machine
        code = _CHASE.get(name)
        if code is None or ctypes.sizeof(ctypes.c_void_p) != 8:
            known = " and ".join(_CHASE)
            raise SourceError(f"latency is measured on {known}, and this is {name}")
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._page = mmap.mmap(-1, mmap.PAGESIZE, flags, mmap.PROT_READ | mmap.PROT_WRITE)
        self._page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        executable = mmap.PROT_READ | mmap.PROT_EXEC
        if LIBC.mprotect(address, mmap.PAGESIZE, executable) != 0:
            why = os.strerror(ctypes.get_errno())
            raise SourceError(
                f"latency needs a page of code that is made while running, and mprotect refuses"
                f" it ({why}); SELinux has it as execmem"
            )
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong
        )
        self._function = prototype(address)

    def __call__(self, offset: int, reads: int, base: int) -> int:
        """The offset after so many reads from a base; at least one."""
        return int(self._function(offset, max(reads, 1), base))


def chain(length: int) -> "array[int]":
    """The offset that each line of a chain holds: one circle through all, in no order to foresee.

    `length` is in bytes, a power of two. A linear congruence visits every line once before it
    comes back (Hull and Dobell, https://doi.org/10.1137/1004061).
    """
    lines = length // LINE
    if lines & (lines - 1) or lines < 8:
        raise ValueError(f"{length} bytes aren't a power of two of lines")
    factor = (_STEP & ~3 | 1) % lines
    return array("Q", ((factor * line + 1) % lines * LINE for line in range(lines)))


def lay(offsets: "array[int]", buffer: mmap.mmap) -> None:
    """Write a chain into the beginning of a buffer, one offset a line."""
    with (
        memoryview(buffer) as whole,
        whole[: len(offsets) * LINE] as part,
        part.cast("Q") as words,
        words[:: LINE // 8] as firsts,
        memoryview(offsets) as own,
    ):
        firsts[:] = own


def read_in_order(address: int, length: int) -> None:
    """Read every byte of a stream. Raises SourceError if it isn't what it was filled with."""
    if LIBC.memchr(address, ABSENT, length) is not None:
        raise SourceError("the buffer that is read was changed meanwhile")
