"""The online CPUs with the numbers that Koordinator knows them by.

`core` and `socket` are lscpu's logical numbers, not sysfs's core_id and physical_package_id: dense
and unique on the whole machine, in the order of each one's lowest CPU. koord-scheduler takes a CPU
whose core is shared for a sibling, so a core_id that two dies use would merge two cores
(apis/extension/numa_aware.go and pkg/scheduler/plugins/nodenumaresource/cpu_topology.go in
https://github.com/koordinator-sh/koordinator).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.topology import Topology

MAX_CORES = 1 << 16
"""koord-scheduler keeps a core's number in 16 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """One online CPU: the kernel's number of it and of its node, lscpu's of core and socket."""

    id: int
    core: int
    socket: int
    node: int


def numbered(topology: Topology) -> tuple[Cpu, ...]:
    """The online CPUs, ascending. Raises ValueError that says what of them isn't known."""
    if not topology.online:
        raise ValueError("no online CPU is known")
    if topology.cores is None or topology.packages is None:
        what = "cores" if topology.cores is None else "packages"
        raise ValueError(f"which {what} the CPUs are in isn't known")
    unread = [node.id for node in topology.nodes if node.cpus is None]
    if unread:
        raise ValueError(f"the CPUs of node {render(unread)} aren't known")
    online = topology.online
    cores = _places(enumerate(_by_lowest(topology.cores, online)), online, "core")
    packages = _by_lowest((package.cpus for package in topology.packages), online)
    sockets = _places(enumerate(packages), online, "package")
    nodes = _places(
        ((node.id, node.cpus or frozenset()) for node in topology.nodes), online, "node"
    )
    return tuple(
        Cpu(id=cpu, core=cores[cpu], socket=sockets[cpu], node=nodes[cpu])
        for cpu in sorted(online)
    )


def socket_of(cpus: Iterable[Cpu]) -> int:
    """The socket that all these CPUs are of, -1 where they are of several."""
    sockets = {cpu.socket for cpu in cpus}
    return sockets.pop() if len(sockets) == 1 else -1


def _by_lowest(groups: Iterable[CpuSet], online: CpuSet) -> list[CpuSet]:
    return sorted((group & online for group in groups if group & online), key=min)


def _places(groups: Iterable[tuple[int, CpuSet]], online: CpuSet, what: str) -> dict[int, int]:
    places = {cpu: number for number, cpus in groups for cpu in cpus & online}
    homeless = online - places.keys()
    if homeless:
        raise ValueError(f"CPUs {render(homeless)} are in no {what}")
    return places
