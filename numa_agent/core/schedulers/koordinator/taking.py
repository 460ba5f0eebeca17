"""Which CPUs a count of reserved CPUs means: the choice that koordlet makes, so that a node that
changes from one agent to the other keeps its reservation.

It is kubelet's packed choice among all CPUs: whole sockets, then whole nodes, then whole cores,
then single CPUs; the smallest first, and the lowest number among equals
(pkg/koordlet/util/kubelet/cpu_assignment.go in https://github.com/koordinator-sh/koordinator).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.schedulers.koordinator.cpus import Cpu

_Key = Callable[[Cpu], int]


def take(cpus: Sequence[Cpu], count: int) -> CpuSet:
    """That many of the CPUs. Raises ValueError where there are fewer."""
    if count > len(cpus):
        everything = render(cpu.id for cpu in cpus)
        raise ValueError(f"{count} CPUs can't be reserved of {len(cpus)} ({everything})")
    taken: set[int] = set()
    for groups in (_whole_sockets, _whole_nodes, _whole_cores, _singly):
        left = [cpu for cpu in cpus if cpu.id not in taken]
        for group in groups(left, cpus):
            if len(group) <= count - len(taken):
                taken.update(cpu.id for cpu in group)
    return frozenset(taken)


def _whole_sockets(left: Sequence[Cpu], cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    size = len(cpus) // len({cpu.socket for cpu in cpus})
    return [group for group in _sockets(left) if len(group) == size]


def _whole_nodes(left: Sequence[Cpu], cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    sizes = Counter(cpu.node for cpu in cpus)
    return [group for group in _nodes(left) if len(group) == sizes[group[0].node]]


def _whole_cores(left: Sequence[Cpu], cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    size = len(cpus) // len({cpu.core for cpu in cpus})
    return [group for group in _cores(left) if len(group) == size]


def _singly(left: Sequence[Cpu], _cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    return [[cpu] for core in _cores(left) for cpu in core]


def _sockets(cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    return _smallest_first(cpus, lambda cpu: cpu.socket)


def _nodes(cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    # A node whose CPUs are of two sockets is met in the first of them, with all its CPUs.
    return _unique(
        [cpu for cpu in cpus if cpu.node == part[0].node]
        for socket in _sockets(cpus)
        for part in _smallest_first(socket, lambda cpu: cpu.node)
    )


def _cores(cpus: Sequence[Cpu]) -> list[list[Cpu]]:
    return _unique(
        core for node in _nodes(cpus) for core in _smallest_first(node, lambda cpu: cpu.core)
    )


def _smallest_first(cpus: Iterable[Cpu], key: _Key) -> list[list[Cpu]]:
    groups: dict[int, list[Cpu]] = {}
    for cpu in cpus:
        groups.setdefault(key(cpu), []).append(cpu)
    return [groups[number] for number in sorted(groups, key=lambda n: (len(groups[n]), n))]


def _unique(groups: Iterable[list[Cpu]]) -> list[list[Cpu]]:
    return list({group[0].id: group for group in groups}.values())
