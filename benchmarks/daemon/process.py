"""What a process uses, by procfs."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_ROLLUP = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Memory in MiB, CPU in seconds since its start."""

    rss: float
    peak: float
    pss: float
    private: float
    cpu: float
    files: int
    threads: int


def usage(pid: int) -> Usage:
    """What the process uses now."""
    proc = Path("/proc", str(pid))
    own = dict(_ROLLUP.findall((proc / "status").read_text()))
    rollup = dict(_ROLLUP.findall((proc / "smaps_rollup").read_text()))
    private = int(rollup["Private_Clean"]) + int(rollup["Private_Dirty"])
    fields = (proc / "stat").read_text().rpartition(")")[2].split()
    return Usage(
        rss=int(own["VmRSS"]) / 1024,
        peak=int(own["VmHWM"]) / 1024,
        pss=int(rollup["Pss"]) / 1024,
        private=private / 1024,
        cpu=(int(fields[11]) + int(fields[12])) / _TICK,
        files=len(list((proc / "fd").iterdir())),
        threads=int(fields[17]),
    )


def mapped(pid: int) -> dict[str, float]:
    """The MiB of RSS by what is mapped: the heap, other memory of its own, files by their name."""
    found: dict[str, float] = {}
    name = ""
    for line in Path("/proc", str(pid), "smaps").read_text().splitlines():
        head = line.split(maxsplit=5)
        if "-" in head[0] and not head[0].endswith(":"):
            name = Path(head[5]).name if len(head) == 6 else "anonymous"
        elif head[0] == "Rss:":
            found[name] = found.get(name, 0.0) + int(head[1]) / 1024
    return found
