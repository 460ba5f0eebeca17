"""Memory on a node: taken from it, filled, and looked up page by page."""

import ctypes
import mmap
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import Target
from numa_agent.host.measuring import kernels, policy
from numa_agent.host.measuring.calls import LIBC

_KEPT: list[mmap.mmap] = []
"""Memory that a thread may be reading, for the rest of this process's life."""


class Buffer:
    """A target's chain and stream, on its node.

    Where `read_still` is set, somebody may be reading it, and its memory stays.
    """

    def __init__(self, target: Target, memory: mmap.mmap, address: int) -> None:
        self.target = target
        self.chain = address
        self.stream = address + target.chain_bytes
        self.read_still = False
        self._memory = memory

    def fill(self, offsets: "array[int]") -> None:
        """Write every page, so that it is there. Raises as `check`."""
        LIBC.memset(self.stream, kernels.FILLER, self.target.stream_bytes)
        kernels.lay(offsets, self._memory)
        try:
            self.check()
        except SourceError:
            # A node full of files' pages gives none to who only prefers it.
            policy.move(self.chain, self.target.size, self.target.node)
            self.check()

    def check(self) -> int:
        """How many pages there are, all of them on the node. Raises SourceError for another."""
        found = policy.page_nodes(self.chain, self.target.size)
        node = self.target.node
        if set(found) != {node}:
            raise SourceError(f"node {node}: its buffer is partly elsewhere: {_told(found)}")
        return found[node]


@contextmanager
def on_node(target: Target) -> Iterator[Buffer]:
    """Memory of a target's node until the end of the block; it isn't there before it is filled.

    Raises SourceError where none can be had.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    buffer: Buffer | None = None
    try:
        memory = mmap.mmap(-1, target.size, flags)
    except OSError as error:
        raise SourceError(f"{target.size >> 20} MiB can't be had: {error.strerror}") from error
    try:
        with suppress(OSError):
            # With small pages a read waits for the page tables as well.
            memory.madvise(mmap.MADV_HUGEPAGE)
        # Not kept: a buffer that is pointed to can't be closed.
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        try:
            policy.prefer(address, target.size, target.node)
        except OSError as error:
            raise SourceError(
                f"node {target.node}: no memory of it can be had: {error.strerror}"
            ) from error
        yield (buffer := Buffer(target, memory, address))
    finally:
        if buffer is not None and buffer.read_still:
            _KEPT.append(memory)
        else:
            memory.close()


def _told(found: Counter[int]) -> str:
    return ", ".join(
        f"{count} pages {'nowhere' if node < 0 else f'on node {node}'}"
        for node, count in sorted(found.items())
    )
