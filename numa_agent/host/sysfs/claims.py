"""Which CPUs each NUMA node claims, and what to believe where its files or two nodes disagree.

Files: Documentation/ABI/stable/sysfs-devices-node (cpulist, cpumap, the links cpuN).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet, in_several
from numa_agent.host.sysfs.files import Directory
from numa_agent.host.sysfs.sets import CpuSetReader

_CPU_NAME = re.compile(r"cpu(\d{1,5})")


@dataclass(frozen=True, slots=True)
class _Claim:
    """A node's online CPUs by its own files; `confirmed` where cpulist and cpumap agree."""

    cpus: CpuSet | None
    has_list: bool = False
    confirmed: bool = False


def read_claims(
    directory: Directory, node_ids: Iterable[int], online: CpuSet, sets: CpuSetReader
) -> dict[int, CpuSet | None]:
    """The online CPUs of each node, by node id; None where they are unknown."""
    claims = {node_id: _read(directory, f"node{node_id}", online, sets) for node_id in node_ids}
    contested = in_several(claim.cpus for claim in claims.values() if claim.cpus)
    if contested:
        ranges = cpulist.render(contested)
        directory.warn(
            "nodes-overlap", f"cpu{ranges}", f"{directory.path}: CPUs {ranges} are in two nodes"
        )
    # Kernels too old for cpulist are believed: there is nothing to hold their cpumap against.
    if any(claim.has_list for claim in claims.values()):
        claims = _uncontested(claims, contested)
    return {node_id: claim.cpus for node_id, claim in claims.items()}


def _read(directory: Directory, name: str, online: CpuSet, sets: CpuSetReader) -> _Claim:
    # cpulist may name offline CPUs where cpumap doesn't, so both are cut to the online ones.
    listed = directory.value(f"{name}/cpulist", sets.list)
    mapped = directory.value(f"{name}/cpumap", sets.mask)
    if listed is not None and mapped is not None:
        if listed & online == mapped & online:
            return _Claim(listed & online, has_list=True, confirmed=True)
        path = directory.of(name)
        directory.warn(
            "node-cpus-disagree", path, f"{path}: cpulist and cpumap differ; its CPUs are unknown"
        )
        return _Claim(None)
    if listed is not None:
        return _Claim(listed & online, has_list=True)
    if mapped is not None:
        return _Claim(mapped & online)
    linked = frozenset(
        int(match[1]) for entry in directory.names(name) if (match := _CPU_NAME.fullmatch(entry))
    )
    if linked:
        return _Claim(linked & online)
    path = directory.of(f"{name}/cpulist")
    directory.warn("node-cpus-unknown", path, f"{path}: no CPU list of this node can be read")
    return _Claim(None)


def _uncontested(claims: Mapping[int, _Claim], contested: CpuSet) -> dict[int, _Claim]:
    """The claims without the CPUs that two nodes claim; unknown where none is left.

    A CPU is in one node only, so one of the files lies. One node's claim is believed where only
    it rests on two files.
    """
    by_two_files = in_several(
        claim.cpus for claim in claims.values() if claim.cpus and claim.confirmed
    )
    return {
        node_id: replace(
            claim, cpus=claim.cpus - (by_two_files if claim.confirmed else contested) or None
        )
        if claim.cpus
        else claim
        for node_id, claim in claims.items()
    }
