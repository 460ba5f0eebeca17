"""kubelet's part in a simulation: which units of extended resources a pod's containers get.

A GPU is chosen as the agent's own device plugin prefers it, whoever hands it out; of any other
resource the first free units are taken.
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from numa_agent.core.accounting import Sources
from numa_agent.core.accounting.held import held_devices
from numa_agent.core.gpu_plugin import Card, Closeness, Wish, closeness, preferred
from numa_agent.core.grants import ContainerGrant, DeviceGrant, Offer, PodResources
from numa_agent.core.node import Node, native
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Role
from numa_agent.core.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class _Units:
    """The units of one resource: the NUMA nodes that its plugin tells of each, by id."""

    nodes: Mapping[str, tuple[int, ...]]


class Grants:
    """What kubelet has given out and may still give."""

    def __init__(
        self, topology: Topology, node: Node, answer: PodResources | None, gpus: str | None
    ) -> None:
        """Take the map, kubelet's answer, and the resource that GPUs are handed out as."""
        offer = None if answer is None else answer.offer
        self.answer = answer or PodResources(pods=frozenset(), containers=(), offer=None)
        self._units = _units(offer)
        held = held_devices(Sources(topology=topology, node=node, granted=answer), [])
        self._free = {
            name: [unit for unit in sorted(units.nodes) if (name, unit) not in held]
            for name, units in self._units.items()
        }
        self._gpus = gpus
        # Words of a scheduler's own, which it counts and no plugin hands out.
        self._counted = frozenset(node.allocatable)
        self._cards = cards_of(topology, () if gpus is None else tuple(self._free.get(gpus, ())))
        self._cpus: tuple[int | None, Mapping[int, int] | None] = None, None
        self._close: Closeness = closeness(topology, self._cards)

    def lacking(self, pod: Pod) -> str | None:
        """What of extended resources there isn't enough of for a pod, None where there is."""
        for name, number in sorted(pod.demands.effective().items()):
            if native(name) or not number:
                continue
            if name not in self._units and name in self._counted:
                continue
            if name not in self._units:
                return f"the node offers no {name}{self._instead(name)}"
            free = len(self._free[name])
            if number > free:
                return f"{name}: it asks for {number}, {free or 'none'} of it is free"
        return None

    def _instead(self, name: str) -> str:
        alike = self._gpus is not None and name.rpartition("/")[2] == "gpu"
        if not alike:
            return ""
        return f"; its GPUs are offered as {self._gpus} (--gpus-as gives them another name)"

    def grant(
        self,
        pod: Pod,
        wanted_cpus: int | None = None,
        free_cpus: Mapping[int, int] | None = None,
    ) -> tuple[str, ...]:
        """Give a pod what it asks for, of which nothing is lacking; its units' ids.

        The plugin knows how many CPUs the pod wants beside them, and how many are free by node.
        What an init container had that ends goes to the next one first, as kubelet has it.
        """
        self._cpus = wanted_cpus, free_cpus
        found: list[ContainerGrant] = []
        again: dict[str, list[str]] = {}
        for demand in pod.demands.containers:
            devices: list[DeviceGrant] = []
            for name, number in sorted(demand.requests.items()):
                if native(name) or not number or name not in self._units:
                    continue
                first = again.get(name, [])[:number]
                ids = self._take(name, number, first)
                again[name] = [each for each in again.get(name, []) if each not in ids]
                if demand.role is Role.INIT:
                    again[name] += ids
                devices += self._devices(name, ids)
            if devices and demand.role is not Role.INIT:
                found.append(_grant(pod, demand.container, devices))
        self.answer = replace(
            self.answer,
            pods=self.answer.pods | {(pod.namespace, pod.name)},
            containers=(*self.answer.containers, *found),
        )
        return tuple(unit for each in found for device in each.devices for unit in device.ids)

    def _take(self, name: str, number: int, first: list[str]) -> list[str]:
        free = self._free[name]
        if name == self._gpus:
            wanted, on_nodes = self._cpus
            wish = Wish(
                available=free, must=first, size=number, wanted_cpus=wanted, free_cpus=on_nodes
            )
            ids = [*preferred(self._cards, self._close, wish)]
            ids += [each for each in free if each not in ids][: number - len(ids)]
        else:
            ids = [*first, *free][:number]
        self._free[name] = [each for each in free if each not in ids]
        return ids

    def _devices(self, name: str, ids: list[str]) -> Iterator[DeviceGrant]:
        nodes = self._units[name].nodes
        for each in sorted(ids):
            yield DeviceGrant(resource=name, ids=(each,), nodes=nodes[each])


def cards_of(topology: Topology, ids: tuple[str, ...]) -> tuple[Card, ...]:
    """The cards of these ids that the map knows, in its order, be they NVIDIA's or not."""
    found: list[Card] = []
    for index, gpu in enumerate(topology.gpus):
        uuid = None if gpu.nvml is None else gpu.nvml.uuid
        known = next((each for each in (uuid, str(gpu.device.address)) if each in ids), None)
        if known is not None:
            found.append(
                Card(
                    id=known,
                    index=index,
                    address=gpu.device.address,
                    minor=None,
                    node=gpu.device.node,
                    name=None,
                )
            )
    return tuple(found)


def offered_as(answer: PodResources, resource: str, name: str) -> PodResources:
    """kubelet's answer with a resource under another name, in what is given out as well."""

    def named(devices: tuple[DeviceGrant, ...]) -> tuple[DeviceGrant, ...]:
        return tuple(
            replace(each, resource=name) if each.resource == resource else each for each in devices
        )

    offer = answer.offer
    return replace(
        answer,
        offer=None if offer is None else replace(offer, devices=named(offer.devices)),
        containers=tuple(replace(each, devices=named(each.devices)) for each in answer.containers),
    )


def asking_for(pod: Pod, resource: str, name: str) -> Pod:
    """The pod had it asked for a resource under another name."""

    containers = tuple(
        replace(
            each,
            requests=renamed(each.requests, resource, name),
            limits=renamed(each.limits, resource, name),
        )
        for each in pod.demands.containers
    )
    return replace(pod, demands=replace(pod.demands, containers=containers))


def renamed(amounts: Mapping[str, int], resource: str, name: str) -> Mapping[str, int]:
    """The amounts with a resource under another name."""
    return {name if each == resource else each: count for each, count in amounts.items()}


def _units(offer: Offer | None) -> dict[str, _Units]:
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for device in () if offer is None else offer.devices:
        for unit in device.ids:
            found.setdefault(device.resource, {})[unit] = device.nodes
    return {name: _Units(nodes=units) for name, units in found.items()}


def _grant(pod: Pod, container: str, devices: list[DeviceGrant]) -> ContainerGrant:
    return ContainerGrant(
        namespace=pod.namespace,
        pod=pod.name,
        container=container,
        cpus=frozenset(),
        devices=tuple(devices),
        memory=(),
        dynamic=(),
    )
