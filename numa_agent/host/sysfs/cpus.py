"""CPUs from /sys/devices/system/cpu: which are online, and which share a core, package or cache.

Files: Documentation/ABI/stable/sysfs-devices-system-cpu and
Documentation/admin-guide/cputopology.rst (https://docs.kernel.org/admin-guide/cputopology.html).
The old names (thread_siblings, core_siblings) and the masks are read where there are no others.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from numa_agent.config import CPU_DIR, CPUINFO, PMU_DIR
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.facts import CpuFacts
from numa_agent.core.topology import Cache, CpuGroup, CpuKind
from numa_agent.host.sysfs.files import Directory, number_or_none

_CPU_NAME = re.compile(r"cpu(\d{1,5})")
_CPUINFO = re.compile(r"^(processor|siblings|cpu cores)\s*: (\d{1,6})$", re.MULTILINE)
_SIZE = re.compile(r"(\d{1,12})([KMG]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_Choices = Sequence[tuple[str, str]]
_CORE: _Choices = (
    ("core_cpus_list", "core_cpus"),
    ("thread_siblings_list", "thread_siblings"),
)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Which files tell one kind of group, the better name first, and the file of its id."""

    choices: _Choices
    id_name: str


_PACKAGE = _Groups(
    (("package_cpus_list", "package_cpus"), ("core_siblings_list", "core_siblings")),
    "physical_package_id",
)
_DIE = _Groups((("die_cpus_list", "die_cpus"),), "die_id")
_CLUSTER = _Groups((("cluster_cpus_list", "cluster_cpus"),), "cluster_id")

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


