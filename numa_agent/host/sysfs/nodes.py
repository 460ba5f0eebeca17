"""NUMA nodes from /sys/devices/system/node: CPUs, memory, hugepages, distances, nearest CPU nodes.

Files: Documentation/ABI/stable/sysfs-devices-node; memory initiators (accessN):
Documentation/admin-guide/mm/numaperf.rst (https://docs.kernel.org/admin-guide/mm/numaperf.html).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_agent.config import HUGEPAGES_DIR, MEMINFO, NODE_DIR
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.topology import HugePages, NodeKind, NumaNode, nearest, node_kind
from numa_agent.host.sysfs.claims import read_claims
from numa_agent.host.sysfs.files import Directory, number
from numa_agent.host.sysfs.sets import CpuSetReader

_NONE: CpuSet = frozenset()
_NODE_NAME = re.compile(r"node(\d{1,5})")
_HUGEPAGES_NAME = re.compile(r"hugepages-(\d{1,12})kB")
_MEM_TOTAL = re.compile(r"^(?:Node \d+ )?MemTotal:\s+(\d{1,15}) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Raw:
    """What one node's files say, before nodes are held against each other."""

    id: int
    cpus: CpuSet | None
    memory_bytes: int | None
    hugepages: tuple[HugePages, ...]
    row: tuple[int, ...] | None
    initiators: frozenset[int]


def read_nodes(root: Directory, online: CpuSet, sets: CpuSetReader) -> tuple[NumaNode, ...]:
    """The online NUMA nodes, ascending.

    A machine whose kernel has no node directory has one node 0, with every online CPU and all
    memory. Such a machine without CPUs has no node, nor has one whose node directory is there and
    can't be opened.
    """
    with_nodes = root.directory(NODE_DIR)
    if with_nodes is not None:
        with with_nodes:
            nodes = _read_listed(with_nodes, online, sets)
        if nodes:
            return nodes
    if not online or (with_nodes is None and root.exists(NODE_DIR)):
        return ()
    path = root.of(NODE_DIR)
    root.warn(
        "no-node-directory", path, f"{path}: the kernel lists no NUMA node; taken as one node 0"
    )
    return (_whole_machine(root, online),)


def _whole_machine(root: Directory, online: CpuSet) -> NumaNode:
    memory = root.value(MEMINFO, _mem_total_bytes)
    if memory is None:
        _warn_memory(root, MEMINFO, 0)
    return NumaNode(
        id=0,
        kind=NodeKind.CPU,
        cpus=online,
        memory_bytes=memory,
        hugepages=_read_hugepages(root, HUGEPAGES_DIR),
        distances={0: 10},
        nearest_cpu_nodes=(0,),
    )


def _read_listed(directory: Directory, online: CpuSet, sets: CpuSetReader) -> tuple[NumaNode, ...]:
    listed, present = _node_ids(directory)
    claims = read_claims(directory, present, online, sets)
    homeless = online.difference(*(cpus for cpus in claims.values() if cpus))
    if present and homeless:
        ranges = cpulist.render(homeless)
        directory.warn(
            "cpu-without-node",
            f"cpu{ranges}",
            f"{directory.path}: online CPUs {ranges} are in no node",
        )
    raws = [_read_node(directory, node_id, cpus) for node_id, cpus in claims.items()]
    return tuple(_node(directory, raw, listed, raws) for raw in raws)


