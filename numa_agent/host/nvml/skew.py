"""Whether the NVIDIA library and kernel module are of one driver version, without asking NVML."""

import re
from collections.abc import Iterable

# "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023" and
# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@...)"
_MODULE = re.compile(r"^NVRM version:.*Kernel Module.*?\s(\d+(?:\.\d+){1,3})\s", re.MULTILINE)
_LIBRARY = re.compile(r"libnvidia-ml\.so\.(\d+(?:\.\d+){1,3})")


_DELETED = " (deleted)"
"""What the kernel adds to the name of a file that is gone, as an upgraded library's is."""


def mapped_files(text: str) -> tuple[str, ...]:
    """The files in the text of /proc/PID/maps, each once: its sixth column.

    https://docs.kernel.org/filesystems/proc.html
    """
    columns = (line.split(maxsplit=5) for line in text.split("\n"))
    names = (column[5].rstrip() for column in columns if len(column) == 6)
    return tuple(dict.fromkeys(name.removesuffix(_DELETED) for name in names))


def module_version(text: str) -> str | None:
    """The loaded kernel module's version, from the text of /proc/driver/nvidia/version."""
    found = _MODULE.search(text)
    return found[1] if found else None


def library_version(mapped: Iterable[str]) -> str | None:
    """The version in the file name of the library, among the files that a process has mapped.

    A copy that is named libnvidia-ml.so.1 doesn't tell.
    """
    names = (_LIBRARY.fullmatch(path.rpartition("/")[2]) for path in mapped)
    return next((found[1] for found in names if found), None)


def skew(module_text: str, mapped: Iterable[str]) -> str | None:
    """Both versions in words where they are known and differ."""
    module, library = module_version(module_text), library_version(mapped)
    if module is None or library is None or module == library:
        return None
    return f"the kernel module is {module}, the library {library}"
