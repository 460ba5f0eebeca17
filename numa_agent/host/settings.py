"""Settings of a machine's kernel and of what tunes it: facts that no pass needs.

https://docs.kernel.org/admin-guide/sysctl/ and https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from numa_agent.config import (
    COMMAND_LINE,
    CPU_DIR,
    HUGE_PAGE_DIR,
    MEMINFO,
    NODE_DIR,
    NUMA_BALANCING,
    TUNED_PROFILE,
    ZONE_RECLAIM,
)
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.doctor.facts import KernelFacts
from numa_agent.core.doctor.findings import Told
from numa_agent.core.doctor.texts import chosen, name, nohz_full, swap_bytes, words
from numa_agent.core.topology import TopologyWarning
from numa_agent.host.dimms import read_dimms
from numa_agent.host.services import read_services
from numa_agent.host.sysfs.files import Directory, number

T = TypeVar("T")

_GOVERNOR = "cpufreq/scaling_governor"
_DRIVER = "cpufreq/scaling_driver"


def read_settings(host_root: Path, online: CpuSet, *, absent: str, whole: bool) -> KernelFacts:
    """The settings of the machine at a host root; `absent` is said of a file that isn't there.

    `whole` is whether what isn't seen doesn't run: not so on a recorded machine, which need not
    have every process. Raises OSError where the host root can't be opened.
    """
    warnings: list[TopologyWarning] = []
    with Directory.root(host_root, warnings) as root:
        files = _Files(root, warnings, absent)
        return KernelFacts(
            command_line=files.told(COMMAND_LINE, words),
            numa_balancing=files.told(NUMA_BALANCING, number),
            zone_reclaim=files.told(ZONE_RECLAIM, number),
            huge_pages=files.told(f"{HUGE_PAGE_DIR}/enabled", chosen),
            huge_page_defrag=files.told(f"{HUGE_PAGE_DIR}/defrag", chosen),
            swap_bytes=files.told(MEMINFO, swap_bytes),
            nohz_full=files.told(f"{CPU_DIR}/nohz_full", nohz_full),
            governors=_governors(files, online),
            cpu_driver=files.told(f"{CPU_DIR}/cpu{min(online, default=0)}/{_DRIVER}", name),
            services=read_services(host_root, absent=absent, whole=whole),
            tuned_profile=files.told(TUNED_PROFILE, name, cut=True),
            normal_memory=files.told(f"{NODE_DIR}/has_normal_memory", cpulist.parse),
            dimms=read_dimms(host_root, absent=absent),
        )


class _Files:
    """Files below one root, each as a fact that says why where it isn't known."""

    def __init__(self, root: Directory, warnings: list[TopologyWarning], absent: str) -> None:
        self._root = root
        self._warnings = warnings
        self._absent = absent

    def told(self, path: str, parse: Callable[[str], T], *, cut: bool = False) -> Told[T]:
        """What a file says; `cut` takes one whose last line has no end."""
        before = len(self._warnings)
        text = self._root.text(path, cut=cut)
        if text is None:
            told = self._warnings[before:]
            why = told[0].message.removeprefix(f"/{path}: ") if told else self._absent
            return Told(source=path, why=why)
        try:
            return Told(source=path, value=parse(text))
        except ValueError as error:
            return Told(source=path, why=str(error))


def _governors(files: _Files, online: CpuSet) -> Told[dict[str, CpuSet]]:
    """The CPUs by their governor; a machine without cpufreq, say a guest, has none."""
    found: dict[str, set[int]] = {}
    missing: Told[str] = Told(source="", why="no CPU is online")
    for cpu in sorted(online):
        told = files.told(f"{CPU_DIR}/cpu{cpu}/{_GOVERNOR}", name)
        if told.value is None:
            missing = told
        else:
            found.setdefault(told.value, set()).add(cpu)
    source = f"{CPU_DIR}/cpu*/{_GOVERNOR}"
    if not found:
        return Told(source=source, why=missing.why)
    return Told(source=source, value={name: frozenset(cpus) for name, cpus in found.items()})
