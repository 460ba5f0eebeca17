"""What the texts of settings say. Each function raises ValueError for what it can't read."""

import re
from collections.abc import Mapping

from numa_agent.core.cpulist import CpuSet, parse

_CHOSEN = re.compile(r"\[([a-z+]{1,32})\]")
_SWAP = re.compile(r"^SwapTotal:\s+(\d{1,15}) kB$", re.MULTILINE)
_LOCK = re.compile(
    r"^\d+: FLOCK +ADVISORY +WRITE +(-?\d{1,9}) [0-9a-f]+:[0-9a-f]+:(\d{1,20}) ", re.MULTILINE
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+ -]{0,127}")
_WORDS = 4096


def chosen(text: str) -> str:
    """The word in brackets of a list of choices: `always [madvise] never`."""
    found = _CHOSEN.search(text)
    if found is None:
        raise ValueError(f"no choice is marked in {text[:60]!r}")
    return found[1]


def name(text: str) -> str:
    """A name of letters, digits and a few signs, as governors, drivers and profiles have."""
    if _NAME.fullmatch(text.strip()) is None:
        raise ValueError(f"not a name: {text[:60]!r}")
    return text.strip()


def swap_bytes(text: str) -> int:
    """The swap space of /proc/meminfo in bytes.

    https://docs.kernel.org/filesystems/proc.html#meminfo
    """
    found = _SWAP.search(text)
    if found is None:
        raise ValueError("no line gives SwapTotal in kB")
    return int(found[1]) * 1024


def words(text: str) -> tuple[str, ...]:
    """The words of the kernel's command line; quotes stay where they are."""
    return tuple(text.split()[:_WORDS])


def nohz_full(text: str) -> CpuSet:
    """The CPUs of the file nohz_full; kernels print `(null)` where there are none."""
    return frozenset() if text.strip() == "(null)" else parse(text)


def lock_holders(text: str) -> Mapping[int, int]:
    """The process that holds each file's flock alone, by inode, from the text of /proc/locks.

    https://man7.org/linux/man-pages/man5/proc_locks.5.html
    """
    return {int(inode): int(pid) for pid, inode in _LOCK.findall(text)}
