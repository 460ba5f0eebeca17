"""The files of sys/devices/system/node and proc/meminfo.

https://docs.kernel.org/admin-guide/mm/numaperf.html and
https://docs.kernel.org/admin-guide/mm/hugetlbpage.html
"""

from collections.abc import Callable, Iterable

from numa_agent.core.cpulist import CpuSet, render

from .spec import Machine, Node
from .tree import Tree, lines, link, merged

_BASE = "sys/devices/system/node"
_ACCESS = {
    "read_bandwidth": 32000,
    "read_latency": 250,
    "write_bandwidth": 28000,
    "write_latency": 250,
}
"""What firmware tells of a CPU-less node's memory, in MB/s and ns."""


_NUMASTAT = "".join(
    f"{name} 0\n"
    for name in (
        *("numa_hit", "numa_miss", "numa_foreign"),
        *("interleave_hit", "local_node", "other_node"),
    )
)
"""Nobody was turned away yet: https://docs.kernel.org/admin-guide/numastat.html."""


def node_files(machine: Machine) -> Tree:
    """The node lists, and a folder per online node."""
    lists = {
        "online": render(node.id for node in machine.nodes),
        "possible": render(machine.possible_nodes),
        "has_cpu": _ids(machine, lambda node: bool(node.cpus & machine.cpus.online)),
        "has_memory": _ids(machine, lambda node: bool(node.memory)),
        "has_normal_memory": _ids(machine, lambda node: bool(node.memory)),
    }
    if machine.modern:
        lists["has_generic_initiator"] = _ids(machine, lambda node: node.generic_initiator)
    folders = [_node(machine, position) for position in range(len(machine.nodes))]
    return merged(lines(_BASE, lists), *folders)


def mask(cpus: Iterable[int], width: int) -> str:
    """The kernel's bitmap form: `width` bits in words of 32, highest first, `ff,00000000`."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [f"{bits >> low & 0xFFFFFFFF:08x}" for low in range(0, width, 32)]
    words[-1] = words[-1][-((width - 1) % 32 // 4 + 1) :]
    return ",".join(reversed(words))


def _ids(machine: Machine, wanted: Callable[[Node], bool]) -> str:
    return render(node.id for node in machine.nodes if wanted(node))


def _node(machine: Machine, position: int) -> Tree:
    node = machine.nodes[position]
    folder = f"{_BASE}/node{node.id}"
    online: CpuSet = node.cpus & machine.cpus.online
    files = {
        "cpulist": render(online),
        "cpumap": mask(online, max(machine.cpus.possible) + 1),
        "distance": " ".join(map(str, machine.distances[position])),
    }
    return merged(
        lines(folder, files),
        {f"{folder}/numastat": _NUMASTAT},
        {f"{folder}/meminfo": _node_meminfo(node)},
        _hugepages(folder, node),
        _initiators(folder, node),
    )


def _hugepages(folder: str, node: Node) -> Tree:
    """Page counts, all free; a node without memory has no such folder."""
    if not node.memory:
        return {}
    return merged(*(_page_size(folder, *page) for page in node.all_hugepages.items()))


def _page_size(folder: str, size: int, count: int) -> Tree:
    counts = {"nr_hugepages": count, "free_hugepages": count, "surplus_hugepages": 0}
    return lines(f"{folder}/hugepages/hugepages-{size}kB", counts)


def _initiators(folder: str, node: Node) -> Tree:
    """Access class 0 (any initiator) and 1 (CPUs only) of a node whose memory is near another."""
    if node.near is None:
        return {}
    near = f"{_BASE}/node{node.near}"
    return merged(
        *(
            merged(
                lines(f"{folder}/access{number}/initiators", _ACCESS),
                link(f"{folder}/access{number}/initiators/node{node.near}", near),
                link(f"{near}/access{number}/targets/node{node.id}", folder),
            )
            for number in (0, 1)
        )
    )


def _node_meminfo(node: Node) -> str:
    rows = [
        f"Node {node.id} {f'{name}:':<15} {kib:>8} kB\n" for name, kib in _counts([node]).items()
    ]
    pages = node.hugepages.get(2048, 0)
    for name, count in (("Total", pages), ("Free", pages), ("Surp", 0)):
        rows.append(f"Node {node.id} HugePages_{f'{name}:':<6} {count:>5}\n")
    return "".join(rows)


def meminfo(machine: Machine) -> Tree:
    """proc/meminfo: the nodes' sums, shortened."""
    counts = _counts(machine.nodes)
    del counts["MemUsed"]
    pages = sum(node.hugepages.get(2048, 0) for node in machine.nodes)
    huge = {"HugePages_Total": pages, "HugePages_Free": pages, "HugePages_Rsvd": 0}
    rows = [f"{f'{name}:':<15} {kib:>8} kB\n" for name, kib in counts.items()]
    rows += [f"{f'{name}:':<16} {count:>7}\n" for name, count in huge.items()]
    rows.append("Hugepagesize:       2048 kB\n")
    return {"proc/meminfo": "".join(rows)}


def _counts(nodes: Iterable[Node]) -> dict[str, int]:
    """Memory by use, in KiB: a tenth of what huge pages leave is taken, half of it by files."""
    total = free = 0
    for node in nodes:
        total += node.memory // 1024
        free += (node.memory - node.hugepage_bytes) // 1024 * 9 // 10
    used = total - free
    names = ("MemTotal", "MemFree", "MemUsed", "Active", "Inactive", "FilePages", "AnonPages")
    rest = (total - free) // 20
    return dict(zip(names, (total, free, used, rest * 2, rest, rest * 2, rest), strict=True))
