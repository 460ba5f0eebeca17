"""What an account is made from, and what it says."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.grants import PodResources
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.topology import NumaNode, Topology

_VERSION = re.compile(r"v?(\d{1,3})\.(\d{1,3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of one resource a node has: CPUs and devices as a count, memory in bytes."""

    capacity: int
    allocatable: int
    available: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAccount:
    """What one NUMA node offers, by resource name."""

    node: NumaNode
    resources: dict[str, Amount]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that says what is there, kept back or held; None where a source isn't there.

    `assigned` are the CPU sets in force by pod uid.
    """

    topology: Topology
    node: Node
    settings: KubeletSettings | None = None
    pods: Sequence[Pod] = ()
    granted: PodResources | None = None
    cpu_state: CpuManagerState | None = None
    memory_state: MemoryManagerState | None = None
    assigned: Mapping[str, CpuSet] = field(default_factory=dict)

    @property
    def finished(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of the pods that have ended and that podresources may still list.

        From Kubernetes 1.34 on it lists active pods only, so that a name there is that of a newer
        pod (https://github.com/kubernetes/kubernetes/pull/132028).
        """
        if _lists_active_pods(self.node.kubelet_version):
            return frozenset()
        return frozenset((pod.namespace, pod.name) for pod in self.pods if pod.finished)

    @property
    def ended_uids(self) -> frozenset[str]:
        """The uids, as kubelet knows them, of the pods that have ended."""
        return frozenset(pod.cgroup_uid for pod in self.pods if pod.finished)

    @property
    def living_uids(self) -> frozenset[str]:
        """The uids, as kubelet knows them, of the pods that haven't ended."""
        return frozenset(pod.cgroup_uid for pod in self.pods if not pod.finished)


def _lists_active_pods(kubelet_version: str | None) -> bool:
    found = _VERSION.match(kubelet_version or "")
    return found is not None and (int(found[1]), int(found[2])) >= (1, 34)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The nodes' accounts, the CPUs kept for the system, and where sources disagree or fail."""

    nodes: tuple[NodeAccount, ...]
    reserved: CpuSet
    conditions: tuple[Condition, ...]
