"""All that /sys/devices/system/cpu tells, and the types of CPU beside it.

Caches: Documentation/ABI/testing/sysfs-devices-system-cpu
(https://docs.kernel.org/admin-guide/abi-testing.html).
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from numa_agent.config import CPU_DIR, PMU_DIR
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.facts import CpuFacts
from numa_agent.core.topology import Cache, CpuKind
from numa_agent.host.sysfs.files import Directory, number_or_none
from numa_agent.host.sysfs.groups import (
    DIE,
    PACKAGE,
    read_clusters,
    read_cores,
    read_groups,
    warn_split_cores,
)
from numa_agent.host.sysfs.online import read_online, read_present
from numa_agent.host.sysfs.sets import CpuSetReader

_SIZE = re.compile(r"(\d{1,12})([KMG]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_NO_CPUS = CpuFacts(
    online=frozenset(),
    present=frozenset(),
    isolated=None,
    cores=(),
    packages=(),
    dies=(),
    clusters=(),
    caches=(),
    kinds=(),
)


def read_cpus(root: Directory, sets: CpuSetReader) -> CpuFacts:
    """Everything below /sys/devices/system/cpu, and the hybrid CPU types beside it."""
    cpu = root.directory(CPU_DIR)
    if cpu is None:
        root.warn("no-cpus", root.of(CPU_DIR), f"{root.of(CPU_DIR)}: no online CPU found")
        return _NO_CPUS
    with cpu:
        online = read_online(cpu)
        present = read_present(cpu, online)
        order = sorted(online)
        isolated = cpu.value("isolated", cpulist.parse)
        cores = read_cores(root, cpu, order, online, sets)
        packages = read_groups(cpu, order, online, sets, PACKAGE)
        warn_split_cores(cpu, cores, packages)
        return CpuFacts(
            online=online,
            present=present,
            isolated=None if isolated is None else isolated & present,
            cores=cores or None,
            packages=packages or None,
            dies=read_groups(cpu, order, online, sets, DIE),
            clusters=read_clusters(cpu, order, online, sets, frozenset(cores)),
            caches=_read_caches(cpu, order, online, sets),
            kinds=_read_hybrid_kinds(root, online) or _read_capacities(cpu, order),
        )


def _read_caches(
    cpu: Directory, order: Sequence[int], online: CpuSet, sets: CpuSetReader
) -> tuple[Cache, ...]:
    """The last-level cache of each CPU, each cache once.

    The CPUs that share a cache already read aren't asked again.
    """
    caches: list[Cache] = []
    covered: set[int] = set()
    for number in order:
        if number in covered:
            continue
        cache = _read_last_level(cpu, number, online, sets)
        if cache is not None and not cache.cpus & covered:
            covered |= cache.cpus
            caches.append(cache)
    return tuple(caches)


def _read_last_level(
    cpu: Directory, number: int, online: CpuSet, sets: CpuSetReader
) -> Cache | None:
    best: tuple[int, str] | None = None
    base = f"cpu{number}/cache"
    for name in cpu.names(base):
        if not name.startswith("index"):
            continue
        level = cpu.value(f"{base}/{name}/level", number_or_none)
        if level is None:
            # It may be the last level, which then no other is.
            path = cpu.of(f"{base}/{name}/level")
            cpu.warn("cache-unknown", path, f"{path} gives no level; caches of this CPU unknown")
            return None
        if best is None or level > best[0]:
            best = (level, f"{base}/{name}")
    if best is None:
        return None
    level, directory = best
    cpus = sets.read(cpu, f"{directory}/shared_cpu_list", f"{directory}/shared_cpu_map")
    if cpus is None or number not in cpus:
        return None
    return Cache(
        level=level, cpus=cpus & online, size_bytes=cpu.value(f"{directory}/size", _size_bytes)
    )


def _read_hybrid_kinds(root: Directory, online: CpuSet) -> tuple[CpuKind, ...]:
    """The CPU types of hybrid x86, which has one PMU a type: cpu_core, cpu_atom, cpu_lowpower."""
    kinds = tuple(
        CpuKind(name=name, cpus=cpus & online, capacity=None)
        for name in ("core", "atom", "lowpower")
        if (cpus := root.value(f"{PMU_DIR}/cpu_{name}/cpus", cpulist.parse)) and cpus & online
    )
    if both := cpulist.in_several(kind.cpus for kind in kinds):
        listed = cpulist.render(both)
        root.warn(
            "kinds-disagree",
            f"cpu{listed}",
            f"{root.of(PMU_DIR)}: CPUs {listed} are of two types; CPU types unknown",
        )
        return ()
    return kinds


def _read_capacities(cpu: Directory, order: Sequence[int]) -> tuple[CpuKind, ...]:
    # The kernel has the file for all CPUs or for none.
    if not order or "cpu_capacity" not in cpu.names(f"cpu{order[0]}"):
        return ()
    by_capacity: defaultdict[int, set[int]] = defaultdict(set)
    for number in order:
        capacity = cpu.value(f"cpu{number}/cpu_capacity", number_or_none)
        if capacity is not None:
            by_capacity[capacity].add(number)
    if len(by_capacity) < 2:
        return ()
    return tuple(
        CpuKind(name=f"capacity-{capacity}", cpus=frozenset(cpus), capacity=capacity)
        for capacity, cpus in sorted(by_capacity.items(), reverse=True)
    )


def _size_bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a size: {text!r}")
    return int(match[1]) * _UNITS[match[2]]
