"""What accounts are made from, in few words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numa_agent.core.accounting import Accounts, Sources, account
from numa_agent.core.grants import ContainerGrant, DeviceGrant, MemoryGrant, Offer, PodResources
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.topology import Topology
from tests.machine_tree import cpus, machine, numa_node, uid

GIB = 1 << 30
NODE = Node(name="n1", uid="u1")
GPU = "nvidia.com/gpu"


def two_nodes(memory: int = 8 * GIB) -> Topology:
    """Two nodes of four CPUs."""
    return machine(
        numa_node(0, "0-3", memory_bytes=memory), numa_node(1, "4-7", memory_bytes=memory)
    )


def with_cores(topology: Topology, *cores: str) -> Topology:
    """The same machine with these cores."""
    return replace(topology, cores=tuple(cpus(core) for core in cores))


def grant(
    number: int,
    held: str = "",
    *,
    devices: Sequence[DeviceGrant] = (),
    memory: Sequence[MemoryGrant] = (),
) -> ContainerGrant:
    """What container c<number> of pod shop/p<number> holds."""
    return ContainerGrant(
        namespace="shop",
        pod=f"p{number}",
        container=f"c{number}",
        cpus=cpus(held),
        devices=tuple(devices),
        memory=tuple(memory),
        dynamic=(),
    )


def gpus(**nodes: int | None) -> tuple[DeviceGrant, ...]:
    """GPUs by id, each on a node or on an unknown one."""
    return tuple(
        DeviceGrant(resource=GPU, ids=(unit,), nodes=() if node is None else (node,))
        for unit, node in nodes.items()
    )


def block(size: int, *nodes: int, kind: str = "memory") -> MemoryGrant:
    """A block of memory on these nodes."""
    return MemoryGrant(kind=kind, size=size, nodes=nodes)


def granted(
    *containers: ContainerGrant,
    offered: str = "",
    devices: Sequence[DeviceGrant] = (),
    memory: Sequence[MemoryGrant] = (),
) -> PodResources:
    """podresources' answers: these containers, out of this offer."""
    return PodResources(
        pods=frozenset((each.namespace, each.pod) for each in containers),
        containers=containers,
        offer=Offer(cpus=cpus(offered), devices=tuple(devices), memory=tuple(memory)),
    )


def static_state(shared: str = "", **entries: str) -> CpuManagerState:
    """The static policy's state: `p1="2-3"` is container c1 of pod p1."""
    return CpuManagerState(
        policy="static",
        shared=cpus(shared),
        entries={uid(int(pod[1:])): {f"c{pod[1:]}": cpus(held)} for pod, held in entries.items()},
    )


def accounts(
    topology: Topology, *pods: Pod, assigned: Mapping[int, str] | None = None, **more: object
) -> Accounts:
    """The accounts of a machine with these pods; assigned CPU sets by the pod's number."""
    sets = {uid(number): cpus(held) for number, held in (assigned or {}).items()}
    sources = Sources(topology=topology, node=NODE, pods=pods, assigned=sets)
    return account(replace(sources, **more))  # type: ignore[arg-type]


def amounts(found: Accounts, resource: str) -> list[tuple[int, int, int]]:
    """Capacity, allocatable and available of one resource, node by node."""
    each = [node.resources[resource] for node in found.nodes]
    return [(amount.capacity, amount.allocatable, amount.available) for amount in each]


def codes(found: Accounts) -> list[str]:
    """The codes of what the sources disagree about."""
    return [condition.code for condition in found.conditions]
