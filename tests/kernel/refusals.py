"""How the kernel says no."""

import errno
import os


def refused(number: int, path: str = "") -> OSError:
    """The error of a system call, of the class that Python has for its number."""
    return (
        OSError(number, os.strerror(number), path)
        if path
        else OSError(number, os.strerror(number))
    )


def name(error: OSError) -> str:
    """`ENOSPC` and so on."""
    return errno.errorcode[error.errno or 0]
