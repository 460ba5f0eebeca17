"""How Koordinator's scheduler and manager read what a node tells them, rule by rule.

Each rule cites the file of https://github.com/koordinator-sh/koordinator that it is in. A reader
that would end its process raises Panic.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numa_agent.core import cpulist, quantity
from numa_agent.core.cpulist import CpuSet

Object = Mapping[str, Any]

CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
POD_CPU_ALLOCS = "node.koordinator.sh/pod-cpu-allocs"
CPU_MANAGER_POLICY = "kubelet.koordinator.sh/cpu-manager-policy"
RESERVATION = "node.koordinator.sh/reservation"
SYSTEM_QOS = "node.koordinator.sh/system-qos-resource"
POOLS = ("node.koordinator.sh/cpu-shared-pools", "node.koordinator.sh/be-cpu-shared-pools")
BASIC_INFO = "node.koordinator.sh/cpu-basic-info"
AMPLIFICATION = "node.koordinator.sh/resource-amplification-ratio"


class PanicError(Exception):
    """The reader's process ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """One CPU in the scheduler's tree, whose keys hold the socket in their upper bits."""

    id: int
    core: int
    node: int
    socket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the scheduler keeps of a NodeResourceTopology."""

    cpus: tuple[Sibling, ...]
    reserved: CpuSet
    full_cores: bool
    policy: str
    zones: Mapping[int, Mapping[str, Fraction]]

    def can_bind(self) -> bool:
        """Whether a pod that asks for CPUs of its own fits at all ("invalid CPU Topology").

        IsValid in pkg/scheduler/plugins/nodenumaresource/cpu_topology.go.
        """
        return bool(self.cpus)

    def free(self, zone: int) -> Fraction:
        """The CPU that the scheduler takes a zone to have: what is allocatable less the reserved.

        pkg/scheduler/plugins/nodenumaresource/resource_manager.go. It never reads `available`.
        """
        own = {cpu.id for cpu in self.cpus if cpu.node & 0xFFFF == zone}
        return self.zones[zone]["cpu"] - len(own & self.reserved)


def through_v1alpha1(live: Object) -> Object:
    """The object as v1alpha1 gives it: without the top-level attributes that it doesn't know.

    The versions are converted by name only (config/crd/bases/
    topology.node.k8s.io_noderesourcetopologies.yaml); v1alpha1 requires `topologyPolicies` and
    `zones`.
    """
    if "topologyPolicies" not in live or "zones" not in live:
        raise ValueError("v1alpha1 requires topologyPolicies and zones")
    return {key: value for key, value in live.items() if key != "attributes"}


def scheduler_reads(live: Object) -> Options:
    """NewTopologyOptions in pkg/scheduler/plugins/nodenumaresource/topology_options.go."""
    nrt = through_v1alpha1(live)
    said = nrt["metadata"].get("annotations", {})
    policy = _unmarshal(said.get(CPU_MANAGER_POLICY), {})
    reserved = _allocated(_unmarshal(said.get(POD_CPU_ALLOCS), []) or [])
    reserved |= _list(policy.get("reservedCPUs", ""))
    reserved |= _list(_unmarshal(said.get(RESERVATION), {}).get("reservedCPUs", ""))
    system = _unmarshal(said.get(SYSTEM_QOS), {}) or {}
    if system.get("cpusetExclusive", True):
        reserved |= _list(system.get("cpuset", ""))
    return Options(
        cpus=_tree(said.get(CPU_TOPOLOGY)),
        reserved=reserved,
        full_cores=policy.get("policy") == "static"
        and policy.get("options", {}).get("full-pcpus-only") == "true",
        policy=_policy(nrt["topologyPolicies"]),
        zones=_zones(nrt["zones"]),
    )


def _tree(text: str | None) -> tuple[Sibling, ...]:
    """GetCPUTopology in apis/extension/numa_aware.go, then convertCPUTopology.

    The error is logged and its nil object then used.
    """
    if text is None:
        return ()
    try:
        detail = json.loads(text).get("detail") or []
        numbers = [tuple(_int32(cpu.get(key, 0)) for key in _CPU) for cpu in detail]
    except (ValueError, AttributeError) as error:
        raise PanicError(f"{CPU_TOPOLOGY}: {error}") from error
    return tuple(
        Sibling(id=cpu, core=socket << 16 | core, node=socket << 16 | node, socket=socket)
        for cpu, core, socket, node in numbers
    )


