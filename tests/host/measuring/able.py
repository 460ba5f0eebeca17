"""Whether this kernel lets the tests have memory policy: a container's seccomp profile may not."""

import ctypes
import mmap

import pytest

from numa_agent.host.measuring.calls import NotAllowedError
from numa_agent.host.measuring.policy import page_nodes, prefer


def _able() -> bool:
    with mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as buffer:
        buffer.write(b"\1")
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        try:
            (node,) = page_nodes(address, mmap.PAGESIZE)
            prefer(address, mmap.PAGESIZE, node)
        except NotAllowedError:
            return False
    return True


needs_policy = pytest.mark.skipif(
    not _able(), reason="memory policy needs the capability SYS_NICE in this container"
)
