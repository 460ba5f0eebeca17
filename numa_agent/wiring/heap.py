"""The process's own memory: what a pass or a burst of pods took goes back to the kernel.

malloc_trim(3), https://man7.org/linux/man-pages/man3/malloc_trim.3.html: by itself glibc gives
back no more than the top of its heap, and after 1,000 pod events held 5 MiB in vain.
"""

import ctypes
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def giving_back(
    act: Callable[[T], None], library: Callable[[None], object] = ctypes.CDLL
) -> Callable[[T], None]:
    """Do the same, and then have the C library give back what is free; it takes about 1 ms."""
    trim = getattr(library(None), "malloc_trim", None)
    if trim is None:  # musl has nothing of the kind, and keeps less
        return act

    def act_and_trim(what: T) -> None:
        act(what)
        trim(0)

    return act_and_trim
