"""A machine's description as values: what one file of specs/ says, defaults filled in."""

from dataclasses import dataclass
from functools import cached_property

from numa_agent.core.cpulist import CpuSet

from .devices import Template


@dataclass(frozen=True, kw_only=True)
class Cpus:
    """The CPUs of a machine; every package has the same number of cores, every core of threads."""

    model: str
    packages: int
    package_ids: tuple[int, ...]
    cores: int
    threads: int
    siblings_apart: bool
    dies: int
    cluster_cores: int | None
    l3_cores: int | None
    l3_bytes: int
    offline: CpuSet
    isolated: CpuSet
    possible: CpuSet

    @cached_property
    def present(self) -> CpuSet:
        """All CPUs that are plugged in, offline ones too."""
        return frozenset(range(self.packages * self.cores * self.threads))

    @cached_property
    def online(self) -> CpuSet:
        """The CPUs that run."""
        return self.present - self.offline

    def core(self, cpu: int) -> int:
        """The position of the CPU's core among all cores of the machine."""
        return cpu % (self.packages * self.cores) if self.siblings_apart else cpu // self.threads

    def beside(self, cpu: int, cores: int) -> CpuSet:
        """The online CPUs that share a block of `cores` neighbouring cores with the CPU."""
        block = self.core(cpu) // cores
        return frozenset(other for other in self.online if self.core(other) // cores == block)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A NUMA node; `hugepages` maps a page size in KiB to the number of pages."""

    id: int
    cpus: CpuSet
    memory: int
    hugepages: dict[int, int]
    near: int | None
    generic_initiator: bool

    @property
    def all_hugepages(self) -> dict[int, int]:
        """`hugepages` with the usual sizes, 2 MiB and 1 GiB, even where none is set up."""
        return dict(sorted(({2048: 0, 1048576: 0} | self.hugepages).items()))

    @property
    def hugepage_bytes(self) -> int:
        """The memory that huge pages take away from all other uses."""
        return sum(size * 1024 * count for size, count in self.hugepages.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A device at the end of a branch of the PCI tree, with `vfs` SR-IOV virtual functions.

    `numa_node` and `local_cpus` are what its own files say where that isn't its root's word.
    """

    template: Template
    numa_node: int | None = None
    local_cpus: CpuSet | None = None
    vfs: int = 0


@dataclass(frozen=True, slots=True)
class Bridge:
    """A PCI-PCI bridge and what is behind it."""

    template: Template
    children: "tuple[Item, ...]"


Item = Endpoint | Bridge


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A PCI root complex; `node` is what its devices' numa_node says, -1 included."""

    domain: int
    bus: int
    node: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvidia:
    """The NVIDIA driver: who is linked to whom, and what it answers differently from the model.

    `links` are (GPU, GPU, number of NVLinks); `switched` joins every link to an NVSwitch instead,
    and `clique` is the GPUs' part of a fabric that goes beyond the machine. `lost` GPUs fell off
    the bus. `lacks` names answers that this driver is too old for, `changes` replaces answers of
    single GPUs, by NVML index.
    """

    driver: str
    cuda: int
    init_error: str
    lacks: tuple[str, ...]
    switched: bool
    links: tuple[tuple[int, ...], ...]
    clique: int | None
    lost: tuple[int, ...]
    memory_nodes: dict[int, int]
    mig: dict[int, tuple[str | None, ...]]
    changes: dict[int, dict[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """Where pods' cgroups are: hierarchy version, kubelet's driver and the container runtime."""

    version: int
    driver: str
    runtime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubelet:
    """kubelet's policies; `reserved_memory` is per NUMA node with CPUs, in bytes."""

    cpu_manager: str
    memory_manager: str
    topology_manager: str
    scope: str
    reserved_cpus: CpuSet
    reserved_memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container: requests, and what kubelet granted (`exclusive` CPUs, memory nodes, devices).

    `gpus` are NVML indexes, `mig` pairs of a GPU and an instance index, `devices` PCI addresses.
    `cpuset` is what its cgroup already holds by somebody else's hand.
    """

    name: str
    cpu: str
    memory: int
    gpus: tuple[int, ...]
    mig: tuple[tuple[int, ...], ...]
    devices: tuple[str, ...]
    exclusive: CpuSet
    cpuset: CpuSet
    memory_nodes: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod bound to the node; `cpuset` is what its own cgroup already holds, on cgroup v2."""

    namespace: str
    name: str
    phase: str
    qos: str
    owner: str
    static: bool
    scheduler: str
    labels: dict[str, str]
    annotations: dict[str, str]
    cpuset: CpuSet
    containers: tuple[Container, ...]

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def running(self) -> bool:
        """Whether the pod has cgroups."""
        return self.phase == "Running"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Everything that a description says of one machine."""

    name: str
    about: str
    numbers: str
    node_name: str
    kernel: str
    arch: str
    cpus: Cpus
    nodes: tuple[Node, ...]
    possible_nodes: frozenset[int]
    distances: tuple[tuple[int, ...], ...]
    roots: tuple[Root, ...]
    nvidia: Nvidia
    cgroup: Cgroup
    kubelet: Kubelet
    pods: tuple[Pod, ...]

    @property
    def modern(self) -> bool:
        """Whether the kernel (5.3 and later) names CPU topology by core, die and package."""
        major, minor = self.kernel.split(".")[:2]
        return (int(major), int(minor)) >= (5, 3)

    @property
    def memory_nodes(self) -> frozenset[int]:
        """The ids of the nodes with memory, which is what cpuset.mems can hold."""
        return frozenset(node.id for node in self.nodes if node.memory)

    def node_cpus(self, node_id: int) -> CpuSet:
        """The online CPUs of a node."""
        return next(node.cpus for node in self.nodes if node.id == node_id) & self.cpus.online