_CPU = ("id", "core", "socket", "node")


def _int32(value: object) -> int:
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise ValueError(f"{value!r} isn't an int32")
    return value


def _unmarshal(text: str | None, empty: Any) -> Any:
    return empty if text is None else json.loads(text)


def _list(text: str) -> CpuSet:
    return cpulist.parse(text)


def _allocated(entries: list[dict[str, Any]]) -> CpuSet:
    """getPodAllocsCPUSet: only what kubelet manages, with a uid and a set."""
    return frozenset[int]().union(
        *(
            _list(entry.get("cpuset", ""))
            for entry in entries
            if entry.get("managedByKubelet") and entry.get("uid")
        )
    )


def _policy(policies: list[str]) -> str:
    """convertToNUMATopologyPolicy: the first of the three words that it knows."""
    known = {
        "BestEffort": "BestEffort",
        "Restricted": "Restricted",
        "SingleNUMANodePodLevel": "SingleNUMANode",
    }
    return next((known[policy] for policy in policies if policy in known), "")


def _zones(zones: list[dict[str, Any]]) -> dict[int, dict[str, Fraction]]:
    """extractNUMANodeResources: type Node, an id after `node-`, each resource's allocatable."""
    found: dict[int, dict[str, Fraction]] = {}
    for zone in zones:
        parts = zone["name"].split("node-")
        if zone["type"] == "Node" and len(parts) == 2 and parts[1].isdigit():
            found[int(parts[1])] = {
                entry["name"]: quantity.parse(str(entry["allocatable"]))
                for entry in zone.get("resources", [])
            }
    return found


def manager_zones(live: Object) -> list[str]:
    """The zones by the id that koord-manager takes them for: their place in the list.

    pkg/slo-controller/noderesource/plugins/batchresource/util.go
    (getPodNUMARequestAndUsage) counts to len(zones) and asks nobody's type.
    """
    return [zone["name"] for zone in live["zones"]]


def node_resources(device: Object) -> Mapping[str, Fraction]:
    """What koord-manager sets on the Node for its healthy GPUs.

    pkg/slo-controller/noderesource/plugins/gpudeviceresource/plugin.go.
    """
    total: Counter[str] = Counter()
    for entry in device["spec"].get("devices", []):
        if entry.get("type") == "gpu" and entry["health"]:
            for name, amount in entry.get("resources", {}).items():
                total[name] += quantity.whole(amount)
    return {name: Fraction(amount) for name, amount in total.items()}


def device_totals(device: Object) -> Mapping[tuple[str, int], Mapping[str, str]]:
    """What the scheduler may give out of each device; of one that isn't healthy, nothing.

    buildDeviceResources in pkg/scheduler/plugins/deviceshare/device_cache.go follows the pointer
    `minor` without a look.
    """
    totals: dict[tuple[str, int], Mapping[str, str]] = {}
    for entry in device["spec"].get("devices", []):
        if entry.get("minor") is None:
            raise PanicError(f"device {entry.get('id')} has no minor")
        healthy = entry.get("health", False)
        totals[entry["type"], entry["minor"]] = entry.get("resources", {}) if healthy else {}
    return totals


def gpu_scopes(device: Object) -> Mapping[tuple[int, str], tuple[int, ...]] | None:
    """The GPUs by node and PCIe root, None where one of them has no topology.

    GetGPUTopologyScope in pkg/scheduler/plugins/deviceshare/allocator_gpu_helper.go.
    """
    scopes: dict[tuple[int, str], tuple[int, ...]] = {}
    for entry in device["spec"].get("devices", []):
        if entry["type"] != "gpu":
            continue
        if entry.get("topology") is None:
            return None
        place = entry["topology"]["nodeID"], entry["topology"]["pcieID"]
        scopes[place] = (*scopes.get(place, ()), entry["minor"])
    return scopes


