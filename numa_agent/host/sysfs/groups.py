"""Which CPUs share a core, a package, a die or a cluster: cpuN/topology/.

Documentation/admin-guide/cputopology.rst (https://docs.kernel.org/admin-guide/cputopology.html).
The old names (thread_siblings, core_siblings) and the masks are read where there are no others.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numa_agent.config import CPUINFO
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import CpuGroup
from numa_agent.host.sysfs.files import Directory, number_or_none
from numa_agent.host.sysfs.sets import CpuSetReader

_CPUINFO = re.compile(r"^(processor|siblings|cpu cores)\s*: (\d{1,6})$", re.MULTILINE)

_Choices = Sequence[tuple[str, str]]
_CORE: _Choices = (
    ("core_cpus_list", "core_cpus"),
    ("thread_siblings_list", "thread_siblings"),
)


@dataclass(frozen=True, slots=True)
class GroupFiles:
    """Which files tell one kind of group, the better name first, and the file of its id."""

    choices: _Choices
    id_name: str


PACKAGE = GroupFiles(
    (("package_cpus_list", "package_cpus"), ("core_siblings_list", "core_siblings")),
    "physical_package_id",
)
DIE = GroupFiles((("die_cpus_list", "die_cpus"),), "die_id")
_CLUSTER = GroupFiles((("cluster_cpus_list", "cluster_cpus"),), "cluster_id")


def read_cores(
    root: Directory, cpu: Directory, order: Sequence[int], online: CpuSet, sets: CpuSetReader
) -> tuple[CpuSet, ...]:
    """Cores as sets of siblings; CPUs whose files are missing or disagree are in none."""
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
    agreed = {
        number: cpus
        for number, cpus in siblings.items()
        if number in cpus and all(siblings.get(other, cpus) == cpus for other in cpus)
    }
    # A CPU that names no core itself may be named by two.
    contested = cpulist.in_several(set(agreed.values()))
    cores = {number: cpus for number, cpus in agreed.items() if not cpus & contested}
    doubtful = sorted(siblings.keys() - cores.keys())
    for numbers, code, what in (
        (silent, "cpu-without-topology", "don't name their core's CPUs"),
        (doubtful, "siblings-disagree", "name other core siblings than those name"),
    ):
        if numbers:
            listed = cpulist.render(numbers)
            cpu.warn(code, f"cpu{listed}", f"{cpu.path}: CPUs {listed} {what}; core unknown")
    return tuple(sorted(set(cores.values()), key=min))


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


def read_clusters(
    cpu: Directory,
    order: Sequence[int],
    online: CpuSet,
    sets: CpuSetReader,
    cores: frozenset[CpuSet],
) -> tuple[CpuGroup, ...]:
    """The clusters that hold more than a core: many kernels call each core a cluster too."""
    return read_groups(cpu, order, online, sets, _CLUSTER, without=cores)


def read_groups(
    cpu: Directory,
    order: Sequence[int],
    online: CpuSet,
    sets: CpuSetReader,
    files: GroupFiles,
    *,
    without: frozenset[CpuSet] = frozenset(),
) -> tuple[CpuGroup, ...]:
    """Groups that don't overlap; a CPU already in one isn't asked for its own file.

    Those that hold just the CPUs of one in `without` are left out, their ids not read.
    """
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
        if cpus in without:
            continue
        group_id = cpu.value(f"cpu{number}/topology/{files.id_name}", number_or_none)
        groups.append(CpuGroup(id=group_id, cpus=cpus))
    if not covered:
        by_id = _groups_by_id(cpu, order, files.id_name)
        groups = [group for group in by_id if group.cpus not in without]
    return tuple(sorted(groups, key=lambda group: min(group.cpus)))


def _has_any(cpu: Directory, number: int, files: GroupFiles) -> bool:
    """Whether the kernel has these files, which it has for all CPUs or for none.

    Packages are asked for in any case: recorded machines lack the files of single CPUs.
    """
    names = {name for choice in files.choices for name in choice}
    return files is PACKAGE or not names.isdisjoint(cpu.names(f"cpu{number}/topology"))


def _groups_by_id(cpu: Directory, order: Sequence[int], id_name: str) -> list[CpuGroup]:
    """Groups by their id alone, for kernels that name no siblings."""
    members: defaultdict[int, set[int]] = defaultdict(set)
    for cpu_id in order:
        group_id = cpu.value(f"cpu{cpu_id}/topology/{id_name}", number_or_none)
        if group_id is not None:
            members[group_id].add(cpu_id)
    if members and (lost := set(order).difference(*members.values())):
        listed = cpulist.render(lost)
        cpu.warn(
            "group-unknown",
            f"cpu{listed}",
            f"{cpu.path}: CPUs {listed} have no {id_name}; left out",
        )
    return [CpuGroup(id=group_id, cpus=frozenset(cpus)) for group_id, cpus in members.items()]


def warn_split_cores(
    cpu: Directory, cores: Iterable[CpuSet], packages: Iterable[CpuGroup]
) -> None:
    """Warn of cores whose threads are in different packages."""
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
