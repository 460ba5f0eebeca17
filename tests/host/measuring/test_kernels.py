"""The loops that are timed: they read what they say, on this CPU."""

import ctypes
import mmap
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.measuring.calls import LIBC
from numa_agent.host.measuring.kernels import LINE, Chaser, chain, lay, read_in_order

needs_loop = pytest.mark.skipif(
    os.uname().machine not in ("x86_64", "aarch64"), reason="no loop for this architecture"
)


def memory(size: int) -> tuple[mmap.mmap, int]:
    found = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return found, ctypes.addressof(ctypes.c_char.from_buffer(found))


@pytest.mark.parametrize("size", [512, 4096, 1 << 16, 1 << 20])
def test_a_chain_is_one_circle_through_every_line(size: int) -> None:
    offsets = chain(size)
    seen, at = set(), 0
    for _ in range(len(offsets)):
        seen.add(at)
        at = offsets[at // LINE]
    assert seen == set(range(0, size, LINE))
    assert at == 0


def test_a_chain_has_no_stride_that_a_prefetcher_could_follow() -> None:
    offsets = chain(1 << 20)
    visited, at = [], 0
    for _ in range(4096):
        visited.append(at)
        at = offsets[at // LINE]
    strides = [later - before for before, later in pairwise(visited)]
    assert max(strides.count(stride) for stride in set(strides)) <= 2
    near = sum(abs(stride) <= 4096 for stride in strides)
    assert near < len(strides) / 50


@pytest.mark.parametrize("size", [0, 64, 256, 3 << 12, (1 << 16) + 64])
def test_other_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes aren't a power of two of lines"):
        chain(size)


@needs_loop
def test_the_loop_follows_the_chain_that_lies_in_memory() -> None:
    size = 1 << 16
    buffer, base = memory(size)
    offsets = chain(size)
    lay(offsets, buffer)
    chase = Chaser()
    at = 0
    for count in (1, 2, 3, 500, 1024):
        expected = at
        for _ in range(count):
            expected = offsets[expected // LINE]
        assert chase(at, count, base) == expected
        at = expected
    assert chase(0, 0, base) == offsets[0], "it reads once at least, and ends"
    buffer.close()


@needs_loop
def test_its_page_is_never_writable_and_executable_at_once() -> None:
    chase = Chaser()
    address = ctypes.cast(chase._function, ctypes.c_void_p).value
    assert address is not None
    lines = Path("/proc/self/maps").read_text().splitlines()
    found = [re.fullmatch(r"([0-9a-f]+)-([0-9a-f]+) (\S+) .*", line) for line in lines]
    (modes,) = [
        each[3] for each in found if each and int(each[1], 16) <= address < int(each[2], 16)
    ]
    assert modes == "r-xp"


def test_another_architecture_is_named() -> None:
    with pytest.raises(SourceError, match="measured on x86_64 and aarch64, and this is riscv64"):
        Chaser("riscv64")


def test_reading_in_order_goes_to_the_end_and_sees_a_changed_buffer() -> None:
    size = 1 << 20
    buffer, address = memory(size)
    LIBC.memset(address, 1, size)
    read_in_order(address, size)
    buffer[size - 1] = 0
    with pytest.raises(SourceError, match="was changed meanwhile"):
        read_in_order(address, size)
    buffer.close()
