"""What can be measured on a machine: from which CPUs, to which nodes' memory, with how much of it.

A buffer has two parts: a chain of dependent reads, and a stream that is read in order. The stream
is at least twice what the reading node's last-level caches hold, since what is read in a circle
that doesn't fit a cache isn't in it the next time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import NodeKind, NumaNode, Topology

MIB = 1 << 20
CHAIN_BYTES = 64 * MIB
LEAST_STREAM = 64 * MIB
MOST_STREAM = 2048 * MIB
LEAST_BUFFER = 32 * MIB
"""With less than this a node isn't measured."""

SHARE = 4
"""At most one part in so many of a node's free memory is taken, and half of what the process may
have at all."""

MOST_READERS = 64
"""CPUs that read at once; far fewer use up what a node's memory can give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the kernel lets this process have: CPUs, memory nodes, and bytes of memory.

    `headroom` is what its memory cgroups leave it, None where none limits it. `free` are the bytes
    that each node has left, None where that isn't known. `quota` is how many CPUs' time it may
    use, None where that isn't limited.
    """

    cpus: CpuSet
    mems: CpuSet
    headroom: int | None
    free: Mapping[int, int | None]
    quota: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A node to read from: one CPU of each core, and the CPU that latency is measured on.

    `cache_bytes` are the last-level caches of that CPU and `node_cache_bytes` of all, 0 where no
    file tells.
    """

    node: int
    cpus: tuple[int, ...]
    probe: int
    cache_bytes: int
    node_cache_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node whose memory is read, and the two parts of the buffer there, in bytes."""

    node: int
    chain_bytes: int
    stream_bytes: int

    @property
    def size(self) -> int:
        """The whole buffer."""
        return self.chain_bytes + self.stream_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPlan:
    """Who reads where. `left_out` are sentences on nodes and CPUs that aren't measured, and why.

    `cached` says that caches may have held part of what was read, since there is too little
    memory to have.
    """

    readers: tuple[Reader, ...]
    targets: tuple[Target, ...]
    left_out: tuple[str, ...]
    cached: bool


def nodes_in_use(topology: Topology) -> tuple[int, ...]:
    """The nodes that have CPUs or memory."""
    kinds = (NodeKind.CPU, NodeKind.MEMORY)
    return tuple(node.id for node in topology.nodes if node.kind in kinds)


def only_node(topology: Topology) -> int | None:
    """The node of a machine that has nothing far, None for any other machine."""
    nodes = nodes_in_use(topology)
    return nodes[0] if len(nodes) == 1 else None


def plan_matrix(topology: Topology, allowed: Allowed) -> MatrixPlan:
    """Who can read where; what can't be is named."""
    left_out: list[str] = []
    if allowed.quota is not None:
        left_out.append(
            f"this process may use the time of {allowed.quota:g} CPUs only (cpu.max): what more"
            " CPUs could read, and how evenly, isn't measured"
        )
    readers = tuple(_readers(topology, allowed, left_out))
    caches = max((reader.node_cache_bytes for reader in readers), default=0)
    targets = tuple(_targets(topology.nodes, allowed, caches, left_out))
    cached = any(target.stream_bytes < 2 * caches for target in targets)
    return MatrixPlan(readers=readers, targets=targets, left_out=tuple(left_out), cached=cached)


def _readers(topology: Topology, allowed: Allowed, left_out: list[str]) -> Iterable[Reader]:
    for node in topology.cpu_nodes:
        own = node.cpus or frozenset()
        cpus = own & allowed.cpus
        if not cpus:
            left_out.append(
                f"node {node.id}: none of its CPUs {cpulist.render(own)} is allowed to this"
                f" process (cpuset or affinity: {cpulist.render(allowed.cpus)})"
            )
            continue
        if cpus != own:
            left_out.append(
                f"node {node.id}: only CPUs {cpulist.render(cpus)} of {cpulist.render(own)} are"
                " allowed to this process; its bandwidth is that of these"
            )
        yield _reader(topology, node.id, cpus)


def _reader(topology: Topology, node: int, cpus: CpuSet) -> Reader:
    cores = topology.cores or ()
    first = {min(core & cpus) for core in cores if core & cpus}
    chosen = sorted(first or cpus)[:MOST_READERS]
    # CPU 0 has most of the interrupts, so that the last is the better probe.
    probe = chosen[-1]
    level = max((cache.level for cache in topology.caches), default=0)
    sizes = [
        (cache.cpus, cache.size_bytes or 0)
        for cache in topology.caches
        if cache.level == level and cache.cpus & cpus
    ]
    return Reader(
        node=node,
        cpus=tuple(chosen),
        probe=probe,
        cache_bytes=sum(size for shared, size in sizes if probe in shared),
        node_cache_bytes=sum(size for _, size in sizes),
    )


def _targets(
    nodes: Iterable[NumaNode], allowed: Allowed, caches: int, left_out: list[str]
) -> Iterable[Target]:
    for node in nodes:
        if not node.memory_bytes:
            if node.cpus:
                left_out.append(f"node {node.id}: it has no memory of its own")
            continue
        if node.id not in allowed.mems:
            left_out.append(
                f"node {node.id}: its memory isn't allowed to this process (cpuset.mems:"
                f" {cpulist.render(allowed.mems)})"
            )
            continue
        size = _size(allowed.free.get(node.id), allowed.headroom, caches)
        if size < LEAST_BUFFER:
            left_out.append(f"node {node.id}: {_why_small(allowed, node.id)}")
            continue
        chain = _power_of_two(max(size - _stream(caches), size // 4))
        yield Target(node=node.id, chain_bytes=chain, stream_bytes=size - chain)


def _size(free: int | None, headroom: int | None, caches: int) -> int:
    """Bytes to take on a node: whole MiB, 0 where its free memory isn't known."""
    limits = [CHAIN_BYTES + _stream(caches), 0 if free is None else free // SHARE]
    if headroom is not None:
        limits.append(headroom // 2)
    return min(limits) // MIB * MIB


def _stream(caches: int) -> int:
    return min(max(LEAST_STREAM, 2 * caches), MOST_STREAM)


def _power_of_two(size: int) -> int:
    """The largest that isn't above a size."""
    return 1 << size.bit_length() - 1


def _why_small(allowed: Allowed, node: int) -> str:
    free = allowed.free.get(node)
    if free is None:
        return "its free memory can't be read, so that none is taken"
    left = f"{free // MIB} MiB of it are free"
    if allowed.headroom is not None:
        left += f" and this process's memory limit leaves {allowed.headroom // MIB} MiB"
    return (
        f"too little memory: {left}; measuring takes {LEAST_BUFFER // MIB} MiB or more, at most a"
        " quarter of what is free and half of what the limit leaves"
    )
