"""Machines for tests: files below a folder, and the values that one reads from them."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import DeviceKind, NodeSource, PciDevice
from numa_agent.core.pci import PciAddress
from numa_agent.core.pods import Container, Pod, QosClass
from numa_agent.core.topology import HugePages, NumaNode, Topology, TopologyWarning, node_kind
from numa_agent.host.sysfs import read_topology

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
PCI = "sys/bus/pci/devices"
CGROUP = "sys/fs/cgroup"


def cpus(text: str) -> CpuSet:
    """A CPU set by its kernel list."""
    return cpulist.parse(text)


class Tree:
    """Writes a machine's files below a root, each with the newline that the kernel ends it with.

    Keywords are names of kernel files and their texts.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def raw(self, path: str, data: bytes) -> Self:
        """One file, byte for byte."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return self

    def file(self, path: str, text: str) -> Self:
        """One file of text."""
        return self.raw(path, f"{text}\n".encode())

    def files(self, folder: str, **texts: str) -> Self:
        """A folder and the files in it."""
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            self.file(f"{folder}/{name}", text)
        return self

    def without(self, path: str) -> Self:
        """Take a file away again."""
        (self.root / path).unlink()
        return self

    def cpu_lists(self, **lists: str) -> Self:
        """The lists of all CPUs: online, present, offline, isolated."""
        return self.files(CPU, **lists)

    def cpu(self, number: int, **topology: str) -> Self:
        """One CPU; without any topology file it has no topology directory, like an offline CPU."""
        folder = f"{CPU}/cpu{number}"
        return self.files(f"{folder}/topology" if topology else folder, **topology)

    def cache(self, number: int, index: int, **files: str) -> Self:
        """One cache of one CPU."""
        return self.files(f"{CPU}/cpu{number}/cache/index{index}", **files)

    def nodes_online(self, ids: str) -> Self:
        """The list of online NUMA nodes."""
        return self.file(f"{NODE}/online", ids)

    def node(self, node_id: int, memory_kb: int | None = 1024, **files: str) -> Self:
        """One NUMA node."""
        if memory_kb is not None:
            files["meminfo"] = f"Node {node_id} MemTotal:       {memory_kb} kB"
        return self.files(f"{NODE}/node{node_id}", **files)

    def pci(self, name: str, below: str = "pci0000:00", **files: str) -> Self:
        """One PCI function below a host bridge or another function, linked as the kernel links."""
        self.files(f"sys/devices/{below}/{name}", **files)
        link = self.root / PCI / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../../devices/{below}/{name}")
        return self

    def cgroup_v2(self, path: str, cpus: str, effective: str, procs: str = "") -> Self:
        """One cgroup of the unified hierarchy, `` the root, with the processes in it."""
        files = {"cpuset.cpus": cpus, "cpuset.cpus.effective": effective, "cgroup.procs": procs}
        return self.files(f"{CGROUP}/{path}", **files)

    def cgroup_v1(self, path: str, cpus: str, effective: str | None = None) -> Self:
        """One cgroup of the older cpuset hierarchy, `` the root, with a process in it."""
        in_force = cpus if effective is None else effective
        files = {"cpuset.cpus": cpus, "cpuset.effective_cpus": in_force, "cgroup.procs": "1"}
        return self.files(f"{CGROUP}/cpuset/{path}", **files)

    def topology(self) -> Topology:
        """The map read from it."""
        return read_topology(self.root)


def two_socket_tree(root: Path) -> Tree:
    """Two packages of two cores of two threads, a NUMA node each: CPUs 0-1,4-5 and 2-3,6-7."""
    tree = Tree(root).cpu_lists(online="0-7", present="0-7", offline="").nodes_online("0-1")
    for number in range(8):
        package = number % 4 // 2
        tree.cpu(
            number,
            core_cpus_list=f"{number % 4},{number % 4 + 4}",
            package_cpus_list=("0-1,4-5", "2-3,6-7")[package],
            physical_package_id=str(package),
        )
    tree.node(0, cpulist="0-1,4-5", cpumap="33", distance="10 21")
    return tree.node(1, cpulist="2-3,6-7", cpumap="cc", distance="21 10")


def lone_cpus(root: Path, online: str, *, cores: bool = True) -> Tree:
    """CPUs that are online, a core each unless no file shall tell, and nothing else."""
    tree = Tree(root).cpu_lists(online=online)
    for number in cpus(online):
        tree.cpu(number, **({"core_cpus_list": str(number)} if cores else {}))
    return tree


def codes(topology: Topology) -> list[str]:
    """The codes of a map's warnings, without those that a tree of CPUs alone always gives."""
    always = {"no-node-directory", "memory-unknown"}
    return [warning.code for warning in topology.warnings if warning.code not in always]


