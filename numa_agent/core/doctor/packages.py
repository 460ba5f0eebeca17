"""How firmware cuts packages of CPUs into NUMA nodes, or NUMA nodes into packages.

https://docs.kernel.org/mm/numa.html and
https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-devices-system-cpu
"""

from collections.abc import Sequence

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight, counted, listed
from numa_agent.core.topology import CpuGroup

_NUMA = "https://docs.kernel.org/mm/numa.html"

INTERLEAVED = Rule(
    code="node-spans-packages",
    weight=Weight.WARNING,
    costs="one NUMA node has CPUs of several packages, so that near and far memory can't be told"
    " apart",
    source=_NUMA,
)
SEVERAL = Rule(
    code="several-nodes-per-package",
    weight=Weight.NOTE,
    costs="a pod that fits one package may not fit one of its nodes",
    source=_NUMA,
)


def _packages(seen: Examination) -> Results:
    yield from seen.mapless
    packages, nodes = seen.topology.packages, seen.topology.cpu_nodes
    if packages is None:
        yield Unseen(source="packages of CPUs", why="no file tells them")
        return
    if _made_up(packages, seen.topology.cores):
        yield Unseen(
            source="packages of CPUs",
            why="each has one core, as hypervisors make them up and no server has them",
        )
        return
    several: list[str] = []
    spanning: list[str] = []
    for package in packages:
        inside = [node.id for node in nodes if node.cpus and node.cpus <= package.cpus]
        if len(inside) > 1:
            several.append(f"package {package.id} has nodes {render(inside)}")
    for node in nodes:
        ids = [package.id for package in packages if (node.cpus or frozenset()) & package.cpus]
        if len(ids) > 1:
            spanning.append(f"node {node.id} has CPUs of {counted(len(ids), 'package')}")
    if several:
        yield SEVERAL.found(
            "firmware",
            listed(several),
            "size pods by a node, or set sub-NUMA clustering (SNC) or nodes per socket (NPS) to 1"
            " in firmware",
        )
    if spanning:
        yield INTERLEAVED.found(
            "firmware",
            listed(spanning),
            "switch node interleaving (NPS0) off in firmware; give a guest the host's nodes",
        )


def _made_up(packages: Sequence[CpuGroup], cores: Sequence[CpuSet] | None) -> bool:
    """Whether a guest has a package for each of its cores, which is QEMU's and libvirt's way."""
    own = [{core for core in cores or () if core & package.cpus} for package in packages]
    return len(packages) > 1 and all(len(each) == 1 for each in own)


CHECK = Check(name="packages-and-nodes", rules=(INTERLEAVED, SEVERAL), look=_packages)
