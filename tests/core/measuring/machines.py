"""Machines to measure, and what was measured on them."""

from collections.abc import Mapping
from dataclasses import replace

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.measuring import Allowed, Matrix, MatrixPlan, Pair, Reader, Target
from numa_agent.core.topology import Cache, NumaNode, Topology
from tests.machine_tree import cpus, machine, numa_node

GIB = 1 << 30
MIB = 1 << 20

NEAR = (101.2, 99.8, 100.4, 103.0, 100.9)
FAR = (171.5, 168.9, 170.2, 175.8, 169.4)
"""Latencies of a machine with two packages, ns."""


def node(
    node_id: int, cpu_list: str = "", *, memory: int = 64 * GIB, **distances: int
) -> NumaNode:
    """A node; distances by names such as `to1`."""
    row = {int(name.removeprefix("to")): value for name, value in distances.items()}
    return numa_node(node_id, cpu_list, memory_bytes=memory, distances=row or None)


def two(cores: bool = True) -> Topology:
    """Two nodes of eight CPUs, siblings four apart, with a cache of 32 MiB each."""
    nodes = (node(0, "0-3,8-11", to0=10, to1=21), node(1, "4-7,12-15", to0=21, to1=10))
    found = machine(*nodes)
    siblings = tuple(frozenset({cpu, cpu + 8}) for cpu in range(8))
    caches = tuple(
        Cache(level=3, cpus=each.cpus or cpus(""), size_bytes=32 * MIB) for each in nodes
    )
    return replace(found, cores=siblings if cores else None, caches=caches)


def with_expander() -> Topology:
    """Two nodes with CPUs and one of memory alone, nearer to the second."""
    return machine(
        node(0, "0-1", to0=10, to1=21, to2=28),
        node(1, "2-3", to0=21, to1=10, to2=17),
        node(2, to0=28, to1=17, to2=10),
    )


def allowed(
    topology: Topology,
    cpu_list: CpuSet | None = None,
    mems: CpuSet | None = None,
    headroom: int | None = None,
    free: int | None = 32 * GIB,
    quota: float | None = None,
) -> Allowed:
    """Everything, unless said."""
    nodes = [each.id for each in topology.nodes]
    return Allowed(
        cpus=topology.online if cpu_list is None else cpu_list,
        mems=frozenset(nodes) if mems is None else mems,
        headroom=headroom,
        free=dict.fromkeys(nodes, free),
        quota=quota,
    )


def matrix(
    latencies: Mapping[tuple[int, int], tuple[float, ...]],
    rates: Mapping[tuple[int, int], tuple[float, ...]] | None = None,
    *,
    cached: bool = False,
) -> Matrix:
    """What was measured, by pairs; every pair reads 20 GB/s unless said."""
    readers = sorted({reader for reader, _ in latencies})
    targets = sorted({target for _, target in latencies})
    return Matrix(
        plan=MatrixPlan(
            readers=tuple(
                Reader(node=each, cpus=(each,), probe=each, cache_bytes=0, node_cache_bytes=0)
                for each in readers
            ),
            targets=tuple(
                Target(node=each, chain_bytes=64 * MIB, stream_bytes=64 * MIB) for each in targets
            ),
            left_out=(),
            cached=cached,
        ),
        pairs={
            pair: Pair(nanoseconds=times, bytes_per_second=(rates or {}).get(pair, (2e10,) * 5))
            for pair, times in latencies.items()
        },
        pages=dict.fromkeys(targets, 32768),
        left_out=(),
        rounds=5,
    )


def two_measured() -> Matrix:
    """The matrix of the two nodes."""
    return matrix({(0, 0): NEAR, (0, 1): FAR, (1, 0): FAR, (1, 1): NEAR})
