"""The first CPU's lines of /proc/cpuinfo."""

from pathlib import Path

from numa_agent.config import CPUINFO
from numa_agent.core.cpuinfo import CpuInfo, parse

_ONE_CPU = 16_384
"""Bytes that hold the first CPU's lines, its flags included: to write those of all CPUs costs the
kernel a visit to each of them."""


def read_cpu_info(host_root: Path) -> CpuInfo | None:
    """What the machine's file says of its first CPU, None where it can't be read."""
    try:
        with (host_root / CPUINFO).open("rb") as file:
            return parse(file.read(_ONE_CPU).decode(errors="replace"))
    except OSError:
        return None
