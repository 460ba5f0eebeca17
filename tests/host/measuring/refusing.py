"""Runs `numa-agent` while the kernel refuses system calls, as a container's seccomp profile does.

python -m tests.host.measuring.refusing CALL[,CALL…] ARGUMENT…

The filter is the kernel's own, which stays with the process to its end:
https://docs.kernel.org/userspace-api/seccomp_filter.html. `execmem` stands for an mprotect that
makes memory executable.
"""

import ctypes
import errno
import struct
import sys

from numa_agent.cli import main
from numa_agent.host.measuring.calls import _NUMBERS, LIBC

_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_PROT_OFFSET = 16 + 2 * 8
_PROT_EXEC = 4
_MPROTECT = {"x86_64": 10, "aarch64": 226}


def _program(machine: str, names: list[str]) -> bytes:
    """BPF: each call by its number, refused; all others allowed."""
    lines = [(_LOAD, 0, 0, 0)]
    for name in names:
        if name == "execmem":
            continue
        lines += [(_EQUAL, 0, 1, _NUMBERS[machine][name]), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    if "execmem" in names:
        lines += [
            (_EQUAL, 0, 3, _MPROTECT[machine]),
            (_LOAD, 0, 0, _PROT_OFFSET),
            (_ANY_BIT, 0, 1, _PROT_EXEC),
            (_RETURN, 0, 0, _ERRNO | errno.EACCES),
        ]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def refuse(machine: str, names: list[str]) -> None:
    """Have the kernel refuse these calls to this process from now on."""
    code = ctypes.create_string_buffer(_program(machine, names))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", (len(code) - 1) // 8, ctypes.addressof(code))
    )
    zero = ctypes.c_long(0)
    assert LIBC.prctl(_NO_NEW_PRIVS, ctypes.c_long(1), zero, zero, zero) == 0
    assert LIBC.prctl(_SET_SECCOMP, ctypes.c_long(_FILTER), program, zero, zero) == 0


if __name__ == "__main__":
    import os

    refuse(os.uname().machine, sys.argv[1].split(","))
    sys.exit(main(sys.argv[2:]))