class CpuSetReader:
    """Reads CPU sets in either form, keeping one object for each distinct text."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._lists: dict[str, CpuSet] = {}
        self._masks: dict[str, CpuSet] = {}

    def list(self, text: str) -> CpuSet:
        """The set of a kernel list. Raises CpuListError."""
        return self._kept(self._lists, cpulist.parse, text)

    def mask(self, text: str) -> CpuSet:
        """The set of a kernel mask. Raises CpuListError."""
        return self._kept(self._masks, cpulist.parse_mask, text)

    def read(self, directory: Directory, list_name: str, mask_name: str) -> CpuSet | None:
        """The set that a directory gives as a list or, where there is none, as a mask."""
        cpus = directory.value(list_name, self.list)
        return cpus if cpus is not None else directory.value(mask_name, self.mask)

    @staticmethod
    def _kept(kept: dict[str, CpuSet], parse: Callable[[str], CpuSet], text: str) -> CpuSet:
        cpus = kept.get(text)
        if cpus is None:
            cpus = kept[text] = parse(text)
        return cpus


def read_cpus(root: Directory, sets: CpuSetReader) -> CpuFacts:
    """Everything below /sys/devices/system/cpu, and the hybrid CPU types beside it."""
    cpu = root.directory(CPU_DIR)
    if cpu is None:
        root.warn("no-cpus", root.of(CPU_DIR), f"{root.of(CPU_DIR)}: no online CPU found")
        return _NO_CPUS
    with cpu:
        online = _read_online(cpu)
        present = _read_present(cpu, online)
        order = sorted(online)
        isolated = cpu.value("isolated", cpulist.parse)
        cores = _read_cores(root, cpu, order, online, sets)
        packages = _read_groups(cpu, order, online, sets, _PACKAGE)
        _warn_split_cores(cpu, cores, packages)
        return CpuFacts(
            online=online,
            present=present,
            isolated=None if isolated is None else isolated & present,
            cores=cores or None,
            packages=packages or None,
            dies=_read_groups(cpu, order, online, sets, _DIE),
            clusters=_read_clusters(cpu, order, online, sets, frozenset(cores)),
            caches=_read_caches(cpu, order, online, sets),
            kinds=_read_hybrid_kinds(root, online) or _read_capacities(cpu, order),
        )


def _read_online(cpu: Directory) -> CpuSet:
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


def _read_present(cpu: Directory, online: CpuSet) -> CpuSet:
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
    states = {number: cpu.text(f"cpu{number}/online") for number in directories}
    silent = {number for number, state in states.items() if state not in {"0", "1"}}
    if silent == directories and (cut := _cut_list(cpu) & directories):
        return cut
    with_topology = {number for number in silent if cpu.names(f"cpu{number}/topology")}
    if silent == directories and not with_topology:
        # Kernels before 2.6.16 have neither file: all their CPUs that exist are online.
        return directories
    switched_on = (number for number, state in states.items() if state == "1")
    return frozenset(with_topology).union(switched_on)


def _cut_list(cpu: Directory) -> CpuSet:
    """What an `online` list without its newline says."""
    try:
        return cpulist.parse(cpu.text("online", cut=True) or "")
    except ValueError:
        return frozenset()


def _read_cores(
    root: Directory, cpu: Directory, order: Sequence[int], online: CpuSet, sets: CpuSetReader
) -> tuple[CpuSet, ...]:
    siblings: dict[int, CpuSet] = {}
    silent: list[int] = []
    variant = _Variants(_CORE)
    for number in order:
        cpus = variant.read(cpu, number, sets)
        if cpus is None:
            silent.append(number)
        else:
            siblings[number] = cpus & online
    if not siblings:
        siblings = _lone_cores(root, online)
        silent = sorted(online - siblings.keys())
    doubtful = [
        number
        for number, cpus in siblings.items()
        if number not in cpus or any(siblings.get(other, cpus) != cpus for other in cpus)
    ]
    for numbers, code, what in (
        (silent, "cpu-without-topology", "don't name their core's CPUs"),
        (doubtful, "siblings-disagree", "name other core siblings than those name"),
    ):
        if numbers:
            listed = cpulist.render(numbers)
            cpu.warn(code, f"cpu{listed}", f"{cpu.path}: CPUs {listed} {what}; core unknown")
    known = {cpus for number, cpus in siblings.items() if number not in set(doubtful)}
    return tuple(sorted(known, key=min))


def _lone_cores(root: Directory, online: CpuSet) -> dict[int, CpuSet]:
    """CPUs that are a core each by /proc/cpuinfo, for kernels that name no siblings.

    That is where a package has as many cores as CPUs. (package, core_id) pairs don't tell: they
    repeat in packages of several dies.
    """
    blocks = root.long_text(CPUINFO).split("\n\n")
    numbers = [{key: int(value) for key, value in _CPUINFO.findall(block)} for block in blocks]
    return {
        block["processor"]: frozenset({block["processor"]})
        for block in numbers
        if block.get("processor") in online
        and 0 < block.get("siblings", 0) == block.get("cpu cores", -1)
    }


def _read_clusters(
    cpu: Directory,
    order: Sequence[int],
    online: CpuSet,
    sets: CpuSetReader,
    cores: frozenset[CpuSet],
) -> tuple[CpuGroup, ...]:
    """The clusters that hold more than a core: many kernels call each core a cluster too."""
    groups = _read_groups(cpu, order, online, sets, _CLUSTER)
    return tuple(group for group in groups if group.cpus not in cores)


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


def _read_hybrid_kinds(root: Directory, online: CpuSet) -> tuple[CpuKind, ...]:
    """The CPU types of hybrid x86, which has one PMU a type: cpu_core, cpu_atom, cpu_lowpower."""
    return tuple(
        CpuKind(name=name, cpus=cpus & online, capacity=None)
        for name in ("core", "atom", "lowpower")
        if (cpus := root.value(f"{PMU_DIR}/cpu_{name}/cpus", cpulist.parse)) and cpus & online
    )


def _read_groups(
    cpu: Directory,
    order: Sequence[int],
    online: CpuSet,
    sets: CpuSetReader,
    files: _Groups,
) -> tuple[CpuGroup, ...]:
    """Groups that don't overlap; a CPU already in one isn't asked for its own file."""
    if not order or not _has_any(cpu, order[0], files):
        return ()
    groups: list[CpuGroup] = []
    covered: set[int] = set()
    variant = _Variants(files.choices)
    for number in order:
        if number in covered:
            continue
        cpus = variant.read(cpu, number, sets)
        if cpus is None:
            continue
        cpus &= online
        if number not in cpus or cpus & covered:
            name = cpu.of(f"cpu{number}/topology/{variant.name}")
            cpu.warn("groups-disagree", name, f"{name} contradicts another CPU's; left out")
            continue
        covered |= cpus
        group_id = cpu.value(f"cpu{number}/topology/{files.id_name}", number_or_none)
        groups.append(CpuGroup(id=group_id, cpus=cpus))
    if not groups:
        groups = _groups_by_id(cpu, order, files.id_name)
    return tuple(sorted(groups, key=lambda group: min(group.cpus)))


def _has_any(cpu: Directory, number: int, files: _Groups) -> bool:
    """Whether the kernel has these files, which it has for all CPUs or for none.

    Packages are asked for in any case: recorded machines lack the files of single CPUs.
    """
    names = {name for choice in files.choices for name in choice}
    return files is _PACKAGE or not names.isdisjoint(cpu.names(f"cpu{number}/topology"))


def _groups_by_id(cpu: Directory, order: Sequence[int], id_name: str) -> list[CpuGroup]:
    """Groups by their id alone, for kernels that name no siblings."""
    members: defaultdict[int, set[int]] = defaultdict(set)
    for cpu_id in order:
        group_id = cpu.value(f"cpu{cpu_id}/topology/{id_name}", number_or_none)
        if group_id is not None:
            members[group_id].add(cpu_id)
    return [CpuGroup(id=group_id, cpus=frozenset(cpus)) for group_id, cpus in members.items()]


def _warn_split_cores(
    cpu: Directory, cores: Iterable[CpuSet], packages: Iterable[CpuGroup]
) -> None:
    package_of = {number: group.cpus for group in packages for number in group.cpus}
    for core in cores:
        if len({package_of.get(number) for number in core}) > 1:
            subject = f"cpu{cpulist.render(core)}"
            cpu.warn(
                "core-in-two-packages", subject, f"{cpu.path}: core {subject} isn't in one package"
            )


class _Variants:
    """One fact under several file names; the one that answered is tried first next time."""

    def __init__(self, choices: _Choices) -> None:
        self._choices = list(choices)
        self.name = choices[0][0]

    def read(self, cpu: Directory, number: int, sets: CpuSetReader) -> CpuSet | None:
        for position, (list_name, mask_name) in enumerate(self._choices):
            prefix = f"cpu{number}/topology/"
            cpus = sets.read(cpu, prefix + list_name, prefix + mask_name)
            if cpus is not None:
                if position:
                    self._choices.insert(0, self._choices.pop(position))
                self.name = list_name
                return cpus
        return None


def _read_last_level(
    cpu: Directory, number: int, online: CpuSet, sets: CpuSetReader
) -> Cache | None:
    best: tuple[int, str] | None = None
    base = f"cpu{number}/cache"
    for name in cpu.names(base):
        if not name.startswith("index"):
            continue
        level = cpu.value(f"{base}/{name}/level", number_or_none)
        if level is not None and (best is None or level > best[0]):
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
