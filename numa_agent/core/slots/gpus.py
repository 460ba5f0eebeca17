"""How many GPUs each NUMA node has and has free, by the resource that they are handed out as."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.grants import Offer
from numa_agent.core.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRoom:
    """GPUs by the id of their NUMA node: `free` ones, that no pod holds, and `ever` all of them.

    `resource` is the name that they are handed out as, None where nobody offers any by node.
    """

    resource: str | None = None
    free: Mapping[int, int] = field(default_factory=dict)
    ever: Mapping[int, int] = field(default_factory=dict)


def gpu_resource(topology: Topology, offer: Offer | None) -> str | None:
    """The extended resource that the machine's GPUs are offered as, None where none is.

    That is the one all of whose units are whole GPUs of the map; where the map knows the ids of
    none, one by the name of `gpu`. Of several it is the one with the most units, then by name.
    """
    units: defaultdict[str, set[str]] = defaultdict(set)
    for device in () if offer is None else offer.devices:
        units[device.resource].update(device.ids)
    known = frozenset(gpu_ids(topology))
    whole = {name for name, ids in units.items() if ids and ids <= known}
    named = {name for name in units if name.rpartition("/")[2] == "gpu"}
    return min(whole or named, key=lambda name: (-len(units[name]), name), default=None)


def gpu_ids(topology: Topology) -> Iterator[str]:
    """The ids that device plugins have for whole GPUs of the map: UUIDs and PCI addresses."""
    for gpu in topology.gpus:
        yield str(gpu.device.address)
        if gpu.nvml is not None and gpu.nvml.uuid is not None and not gpu.nvml.mig:
            yield gpu.nvml.uuid


def gpu_room(resource: str | None, accounts: Sequence[NodeAccount]) -> GpuRoom:
    """The GPUs of each node by the accounts, which tell them where the place of all is known."""
    found = {
        each.node.id: each.resources[resource]
        for each in accounts
        if resource is not None and resource in each.resources
    }
    return GpuRoom(
        resource=resource if found else None,
        free={node: amount.available for node, amount in found.items()},
        ever={node: amount.allocatable for node, amount in found.items()},
    )
