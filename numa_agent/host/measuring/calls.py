"""System calls on memory policy, which libc has no functions for, and mprotect.

https://man7.org/linux/man-pages/man2/mbind.2.html and its neighbours; the calls' numbers are each
architecture's own (https://man7.org/linux/man-pages/man2/syscalls.2.html).
"""

import ctypes
import errno
import os

from numa_agent.core.errors import SourceError

_GENERIC = {"mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "move_pages": 239}
_NUMBERS = {
    "x86_64": {"mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "move_pages": 279},
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
    "loongarch64": _GENERIC,
    "ppc64le": {"mbind": 259, "get_mempolicy": 260, "set_mempolicy": 261, "move_pages": 301},
    "s390x": {"mbind": 268, "get_mempolicy": 269, "set_mempolicy": 270, "move_pages": 310},
}

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
LIBC.memchr.restype = ctypes.c_void_p
LIBC.memchr.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
LIBC.memset.restype = ctypes.c_void_p
LIBC.memset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
LIBC.mprotect.restype = ctypes.c_int
LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def call(name: str, *arguments: "int | ctypes.Array[ctypes.c_long]") -> None:
    """Make a system call by its name. Raises OSError where the kernel refuses it."""
    number = _NUMBERS.get(os.uname().machine, {}).get(name)
    if number is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    if LIBC.syscall(ctypes.c_long(number), *passed) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class NotAllowedError(SourceError):
    """A system call that this process may not make at all, whatever it is asked for."""


def refused(name: str, error: OSError) -> NotAllowedError:
    """A refused call as an error that says what to do."""
    said = f"the kernel refuses {name} to this process ({error.strerror})"
    if error.errno == errno.EPERM:
        said += (
            ": seccomp's RuntimeDefault does so in a container without the capability SYS_NICE."
            " Add SYS_NICE to the container's capabilities, or run it on the node itself, as in"
            " `nsenter` from a privileged debug pod"
        )
    elif error.errno == errno.ENOSYS:
        said += (
            ": this kernel has no NUMA memory policy (CONFIG_NUMA), or this architecture's number"
            " of the call isn't known here"
        )
    return NotAllowedError(said)