def numa_node(
    node_id: int,
    cpu_list: str | None,
    *,
    memory_bytes: int | None = 1 << 30,
    distances: dict[int, int] | None = None,
    near: tuple[int, ...] | None = None,
    hugepages: tuple[HugePages, ...] = (),
) -> NumaNode:
    """One NUMA node; None for unknown CPUs. A node with CPUs is its own nearest."""
    own = None if cpu_list is None else cpus(cpu_list)
    if near is None:
        near = (node_id,) if own else ()
    return NumaNode(
        id=node_id,
        kind=node_kind(own, memory_bytes),
        cpus=own,
        memory_bytes=memory_bytes,
        hugepages=hugepages,
        distances=distances,
        nearest_cpu_nodes=near,
    )


def machine(
    *nodes: NumaNode, online: str | None = None, warnings: tuple[TopologyWarning, ...] = ()
) -> Topology:
    """The map of a machine that is these NUMA nodes; `online` are all their CPUs unless said."""
    own = frozenset[int]().union(*(node.cpus or () for node in nodes))
    up = own if online is None else cpus(online)
    return Topology(
        online=up,
        present=up,
        isolated=None,
        cores=None,
        packages=None,
        dies=(),
        clusters=(),
        cpu_kinds=(),
        caches=(),
        nodes=nodes,
        pci_devices=(),
        gpus=(),
        links=(),
        warnings=warnings,
    )


TWO_NODES = machine(
    numa_node(0, "0-3", distances={0: 10, 1: 20}), numa_node(1, "4-7", distances={0: 20, 1: 10})
)
"""Eight CPUs in two NUMA nodes."""


def uid(number: int) -> str:
    """A pod's uid."""
    return f"{number:08x}-1111-4222-8333-444444444444"


def container_id(number: int) -> str:
    """A container's id."""
    return f"{number:064x}"


def container(number: int, *, running: bool = True, name: str | None = None) -> Container:
    """A container that has been created."""
    return Container(name=name or f"c{number}", id=container_id(number), running=running)


def pod(
    number: int,
    cpuset: str | None = None,
    *,
    containers: tuple[Container, ...] | None = None,
    qos: QosClass = QosClass.GUARANTEED,
    phase: str = "Running",
    annotations: dict[str, str] | None = None,
) -> Pod:
    """Pod shop/p<number> with one running container, assigned a CPU set if one is given."""
    said = dict(annotations or {})
    if cpuset is not None:
        said["scheduling.koordinator.sh/resource-status"] = f'{{"cpuset": "{cpuset}"}}'
    return Pod(
        namespace="shop",
        name=f"p{number}",
        uid=uid(number),
        phase=phase,
        started=f"2026-03-02T08:10:{number:02}Z",
        qos=qos,
        annotations=said,
        containers=(container(number),) if containers is None else containers,
    )


def pci_device(address: str, **facts: Any) -> PciDevice:
    """A PCI function of which only these facts are known."""
    unknown = PciDevice(
        address=PciAddress.parse(address),
        kind=DeviceKind.OTHER,
        class_code=None,
        vendor=None,
        device=None,
        driver=None,
        physical_function=None,
        interfaces=(),
        rdma=(),
        path=None,
        node=None,
        nodes=(),
        raw_numa_node=None,
        node_source=NodeSource.UNKNOWN,
    )
    return replace(unknown, **facts)
