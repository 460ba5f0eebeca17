"""Which devices a container holds, and where they are.

kubelet says who holds what (podresources); where it can't be asked, the device files that a
container's processes hold open say a part of it. Our map says where a device is, and a device
plugin where the map doesn't know the id.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from numa_agent.core.devices import NodeSource, PciDevice
from numa_agent.core.gpu_memory import GpuMemory
from numa_agent.core.grants import ContainerGrant, DeviceGrant, DynamicGrant, PodResources
from numa_agent.core.placeless import DRIVERS, placeless
from numa_agent.core.pods import Pod
from numa_agent.core.topology import Topology
from numa_agent.core.untold import wanted
from numa_agent.core.verdict import HeldDevice

BY_KUBELET = "podresources"
BY_FILES = "open-files"

_PLUGIN = "plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A container's devices; `unseen` says why there may be more, None where there aren't.

    `asked` says whether its spec asks for some that have a place, `unlisted` that kubelet answers
    and doesn't tell of all of those.
    """

    devices: tuple[HeldDevice, ...]
    unseen: str | None
    asked: bool = False
    unlisted: bool = False


class Holders:
    """Who holds what on one machine at one time; `why` says why kubelet's answer isn't there."""

    def __init__(self, topology: Topology, granted: PodResources | None, why: str) -> None:
        """Take the map and kubelet's answer, None where it didn't answer."""
        self._granted = granted
        self._why = why
        self._known = dict(_known(topology))
        self._by_file = dict(_by_file(topology))
        self._nearest = {node.id: node.nearest_cpu_nodes for node in topology.nodes}
        self._only = _only_node(topology)
        self._memory = GpuMemory(topology.gpus)

    def of(self, pod: Pod, container: str) -> Held:
        """What kubelet says that a container holds."""
        asked = wanted(pod, container)
        grants = self._grants(pod, container)
        if isinstance(grants, str):
            return Held(devices=(), unseen=grants, asked=bool(asked))
        # Two plugins may have a `0` each.
        found = dict.fromkeys(each for grant in grants for each in self._of_grant(grant))
        untold = asked.untold(grants)
        why = f"kubelet doesn't tell what it gave of {', '.join(untold)}" if untold else None
        return Held(devices=tuple(found), unseen=why, asked=bool(asked), unlisted=bool(untold))

    def _grants(self, pod: Pod, container: str) -> list[ContainerGrant] | str:
        """Kubelet's entries for a container, or why there may be some that aren't told."""
        if self._granted is None:
            return self._why
        if self._granted.problems:
            return f"kubelet's answer isn't whole: {self._granted.problems[0]}"
        if (pod.namespace, pod.name) not in self._granted.pods:
            return "kubelet doesn't name the pod yet"
        who = (pod.namespace, pod.name, container)
        return [
            each
            for each in self._granted.containers
            if (each.namespace, each.pod, each.container) == who
        ]

    def by_files(self, names: Collection[str], held: Held) -> Held:
        """The same with the devices whose files below /dev (`nvidia3`) are open."""
        found = {each.id: each for each in held.devices}
        for name in sorted(names):
            device = self._by_file.get(name)
            if device is not None:
                found.setdefault(device.id, device)
        return replace(held, devices=tuple(found.values()))

    def _of_grant(self, grant: ContainerGrant) -> Iterator[HeldDevice]:
        for devices in grant.devices:
            for unit in devices.ids:
                device = self._unit(devices, unit)
                if device is not None:
                    yield device
        for claimed in grant.dynamic:
            yield from self._claimed(claimed)

    def _unit(self, grant: DeviceGrant, unit: str) -> HeldDevice | None:
        # Plugins that share a device number its parts: GPU-...::3.
        known = self._known.get(unit, self._known.get(unit.partition("::")[0]))
        if known is not None:
            return replace(known, resource=grant.resource)
        if not grant.nodes and placeless(grant.resource):
            return None
        nodes, source = self._place(grant.nodes)
        return HeldDevice(
            id=unit,
            kind=grant.resource,
            nodes=nodes,
            node_source=source,
            seen_by=BY_KUBELET,
            resource=grant.resource,
            memory_node=self._memory.of(unit, nodes),
            memory_may_be=self._memory.may_be(unit, nodes),
        )

    def _place(self, said: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
        """Where a device is that the map doesn't know, by what its plugin says; and who tells."""
        nodes = self._with_cpus(said)
        if nodes:
            return nodes, _PLUGIN
        if not said and self._only is not None:
            return (self._only,), NodeSource.SINGLE_NODE.value
        return (), NodeSource.UNKNOWN.value

    def _with_cpus(self, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """The nodes with CPUs that a plugin's are or are nearest to, as the map has its devices.

        None where one of them isn't known.
        """
        places = [self._nearest.get(node, ()) for node in nodes]
        return tuple(sorted({near for place in places for near in place})) if all(places) else ()

    def _claimed(self, claimed: DynamicGrant) -> Iterator[HeldDevice]:
        # A CDI device is `vendor/class=name`:
        # https://github.com/cncf-tags/container-device-interface
        names = [name.partition("=")[2] for name in claimed.cdi_devices]
        known = [self._known[name] for name in (*names, claimed.device) if name in self._known]
        if known:
            yield from known
        elif claimed.driver not in DRIVERS:
            nodes, source = self._place(())
            yield HeldDevice(
                id=claimed.device,
                kind=claimed.driver,
                nodes=nodes,
                node_source=source,
                seen_by=BY_KUBELET,
                memory_node=self._memory.of(claimed.device, nodes),
                memory_may_be=self._memory.may_be(claimed.device, nodes),
            )


def _only_node(topology: Topology) -> int | None:
    """The node that all online CPUs are in, None where there are several or it isn't known."""
    found = [node for node in topology.nodes if node.cpus]
    return found[0].id if len(found) == 1 and found[0].cpus == topology.online else None


def _known(topology: Topology) -> Iterator[tuple[str, HeldDevice]]:
    """Our map's devices by the ids that plugins use: PCI addresses, GPU and MIG UUIDs."""
    memory = {gpu.device.address: gpu.memory_node for gpu in topology.gpus}
    for device in topology.pci_devices:
        held = _held(device, memory.get(device.address))
        yield held.id, held
    for gpu in topology.gpus:
        nvml = gpu.nvml
        uuids = [] if nvml is None else [nvml.uuid, *(each.uuid for each in nvml.mig)]
        for uuid in uuids:
            if uuid is not None:
                yield uuid, replace(_held(gpu.device, gpu.memory_node), id=uuid)


def _by_file(topology: Topology) -> Iterator[tuple[str, HeldDevice]]:
    """Our map's devices by the names of their files below /dev."""
    for gpu in topology.gpus:
        if gpu.nvml is not None and gpu.nvml.minor is not None:
            held = _held(gpu.device, gpu.memory_node)
            name = gpu.nvml.uuid or held.id
            yield f"nvidia{gpu.nvml.minor}", replace(held, id=name, seen_by=BY_FILES)


def _held(device: PciDevice, memory_node: int | None) -> HeldDevice:
    return HeldDevice(
        id=str(device.address),
        kind="device" if device.kind is None else device.kind.value,
        nodes=(device.node,) if device.node is not None else device.nodes,
        node_source=device.node_source.value,
        seen_by=BY_KUBELET,
        memory_node=memory_node,
    )
