"""Where memory comes from, and which node each page is on.

https://docs.kernel.org/admin-guide/mm/numa_memory_policy.html
"""

import ctypes
import errno
import mmap
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.host.measuring.calls import call, refused

# linux/mempolicy.h
_PREFERRED = 1
_BIND = 2
_MOVE = 1 << 1
_OF_ADDRESS = 1 << 1
_NODE = 1 << 0

_NODES = 1024
"""The most nodes that any kernel is built for (CONFIG_NODES_SHIFT)."""

_BITS = 8 * ctypes.sizeof(ctypes.c_long)
_BATCH = 1 << 16
"""Pages that one call looks up."""

NOT_THERE = -errno.ENOENT
"""What stands for the node of a page that isn't there."""


def prefer(address: int, length: int, node: int) -> None:
    """Have the kernel take a range's pages from a node, as long as there are any.

    Preferred and not bound, since a node that runs full would have the kernel kill a process;
    `page_nodes` finds a page that is elsewhere. Raises SourceError where seccomp or the kernel has
    no such call, OSError where this node can't be had.
    """
    try:
        call("mbind", address, length, _PREFERRED, _mask([node]), _NODES + 1, 0)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            raise refused("mbind", error) from error
        raise


def move(address: int, length: int, node: int) -> None:
    """Have the kernel move a range's pages to a node, as far as it can.

    Other than for a page that isn't there yet it makes room, by dropping files' pages, and kills
    nobody where there is none (__GFP_RETRY_MAYFAIL, mm/mempolicy.c). The range is preferred again
    afterwards: a page that comes back from swap would have it kill.
    """
    with suppress(OSError):
        try:
            call("mbind", address, length, _BIND, _mask([node]), _NODES + 1, _MOVE)
        finally:
            call("mbind", address, length, _PREFERRED, _mask([node]), _NODES + 1, 0)


def page_nodes(address: int, length: int) -> Counter[int]:
    """How many pages of a range are on each node, by move_pages, else by get_mempolicy.

    A page that isn't there counts as on a negative node. Raises SourceError where neither is
    allowed.
    """
    found: Counter[int] = Counter()
    pages = range(address, address + length, mmap.PAGESIZE)
    for start in range(0, len(pages), _BATCH):
        batch = pages[start : start + _BATCH]
        try:
            found.update(_moved(batch))
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS):
                raise
            found.update(map(_looked_up, batch))
    return found


@contextmanager
def placed(cpus: CpuSet, mem: int | None) -> Iterator[None]:
    """Have what is started in this block run on these CPUs, with memory of this node.

    None leaves memory as it is. As in `prefer`, the kernel takes other memory where the node has
    no more: for a bound process it would rather kill one, of another pod as well (mm/oom_kill.c).
    What a process starts inherits both; this thread has its own again at the end. Raises
    SourceError where the kernel refuses either.
    """
    before = os.sched_getaffinity(0)
    policy = _own_policy() if mem is not None else None
    try:
        if mem is not None:
            _set_policy(_PREFERRED, _mask([mem]))
        _run_on(cpus)
        yield
    finally:
        os.sched_setaffinity(0, before)
        if policy is not None:
            _set_policy(*policy)


@contextmanager
def own_cpus() -> Iterator[None]:
    """Have this thread run at the end of the block where it may run now."""
    before = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _run_on(cpus: CpuSet) -> None:
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        listed = cpulist.render(cpus)
        raise SourceError(f"CPUs {listed} can't be run on: {error.strerror}") from error
    if os.sched_getaffinity(0) != cpus:
        # The kernel cuts off what the cpuset lacks, without a word.
        raise SourceError(f"of CPUs {cpulist.render(cpus)} the cpuset allows only some by now")


def _own_policy() -> "tuple[int, ctypes.Array[ctypes.c_long]]":
    mode = (ctypes.c_long * 1)()
    mask = _mask([])
    try:
        call("get_mempolicy", ctypes.addressof(mode), mask, _NODES, 0, 0)
    except OSError as error:
        raise refused("get_mempolicy", error) from error
    # The kernel writes an int.
    return ctypes.c_int.from_buffer(mode).value, mask


def _set_policy(mode: int, mask: "ctypes.Array[ctypes.c_long]") -> None:
    try:
        call("set_mempolicy", mode, mask, _NODES + 1)
    except OSError as error:
        raise refused("set_mempolicy", error) from error


def _moved(pages: Iterable[int]) -> Iterable[int]:
    """The node of each page, by a move_pages that moves none."""
    addresses = array("Q", pages)
    status = array("i", bytes(4 * len(addresses)))
    call(
        "move_pages",
        0,
        len(addresses),
        addresses.buffer_info()[0],
        0,
        status.buffer_info()[0],
        0,
    )
    return status


def _looked_up(page: int) -> int:
    node = (ctypes.c_long * 1)()
    try:
        call("get_mempolicy", ctypes.addressof(node), 0, 0, page, _NODE | _OF_ADDRESS)
    except OSError as error:
        if error.errno == errno.EFAULT:
            return NOT_THERE
        raise refused("move_pages and get_mempolicy", error) from error
    return ctypes.c_int.from_buffer(node).value


def _mask(nodes: Iterable[int]) -> "ctypes.Array[ctypes.c_long]":
    words = [0] * (_NODES // _BITS)
    for node in nodes:
        words[node // _BITS] |= 1 << node % _BITS
    return (ctypes.c_long * len(words))(*words)
