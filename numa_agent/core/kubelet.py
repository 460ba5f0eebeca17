"""kubelet's settings and the state that its managers keep, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.grants import MemoryGrant


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSettings:
    """What of kubelet's configuration decides about CPUs and memory.

    https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ (defaults too).
    `reserved_cpus` is reservedSystemCPUs, None where it isn't set. `reserved` is systemReserved
    plus kubeReserved by resource (cpu in thousandths, the rest in bytes or units); where
    reservedSystemCPUs is set, its CPUs are the `cpu` here, since kubelet drops the two others.
    `eviction_memory` is the text of evictionHard's memory.available, "" where there is none: a
    quantity or a percentage of the machine's memory. `reserved_memory` is reservedMemory by node
    and kind (`memory`, `hugepages-2Mi`), in bytes.
    """

    cpu_manager_policy: str = "none"
    cpu_manager_options: Mapping[str, str] = field(default_factory=dict)
    memory_manager_policy: str = "None"
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_options: Mapping[str, str] = field(default_factory=dict)
    reserved_cpus: CpuSet | None = None
    reserved: Mapping[str, int] = field(default_factory=dict)
    eviction_memory: str = "100Mi"
    reserved_memory: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    cgroup_root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuManagerState:
    """cpu_manager_state: the CPU sets by pod uid and container, and the set that all others share.

    `pod_entries` are the CPUs of whole pods, those of their containers among them, where kubelet
    gives CPUs to pods (KEP-5526). Without the static policy there are no entries. A pod that
    ended stays until kubelet's next look, up to cpuManagerReconcilePeriod (10 s by default) later.

    kubelet up to 1.17 knew containers only: each of its entries stands under the container's id
    both as pod and as container, so that its CPUs count as held by a pod that nobody knows.
    """

    policy: str
    shared: CpuSet
    entries: Mapping[str, Mapping[str, CpuSet]]
    pod_entries: Mapping[str, CpuSet] = field(default_factory=dict)

    @property
    def by_pod(self) -> Mapping[str, CpuSet]:
        """All exclusive CPUs of each pod, by the uid that kubelet knows it by."""
        return {
            uid: self.pod_entries.get(uid, frozenset[int]()).union(
                *self.entries.get(uid, {}).values()
            )
            for uid in dict.fromkeys((*self.entries, *self.pod_entries))
        }

    @property
    def unknown_holders(self) -> tuple[str, ...]:
        """The ids of containers that hold CPUs and whose pods the state doesn't name, sorted."""
        return tuple(sorted(key for key, names in self.entries.items() if set(names) == {key}))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPool:
    """One kind of memory of one NUMA node in memory_manager_state, in bytes."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryManagerState:
    """memory_manager_state: pools by node and kind, and the blocks by pod uid and container.

    `pod_entries` are the blocks of whole pods where kubelet gives memory to pods (KEP-5526); those
    of their containers are parts of them and don't come on top. The share that each node has in a
    block of several is in `pools` alone, whose `reserved` counts every block once.
    """

    policy: str
    pools: Mapping[int, Mapping[str, MemoryPool]]
    entries: Mapping[str, Mapping[str, tuple[MemoryGrant, ...]]]
    pod_entries: Mapping[str, tuple[MemoryGrant, ...]] = field(default_factory=dict)
