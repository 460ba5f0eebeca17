"""What kube-scheduler's NodeResourceTopologyMatch plugin makes of an object, rule by rule.

The plugin isn't run here: its rules are written down in our own words. `SP` below is
https://github.com/kubernetes-sigs/scheduler-plugins, in pkg/noderesourcetopology; `API` is
https://github.com/k8stopologyawareschedwg/noderesourcetopology-api.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from numa_agent.core import quantity

Requests = Mapping[str, str]
"""Quantities by resource, as a pod's spec has them."""

Amounts = dict[str, Fraction]


class PluginPanicError(Exception):
    """The scheduler's process would end here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod as the plugin sees it; `containers` are its app containers."""

    containers: tuple[Requests, ...]
    init: tuple[Requests, ...] = ()
    sidecars: tuple[Requests, ...] = ()
    overhead: Requests = field(default_factory=dict)
    qos: str = "Guaranteed"
    namespace: str = "shop"
    name: str = "web"
    phase: str = "Running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A zone that the plugin takes for a NUMA node, with what is available and its costs."""

    id: int
    available: Amounts
    costs: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """The Topology Manager's configuration as the plugin reads it from the object."""

    policy: str = "none"
    scope: str = "container"
    most_nodes: int = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """What Filter says: the zones chosen (one a pod or one a container), or why not."""

    zones: tuple[int, ...] = ()
    rejected: str | None = None


PASSED = Verdict()
"""The node passes without a look at its zones."""

_LEGACY = {
    f"{name}{level}Level": (policy, level.lower())
    for name, policy in (
        ("SingleNUMANode", "single-numa-node"),
        ("Restricted", "restricted"),
        ("BestEffort", "best-effort"),
    )
    for level in ("Pod", "Container")
}


def filtered(pod: Pod, nrt: Mapping[str, Any] | None, allocatable: Requests) -> Verdict:
    """Filter on a node with this status.allocatable; `nrt` is None where there is no object."""
    # SP filter.go, Filter: a BestEffort pod without devices is nobody's concern.
    asked = {name for container in _all(pod) for name in container}
    if pod.qos == "BestEffort" and all(native(name) for name in asked):
        return PASSED
    # SP filter.go, Filter; cache/passthrough.go: no object, or one that can't be had, passes.
    if nrt is None:
        return PASSED
    # SP filter.go, filterHandlerFromTopologyManager: only this policy is filtered by.
    manager = managed(nrt)
    if manager.policy != "single-numa-node":
        return PASSED
    try:
        return _placed(pod, cells(nrt), manager.scope, allocatable)
    except _RejectedError as rejected:
        return Verdict(rejected=str(rejected))


def cells(nrt: Mapping[str, Any]) -> list[Cell]:
    """The zones that count, in the order of the object."""
    found = []
    for zone in nrt["zones"]:
        # SP pluginhelpers.go, createNUMANodeList: any other type is left out without a log line.
        number = zone_id(zone["name"])
        if zone["type"] != "Node" or number is None or number > 64:
            continue
        # The same function: places for 64 nodes, but 64 passes the check that precedes the write.
        if number == 64:
            raise PluginPanicError("node-64: index out of range [64] with length 64")
        # SP pluginhelpers.go, extractResources: `available` alone; of two rows the last one wins.
        rows = zone.get("resources", [])
        available = {row["name"]: quantity.parse(row["available"]) for row in rows}
        # SP pluginhelpers.go, extractCosts: costs to other names are left out.
        costs = {zone_id(cost["name"]): cost["value"] for cost in zone.get("costs", [])}
        found.append(
            Cell(
                id=number,
                available=available,
                costs={to: value for to, value in costs.items() if to is not None and to <= 64},
            )
        )
    return found


def zone_id(name: str) -> int | None:
    """The id in a zone's name (API v1alpha2/helper/numanode): nothing but `node-<number>`."""
    match = re.fullmatch(r"node-(\d+)", name, re.ASCII)
    return int(match[1]) if match else None


