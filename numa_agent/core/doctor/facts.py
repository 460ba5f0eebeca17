"""What the doctor looks at: all that a pass reads, and some settings of the node beside it."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.cgroups import Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.doctor.findings import Told, Unseen
from numa_agent.core.doctor.rights import Right
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState
from numa_agent.core.node import Node
from numa_agent.core.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimm:
    """One memory module by firmware: `kind` is DDR5 or the like.

    The speed it runs at is None where that isn't told.
    """

    locator: str
    kind: str
    size_bytes: int
    speed_mts: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """Settings of the kernel and of what tunes it.

    `command_line` are its words. `governors` are the CPUs by cpufreq's governor and `cpu_driver`
    is cpufreq's. `services` says of a daemon that runs where that was seen. `normal_memory` are
    the nodes whose memory the kernel takes for itself too. `dimms` are the slots that are filled.
    """

    command_line: Told[tuple[str, ...]]
    numa_balancing: Told[int]
    zone_reclaim: Told[int]
    huge_pages: Told[str]
    huge_page_defrag: Told[str]
    swap_bytes: Told[int]
    nohz_full: Told[CpuSet]
    governors: Told[Mapping[str, CpuSet]]
    cpu_driver: Told[str]
    services: Told[Mapping[str, str]]
    tuned_profile: Told[str]
    normal_memory: Told[CpuSet]
    dimms: Told[tuple[Dimm, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubepods:
    """One kubelet's own cgroup.

    `handed_on` is whether its pods have the cpuset controller, `writable` whether this process may
    write its files; each None where that isn't told.
    """

    path: str
    populated: bool | None
    handed_on: bool | None
    writable: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupFacts:
    """The cpuset hierarchy; `isolated` are the CPUs that cpuset partitions took from the rest."""

    version: Told[Version]
    read_only: Told[bool]
    kubepods: Told[tuple[Kubepods, ...]]
    isolated: Told[CpuSet]


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletFacts:
    """kubelet's settings as its files say, its managers' state, and members that aren't read."""

    settings: Told[KubeletSettings]
    problems: tuple[str, ...]
    cpu_state: Told[CpuManagerState]
    memory_state: Told[MemoryManagerState]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedKind:
    """A kind that is published, and whether the API server serves it in our version."""

    group_version: str
    plural: str
    served: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalSeen:
    """Another publisher of an object of ours, in words."""

    name: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """The API server's side; `unreachable` says why a server that is known doesn't answer.

    `clock_ahead` are the seconds that this machine's clock is ahead of the server's.
    """

    unreachable: str | None
    user: Told[str]
    rights: Told[Mapping[Right, bool]]
    kinds: Told[tuple[ServedKind, ...]]
    clock_ahead: Told[float]
    node: Told[Node]
    rivals: Told[tuple[RivalSeen, ...]]

    @property
    def answers(self) -> bool:
        """Whether the server answered anything."""
        told = (self.user, self.rights, self.kinds, self.clock_ahead)
        return any(each.value is not None for each in told)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """The agent itself: whether one runs here, and what a pass of it would be short of."""

    running: Told[bool]
    failures: Told[tuple[str, ...]]
    conditions: Told[tuple[Condition, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything that checks look at.

    `scheduler` is whose language the configuration names, `own_policy` the Topology Manager's
    policy that it has told in place of kubelet's, None where it is kubelet's.
    """

    scheduler: str
    own_policy: str | None
    topology: Topology
    nvml_asked: bool
    kernel: KernelFacts
    cgroups: CgroupFacts
    kubelet: KubeletFacts
    boot_id: Told[str]
    cluster: ClusterFacts
    agent: AgentFacts

    @property
    def several_nodes(self) -> bool:
        """Whether it makes a difference where something runs."""
        return len(self.topology.cpu_nodes) > 1

    @property
    def mapless(self) -> tuple[Unseen, ...]:
        """That no NUMA node with CPUs is known; nothing where one is."""
        why = "none is known"
        nodes = self.topology.cpu_nodes
        return () if nodes else (Unseen(source="NUMA nodes with CPUs", why=why),)

    @property
    def deviceless(self) -> tuple[Unseen, ...]:
        """That no PCI device is known; nothing where one is."""
        devices = self.topology.pci_devices
        return () if devices else (Unseen(source="PCI devices", why="none is known"),)
