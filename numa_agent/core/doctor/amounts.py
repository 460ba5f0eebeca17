"""Memory that is spread unevenly over nodes and slots.

https://docs.kernel.org/admin-guide/mm/hugetlbpage.html; modules: SMBIOS,
https://www.dmtf.org/standards/smbios
"""

from collections import Counter
from collections.abc import Iterable

from numa_agent.core.cpulist import render
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight

_EVEN = 0.8
"""The smallest node's part of the largest one's memory: the kernel keeps some of the first."""

UNEVEN = Rule(
    code="memory-unbalanced",
    weight=Weight.WARNING,
    costs="one node's memory is full while another has some left, and pods spill over",
    source="https://docs.kernel.org/mm/numa.html",
)
POOL_ON_SOME = Rule(
    code="hugepages-on-some-nodes",
    weight=Weight.WARNING,
    costs="a pod that asks for huge pages beside CPUs or devices of the other nodes never fits",
    source="https://docs.kernel.org/admin-guide/mm/hugetlbpage.html",
)
MIXED = Rule(
    code="dimms-mixed",
    weight=Weight.NOTE,
    costs="channels are interleaved as far as modules are alike: bandwidth differs by address",
    source="https://www.dmtf.org/standards/smbios",
)


def _uneven(seen: Examination) -> Results:
    yield from seen.mapless
    unknown = [node.id for node in seen.topology.cpu_nodes if node.memory_bytes is None]
    if unknown:
        yield Unseen(source=f"memory of nodes {render(unknown)}", why="not to be read")
    sizes = {node.id: node.memory_bytes for node in seen.topology.cpu_nodes if node.memory_bytes}
    if len(sizes) > 1 and min(sizes.values()) < _EVEN * max(sizes.values()):
        words = ", ".join(f"node {key} {size // 2**20} MiB" for key, size in sizes.items())
        yield UNEVEN.found(
            "memory",
            f"MemTotal: {words}",
            "put the same modules into every package's slots; in a guest, give nodes the same"
            " memory",
        )


def _hugepages(seen: Examination) -> Results:
    nodes = [node for node in seen.topology.cpu_nodes if node.memory_bytes]
    sizes = sorted({pool.size_kib for node in nodes for pool in node.hugepages})
    if not sizes:
        yield Unseen(source="huge pages of each node", why="no node tells of any size")
    for size in sizes:
        totals = {
            node.id: next((each.total for each in node.hugepages if each.size_kib == size), None)
            for node in nodes
        }
        if None in totals.values():
            yield Unseen(source=f"huge pages of {size} KiB", why="a node doesn't tell how many")
        some = [node for node, total in totals.items() if total]
        none = [node for node, total in totals.items() if total == 0]
        if some and none:
            words = ", ".join(f"node {key} {total}" for key, total in totals.items())
            yield POOL_ON_SOME.found(
                f"huge pages of {size} KiB",
                f"nr_hugepages: {words}",
                f"hugepages=M:N,… on the kernel's command line with pages for the nodes"
                f" {render(none)}, or N into nodeM/hugepages/hugepages-{size}kB/nr_hugepages below"
                " /sys/devices/system/node before memory is in pieces",
            )


def _dimms(seen: Examination) -> Results:
    told = seen.kernel.dimms
    if told.value is None:
        yield told.unseen
        return
    # Those of another kind are no neighbours in a channel: HBM beside DDR5.
    for kind in sorted({dimm.kind for dimm in told.value}):
        alike = [dimm for dimm in told.value if dimm.kind == kind]
        sizes = Counter(f"{dimm.size_bytes // 2**20} MiB" for dimm in alike)
        speeds = Counter(f"{dimm.speed_mts} MT/s" for dimm in alike if dimm.speed_mts)
        if len(sizes) > 1 or len(speeds) > 1:
            yield MIXED.found(
                f"{kind} modules",
                f"{told.source}: {_words(sizes)}; {_words(speeds)}",
                "put the same module into every channel (dmidecode -t memory lists them)",
            )


def _words(counts: Counter[str]) -> str:
    pairs: Iterable[tuple[str, int]] = sorted(counts.items())
    return ", ".join(f"{count} of {what}" for what, count in pairs) or "speeds not told"


CHECKS = (
    Check(name="memory-per-node", rules=(UNEVEN,), look=_uneven),
    Check(name="hugepages-per-node", rules=(POOL_ON_SOME,), look=_hugepages),
    Check(name="memory-modules", rules=(MIXED,), look=_dimms),
)