def managed(nrt: Mapping[str, Any]) -> Manager:
    """The configuration (SP nodeconfig/topologymanager.go): unknown words change nothing."""
    policy, scope = "none", "container"
    # updateFromPolicies: the first entry only, and by name and level only.
    for said in nrt.get("topologyPolicies", [])[:1]:
        policy, scope = _LEGACY.get(said, (policy, scope))
    most = 8
    # updateFromAttributes: each valid one overrides what was there.
    for attribute in nrt.get("attributes", []):
        name, value = attribute["name"], attribute["value"]
        if name == "topologyManagerPolicy" and value in {
            *("none", "best-effort", "restricted", "single-numa-node"),
        }:
            policy = value
        elif name == "topologyManagerScope" and value in {"container", "pod"}:
            scope = value
        elif name == "topologyManagerMaxNUMANodes" and value.isdigit() and int(value) > 1:
            most = min(int(value), 1024)
    return Manager(policy=policy, scope=scope, most_nodes=most)


def native(resource: str) -> bool:
    """Whether it is one of Kubernetes' own (k8s.io/kubernetes pkg/apis/core/v1/helper)."""
    return "/" not in resource or "kubernetes.io/" in resource


def effective(pod: Pod) -> Amounts:
    """What the whole pod asks for (SP pkg/util/resource.go, GetPodEffectiveRequest).

    The greater of all app containers together and the greediest init container, sidecars counted
    as such, and the overhead.
    """
    total: Amounts = {}
    for container in pod.containers:
        _add(total, amounts(container))
    for container in (*pod.init, *pod.sidecars):
        for name, amount in amounts(container).items():
            total[name] = max(total.get(name, Fraction(0)), amount)
    _add(total, amounts(pod.overhead))
    return total


def amounts(requests: Requests) -> Amounts:
    """The exact numbers of a list of quantities."""
    return {name: quantity.parse(text) for name, text in requests.items()}


def suits(qos: str, resource: str, wanted: Fraction, available: Fraction) -> bool:
    """Whether a zone that lists the resource has enough (SP numaresources.go).

    CPUs, memory and hugepages of a pod that isn't Guaranteed always fit: nothing is held alone.
    """
    return (qos != "Guaranteed" and _numa_affine(resource)) or available >= wanted


class _RejectedError(Exception):
    pass


def _placed(pod: Pod, nodes: list[Cell], scope: str, allocatable: Requests) -> Verdict:
    if scope == "pod":
        # SP filter.go, singleNUMAPodLevelHandler.
        return Verdict((_lowest(nodes, effective(pod), pod.qos, allocatable),))
    # SP filter.go, singleNUMAContainerLevelHandler: each init container alone and uncharged, then
    # the app containers one by one, each charged to the zone that it got.
    for container in (*pod.init, *pod.sidecars):
        _lowest(nodes, amounts(container), pod.qos, allocatable)
    chosen = []
    for container in pod.containers:
        wanted = amounts(container)
        chosen.append(_lowest(nodes, wanted, pod.qos, allocatable))
        _charge(nodes, chosen[-1], wanted, pod.qos)
    return Verdict(tuple(chosen))


def _lowest(nodes: list[Cell], wanted: Amounts, qos: str, allocatable: Requests) -> int:
    """The lowest id that fits (SP filter.go, resourcesAvailableInAnyNUMANodes)."""
    left = set(range(64))
    for resource, amount in sorted(wanted.items()):
        if amount == 0:
            continue
        # What the Node doesn't offer, no zone can. The first two it always offers.
        if resource not in {"cpu", "memory", "ephemeral-storage", "pods", *allocatable}:
            raise _RejectedError(f"{resource}: the Node has none")
        listing = [node for node in nodes if resource in node.available]
        # SP numaresources.go, isHostLevelResource: what no zone lists passes, if it may.
        if not listing and (resource in {"ephemeral-storage", "storage"} or not native(resource)):
            continue
        left &= {n.id for n in listing if suits(qos, resource, amount, n.available[resource])}
        if not left:
            raise _RejectedError(f"{resource}: no zone fits")
    return min(left)


def _charge(nodes: list[Cell], number: int, wanted: Amounts, qos: str) -> None:
    """Take a container's part away (SP numaresources.go, subtractResourcesFromNUMANodeList)."""
    for node in nodes:
        if node.id != number:
            continue
        for resource, amount in wanted.items():
            if resource in node.available and (qos == "Guaranteed" or not _numa_affine(resource)):
                node.available[resource] -= amount


def _numa_affine(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _all(pod: Pod) -> Iterable[Requests]:
    return (*pod.init, *pod.sidecars, *pod.containers)