def devices_of_nodes(device: Object) -> Mapping[int, tuple[tuple[str, int], ...]]:
    """The devices that a NUMA node's hint counts; node -1 is none.

    newNUMATopology in pkg/scheduler/plugins/deviceshare/numa_topology.go.
    """
    found: dict[int, tuple[tuple[str, int], ...]] = {}
    for entry in device["spec"].get("devices", []):
        node = (entry.get("topology") or {}).get("nodeID", -1)
        if node != -1:
            found[node] = (*found.get(node, ()), (entry["type"], entry["minor"]))
    return found


Rule = Callable[[Object], Iterator[str]]


def broken(rules: tuple[Rule, ...], live: Object) -> list[str]:
    """The names of the rules that an object breaks."""
    return [rule.__name__ for rule in rules if next(rule(live), None) is not None]


def every_annotation_is_there(nrt: Object) -> Iterator[str]:
    """calcNodeTopo in pkg/koordlet/statesinformer/impl/states_noderesourcetopology.go sets all."""
    keys = {CPU_TOPOLOGY, POD_CPU_ALLOCS, CPU_MANAGER_POLICY, RESERVATION, SYSTEM_QOS, BASIC_INFO}
    yield from sorted({*keys, *POOLS} - nrt["metadata"]["annotations"].keys())


def the_scheduler_survives(nrt: Object) -> Iterator[str]:
    """topology_options.go again: a cpu-topology that isn't one ends the scheduler."""
    try:
        scheduler_reads(nrt)
    except (PanicError, ValueError) as error:
        yield str(error)


def cpus_can_be_bound(nrt: Object) -> Iterator[str]:
    """pkg/scheduler/plugins/nodenumaresource/plugin.go: no topology, no pod with own CPUs."""
    if not _tree(nrt["metadata"]["annotations"].get(CPU_TOPOLOGY)):
        yield "invalid CPU Topology"


def cores_are_whole(nrt: Object) -> Iterator[str]:
    """AddCPUInfo in cpu_topology.go: a core is one socket's and one node's."""
    places: dict[int, set[tuple[int, int]]] = {}
    for cpu in json.loads(nrt["metadata"]["annotations"][CPU_TOPOLOGY])["detail"]:
        places.setdefault(cpu["core"], set()).add((cpu["socket"], cpu["node"]))
    yield from (f"core {core}" for core, found in sorted(places.items()) if len(found) > 1)


def zones_are_the_cpus_nodes(nrt: Object) -> Iterator[str]:
    """Zones by extractNUMANodeResources and nodes by cpu-topology are the same."""
    detail = json.loads(nrt["metadata"]["annotations"][CPU_TOPOLOGY])["detail"]
    if _zones(nrt["zones"]).keys() != {cpu["node"] for cpu in detail}:
        yield "missing NUMA resources"


def zones_are_sorted_by_name(nrt: Object) -> Iterator[str]:
    """ZoneResourceListToZoneList in pkg/util/resource.go sorts them as text."""
    names = [zone["name"] for zone in nrt["zones"]]
    if names != sorted(set(names)):
        yield ", ".join(names)


def a_zone_holds_all_its_cpus(nrt: Object) -> Iterator[str]:
    """The scheduler takes the reserved off itself: a zone's allocatable is all of its CPUs."""
    detail = json.loads(nrt["metadata"]["annotations"][CPU_TOPOLOGY])["detail"]
    counts = Counter(cpu["node"] for cpu in detail)
    for node, resources in _zones(nrt["zones"]).items():
        if resources.get("cpu") != counts[node]:
            yield f"node-{node}"


def amounts_are_equal(nrt: Object) -> Iterator[str]:
    """MergeZoneList in pkg/util/resource.go: one amount for all three."""
    for zone in nrt["zones"]:
        for entry in zone["resources"]:
            if not entry["capacity"] == entry["allocatable"] == entry["available"]:
                yield f"{zone['name']} {entry['name']}"


def one_policy_is_told(nrt: Object) -> Iterator[str]:
    """getTopologyPolicy in states_noderesourcetopology.go."""
    if len(nrt["topologyPolicies"]) != 1:
        yield str(nrt["topologyPolicies"])


