"""Where containers' memory is, in memory.numa_stat, as the memory controller tells it.

https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files and
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#numa-stat
"""

from collections.abc import Mapping

from .spec import Container, Machine, Pod

_PAGE = 4096
_MIB = 1 << 20
_LEAST = 64 * _MIB
_JUST_STARTED = 12 * _MIB

ByNode = Mapping[int, int]
"""Bytes by NUMA node."""


def used_memory(machine: Machine, pod: Pod, container: Container) -> ByNode:
    """Half of what it asked for, in equal parts where it is held; the little that a process has
    which just started, where it may still run anywhere.
    """
    nodes = sorted(container.memory_nodes or _near(machine, pod, container))
    held = container.memory_nodes or container.exclusive or container.cpuset or pod.cpuset
    size = max(container.memory // 2, _LEAST) if held else _JUST_STARTED
    return dict.fromkeys(nodes, size // len(nodes) // _PAGE * _PAGE)


def numa_stat(machine: Machine, own: ByNode) -> str:
    """The file of a cgroup with so much memory of its own, and a quarter of it in page cache."""
    nodes = sorted(node.id for node in machine.nodes)
    anonymous = {node: own.get(node, 0) for node in nodes}
    file = {node: size // 4 // _PAGE * _PAGE for node, size in anonymous.items()}
    none = dict.fromkeys(nodes, 0)
    if machine.cgroup.version == 1:
        rows = {"total": (anonymous, file), "file": (file,), "anon": (anonymous,)}
        rows |= {"unevictable": (none,)}
        rows |= {f"hierarchical_{name}": parts for name, parts in rows.items()}
        return "".join(_v1(name, *parts) for name, parts in rows.items())
    rows2 = {"anon": anonymous, "file": file, "kernel_stack": none, "pagetables": none}
    rows2 |= {"shmem": none, "file_mapped": file}
    return "".join(
        f"{name} {' '.join(f'N{node}={size}' for node, size in row.items())}\n"
        for name, row in rows2.items()
    )


def _near(machine: Machine, pod: Pod, container: Container) -> set[int]:
    """The nodes with memory whose CPUs it has, or all that have CPUs."""
    cpus = container.exclusive or container.cpuset or pod.cpuset
    home = {node.id for node in machine.nodes if node.memory and (node.cpus & cpus or not cpus)}
    with_cpus = {node.id for node in machine.nodes if node.memory and node.cpus}
    return (home & with_cpus) or with_cpus


def _v1(name: str, *parts: ByNode) -> str:
    pages = {node: sum(part[node] for part in parts) // _PAGE for node in parts[0]}
    fields = " ".join(f"N{node}={count}" for node, count in pages.items())
    return f"{name}={sum(pages.values())} {fields}\n"
