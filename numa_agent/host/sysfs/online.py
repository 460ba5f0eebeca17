"""Which CPUs are online and present: /sys/devices/system/cpu/{online,present,offline}.

Documentation/admin-guide/cputopology.rst (https://docs.kernel.org/admin-guide/cputopology.html).
"""

import re

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.host.sysfs.files import Directory

_CPU_NAME = re.compile(r"cpu(\d{1,5})")


def read_online(cpu: Directory) -> CpuSet:
    """The online CPUs: `online` is the truth.

    Where it is missing or damaged each CPU's own `online` file answers, and a CPU without one is
    online if it has a topology. A list that was cut short still counts where no CPU has a file.
    """
    directories = _directories(cpu)
    online = _existing(cpu, "online", directories)
    if not online:
        online = _online_one_by_one(cpu, directories)
        path, listed = cpu.of("online"), cpulist.render(online)
        cpu.warn(
            "online-list-missing", path, f"{path} gives no CPU; one by one they say {listed!r}"
        )
    if not online:
        cpu.warn("no-cpus", cpu.path, f"{cpu.path}: no online CPU found")
    return online


def read_present(cpu: Directory, online: CpuSet) -> CpuSet:
    """The CPUs plugged in: every one is either online or in `offline`, else the lists disagree."""
    directories = _directories(cpu)
    present = (_existing(cpu, "present", directories) or directories) | online
    offline = cpu.value("offline", cpulist.parse)
    if offline is not None and (lost := present - online - offline):
        listed = cpulist.render(lost)
        cpu.warn(
            "cpu-lists-disagree",
            f"cpu{listed}",
            f"{cpu.path}: CPUs {listed} are in `present`, but neither in `online` nor in"
            " `offline`; taken as offline",
        )
    return present


def _directories(cpu: Directory) -> CpuSet:
    return frozenset(int(m[1]) for name in cpu.names() if (m := _CPU_NAME.fullmatch(name)))


def _existing(cpu: Directory, name: str, directories: CpuSet) -> CpuSet | None:
    listed = cpu.value(name, cpulist.parse)
    if listed is None or not directories:
        return listed
    if stray := listed - directories:
        cpu.warn(
            "cpu-without-directory",
            f"cpu{cpulist.render(stray)}",
            f"{cpu.of(name)} names CPUs {cpulist.render(stray)} without a directory; left out",
        )
    return listed & directories


def _online_one_by_one(cpu: Directory, directories: CpuSet) -> CpuSet:
    states = {number: cpu.value(f"cpu{number}/online", _is_online) for number in directories}
    silent = {number for number, state in states.items() if state is None}
    if silent == directories and (cut := _cut_list(cpu) & directories):
        return cut
    with_topology = {number for number in silent if cpu.names(f"cpu{number}/topology")}
    if silent == directories and not with_topology:
        # Kernels before 2.6.16 have neither file: all their CPUs that exist are online.
        return directories
    switched_on = (number for number, state in states.items() if state)
    return frozenset(with_topology).union(switched_on)


def _is_online(text: str) -> bool:
    if text not in {"0", "1"}:
        raise ValueError(f"neither 0 nor 1: {text[:60]!r}")
    return text == "1"


def _cut_list(cpu: Directory) -> CpuSet:
    """What an `online` list without its newline says."""
    try:
        return cpulist.parse(cpu.text("online", cut=True) or "")
    except ValueError:
        return frozenset()