def zones_hold_no_gpu(nrt: Object) -> Iterator[str]:
    """koordlet compares `koordinator.sh/gpu` and never writes it (isEqualNRTZones)."""
    for zone in nrt["zones"]:
        yield from (e["name"] for e in zone["resources"] if e["name"] == "koordinator.sh/gpu")


def nothing_is_amplified(nrt: Object) -> Iterator[str]:
    """The annotation says that zones are amplified already (amplifyNUMANodeResources)."""
    if AMPLIFICATION in nrt["metadata"]["annotations"]:
        yield AMPLIFICATION


def pools_are_lists_of_places(nrt: Object) -> Iterator[str]:
    """CPUSharedPool in apis/extension/numa_aware.go, sorted as covertCPUsToSharePool sorts."""
    for key in POOLS:
        pools = json.loads(nrt["metadata"]["annotations"][key])
        places = [(pool["socket"], pool["node"]) for pool in pools]
        if places != sorted(set(places)) or any(type(n) is not int for p in places for n in p):
            yield key


NRT_RULES: tuple[Rule, ...] = (
    every_annotation_is_there,
    the_scheduler_survives,
    cpus_can_be_bound,
    cores_are_whole,
    zones_are_the_cpus_nodes,
    zones_are_sorted_by_name,
    a_zone_holds_all_its_cpus,
    amounts_are_equal,
    one_policy_is_told,
    zones_hold_no_gpu,
    nothing_is_amplified,
    pools_are_lists_of_places,
)


def every_device_has_a_minor(device: Object) -> Iterator[str]:
    """device_cache.go: the scheduler ends at the first one without."""
    try:
        device_totals(device)
    except PanicError as error:
        yield str(error)


def minors_are_different(device: Object) -> Iterator[str]:
    """device_cache.go keeps devices by type and minor: of two, one is lost."""
    counts = Counter((e["type"], e.get("minor")) for e in device["spec"]["devices"])
    yield from (f"{key}" for key, count in counts.items() if count > 1)


def devices_are_sorted(device: Object) -> Iterator[str]:
    """updateDevice in pkg/koordlet/statesinformer/impl/states_device_linux.go."""
    order = [(e["type"], e.get("minor", -1)) for e in device["spec"]["devices"]]
    if order != sorted(order):
        yield str(order)


def health_is_told(device: Object) -> Iterator[str]:
    """The CRD requires `health` (config/crd/bases/scheduling.koordinator.sh_devices.yaml)."""
    for entry in device["spec"]["devices"]:
        if not isinstance(entry.get("health"), bool):
            yield entry["id"]


def places_are_whole(device: Object) -> Iterator[str]:
    """The CRD requires socketID, nodeID and pcieID of a topology, the numbers as int32."""
    for entry in device["spec"]["devices"]:
        place = entry.get("topology")
        if place is not None and not (
            all(type(place.get(key)) is int for key in ("socketID", "nodeID"))
            and isinstance(place.get("pcieID"), str)
        ):
            yield entry["id"]


def conditions_have_a_time(device: Object) -> Iterator[str]:
    """The CRD requires each condition's lastTransitionTime."""
    for entry in device["spec"]["devices"]:
        for condition in entry.get("conditions", []):
            if not condition.get("lastTransitionTime"):
                yield entry["id"]


def gpus_have_all_their_resources(device: Object) -> Iterator[str]:
    """fillGPUTotalMem in pkg/scheduler/plugins/deviceshare/devicehandler_gpu.go needs memory."""
    names = {f"koordinator.sh/gpu-{what}" for what in ("core", "memory", "memory-ratio")}
    for entry in device["spec"]["devices"]:
        if entry["type"] == "gpu" and entry.get("health") and names - entry["resources"].keys():
            yield entry["id"]


DEVICE_RULES: tuple[Rule, ...] = (
    every_device_has_a_minor,
    minors_are_different,
    devices_are_sorted,
    health_is_told,
    places_are_whole,
    conditions_have_a_time,
    gpus_have_all_their_resources,
)
