"""What /proc/cpuinfo calls a machine's CPUs: https://man7.org/linux/man-pages/man5/proc_cpuinfo.5.html.

The names of its lines are each architecture's own.
"""

import re
from dataclasses import dataclass

# x86 and most others say `model name`, LoongArch `Model Name`, POWER `cpu`.
_MODEL = re.compile(
    r"^(?:model name|cpu)[ \t]*:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE | re.IGNORECASE
)
_VENDOR = re.compile(r"^vendor_id[ \t]*:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuInfo:
    """Model name and vendor id of the first CPU listed, None where no line tells (as on Arm)."""

    model: str | None
    vendor: str | None


def parse(text: str) -> CpuInfo:
    """What the text of the file, or the beginning of it, says."""
    model, vendor = _MODEL.search(text), _VENDOR.search(text)
    return CpuInfo(
        model=None if model is None else model[1],
        vendor=None if vendor is None else vendor[1],
    )