def _node_ids(directory: Directory) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that a distance row has a column for, and those of them that have a directory."""
    present = frozenset(
        int(match[1]) for name in directory.names() if (match := _NODE_NAME.fullmatch(name))
    )
    online = directory.value("online", cpulist.parse)
    if online and online.isdisjoint(present):
        path = directory.of("online")
        directory.warn(
            "node-list-wrong", path, f"{path} names no node that is there; not believed"
        )
        online = None
    if not online:
        return tuple(sorted(present)), tuple(sorted(present))
    for ids, code, what in (
        (online - present, "node-without-directory", "is listed in `online` without a directory"),
        (present - online, "node-not-listed", "has a directory and isn't listed in `online`"),
    ):
        for node_id in sorted(ids):
            path = directory.of(f"node{node_id}")
            directory.warn(code, path, f"{path} {what}; left out")
    return tuple(sorted(online)), tuple(sorted(online & present))


def _read_node(directory: Directory, node_id: int, cpus: CpuSet | None) -> _Raw:
    name = f"node{node_id}"
    memory = directory.value(f"{name}/meminfo", _mem_total_bytes)
    if memory is None:
        _warn_memory(directory, f"{name}/meminfo", node_id)
    return _Raw(
        id=node_id,
        cpus=cpus,
        memory_bytes=memory,
        hugepages=_read_hugepages(directory, f"{name}/hugepages"),
        row=directory.value(f"{name}/distance", _distances),
        initiators=frozenset() if cpus else _read_initiators(directory, name),
    )


def _node(
    directory: Directory,
    raw: _Raw,
    listed: tuple[int, ...],
    raws: Sequence[_Raw],
) -> NumaNode:
    row = _by_id(directory, raw, listed)
    return NumaNode(
        id=raw.id,
        kind=node_kind(raw.cpus, raw.memory_bytes),
        cpus=raw.cpus,
        memory_bytes=raw.memory_bytes,
        hugepages=raw.hugepages,
        distances=None if row is None else {other.id: row[other.id] for other in raws},
        nearest_cpu_nodes=_nearest(raw, row, listed, raws),
    )


def _nearest(
    raw: _Raw, row: Mapping[int, int] | None, listed: tuple[int, ...], raws: Sequence[_Raw]
) -> tuple[int, ...]:
    """The nodes with CPUs nearest to one; none where one whose CPUs are unknown may be it.

    Such a one is also a listed node that has no directory.
    """
    if raw.cpus is None:
        return ()
    if raw.cpus:
        return (raw.id,)
    known = {other.id: other.cpus for other in raws}
    may_have = {node_id: known.get(node_id) for node_id in listed if known.get(node_id) != _NONE}
    initiators = sorted(raw.initiators & may_have.keys())
    near = nearest(row, initiators or may_have) or tuple(initiators)
    return near if all(may_have[node_id] for node_id in near) else ()


def _by_id(directory: Directory, raw: _Raw, listed: tuple[int, ...]) -> Mapping[int, int] | None:
    """Distances by node id: column k of a row belongs to the k-th online node, not to node k."""
    path = directory.of(f"node{raw.id}/distance")
    if raw.row is None:
        if len(listed) > 1:
            directory.warn("distances-unknown", path, f"{path}: not to be read; distances unknown")
        return None
    if len(raw.row) != len(listed):
        directory.warn(
            "distances-unknown",
            path,
            f"{path} has {len(raw.row)} columns for {len(listed)} online nodes; distances unknown",
        )
        return None
    return dict(zip(listed, raw.row, strict=True))


def _read_initiators(directory: Directory, name: str) -> frozenset[int]:
    """The nodes whose CPUs reach this node's memory fastest, where firmware (HMAT) says so.

    access1 counts CPUs only, access0 other initiators too.
    """
    for access in ("access1", "access0"):
        found = frozenset(
            int(match[1])
            for entry in directory.names(f"{name}/{access}/initiators")
            if (match := _NODE_NAME.fullmatch(entry))
        )
        if found:
            return found
    return frozenset()


def _read_hugepages(directory: Directory, name: str) -> tuple[HugePages, ...]:
    sizes = sorted(
        (int(match[1]), entry)
        for entry in directory.names(name)
        if (match := _HUGEPAGES_NAME.fullmatch(entry))
    )
    return tuple(
        HugePages(
            size_kib=size_kib,
            total=directory.value(f"{name}/{entry}/nr_hugepages", _count),
            free=directory.value(f"{name}/{entry}/free_hugepages", _count),
        )
        for size_kib, entry in sizes
    )


def _warn_memory(directory: Directory, name: str, node_id: int) -> None:
    path = directory.of(name)
    directory.warn("memory-unknown", path, f"{path}: MemTotal of node {node_id} can't be read")


def _mem_total_bytes(text: str) -> int:
    match = _MEM_TOTAL.search(text)
    if match is None:
        raise ValueError("no line gives MemTotal in kB")
    return int(match[1]) * 1024


def _distances(text: str) -> tuple[int, ...]:
    row = tuple(number(word) for word in text.split())
    if not row or not all(0 <= distance <= 255 for distance in row):
        raise ValueError(f"not a row of distances: {text[:60]!r}")
    return row


def _count(text: str) -> int:
    value = number(text)
    if value < 0:
        raise ValueError(f"not a count: {text!r}")
    return value
