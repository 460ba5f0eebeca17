"""What kubelet gave to each container, and what it may give out at all.

The values of the podresources API (v1):
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
"""

from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGrant:
    """Devices of one resource; `nodes` are the NUMA nodes that they are on, empty if unknown."""

    resource: str
    ids: tuple[str, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrant:
    """Bytes of `memory` or of a hugepage size (`hugepages-2Mi`), on one or several NUMA nodes."""

    kind: str
    size: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicGrant:
    """A device that dynamic resource allocation gave, with the names of its CDI devices."""

    claim_namespace: str
    claim_name: str
    driver: str
    pool: str
    device: str
    cdi_devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGrant:
    """What one container holds alone; `cpus` are its exclusive CPUs, none for a shared one."""

    namespace: str
    pod: str
    container: str
    cpus: CpuSet
    devices: tuple[DeviceGrant, ...]
    memory: tuple[MemoryGrant, ...]
    dynamic: tuple[DynamicGrant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What kubelet may give out: empty `cpus` or `memory` where its policy gives none out."""

    cpus: CpuSet
    devices: tuple[DeviceGrant, ...]
    memory: tuple[MemoryGrant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """The answers of List and GetAllocatableResources.

    `pods` are the (namespace, name) pairs of every pod listed, those that hold nothing too.
    `offer` is None where kubelet doesn't tell it. `problems` name what can't be used.
    """

    pods: frozenset[tuple[str, str]]
    containers: tuple[ContainerGrant, ...]
    offer: Offer | None
    problems: tuple[str, ...] = ()
