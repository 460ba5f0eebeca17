"""What would break the plugin or make it pass something over, most of it without a word.

For `SP` see topology_match.py. An object without any zone breaks nothing: it says nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numa_agent.core import quantity
from tests.consumers.topology_match import Requests, native, zone_id

Zone = Mapping[str, Any]

_POLICIES = {"none", "best-effort", "restricted", "single-numa-node"}


def faults(nrt: Mapping[str, Any], allocatable: Requests) -> list[str]:
    """Every fault of the object on a node with this status.allocatable, none in a good one."""
    zones = nrt["zones"]
    if not zones:
        return []
    nodes = [zone for zone in zones if zone["type"] == "Node"]
    return [
        *_names(zones),
        *_order(nodes),
        *_attributes(nrt, len(nodes)),
        *_listed(zones, nodes, allocatable),
        *(fault for zone in zones for fault in _rows(zone)),
        *(fault for zone in nodes for fault in _costs(zone, nodes)),
    ]


def _names(zones: Sequence[Zone]) -> Iterator[str]:
    for zone in zones:
        # SP pluginhelpers.go, createNUMANodeList.
        if zone["type"] == "Node" and zone_id(zone["name"]) is None:
            yield f"{zone['name']}: the name is passed over"
        if zone["type"] != "Node" and "cpu" in _amounts(zone, "capacity"):
            yield f"{zone['name']}: the CPUs of type {zone['type']} are passed over"
        if (number := zone_id(zone["name"])) is not None and number > 63:
            yield f"{zone['name']}: no place for the id"
    # API v1alpha2, zones: listed twice, a zone is appended twice.
    for name, count in Counter(zone["name"] for zone in zones).items():
        if count > 1:
            yield f"{name}: named {count} times"


def _order(nodes: Sequence[Zone]) -> Iterator[str]:
    # SP score.go, scoreForEachNUMANode; numaresources.go, subtractFromNUMAs.
    ids = [zone_id(zone["name"]) for zone in nodes]
    if ids != list(range(len(ids))):
        yield f"ids {ids}: an id isn't its place in the list"


def _attributes(nrt: Mapping[str, Any], count: int) -> Iterator[str]:
    names = [attribute["name"] for attribute in nrt["attributes"]]
    said = {attribute["name"]: attribute["value"] for attribute in nrt["attributes"]}
    if len(said) < len(names):
        yield "attributes: a name is there twice"
    # SP nodeconfig/topologymanager.go.
    if said.get("topologyManagerPolicy") not in _POLICIES:
        yield "topologyManagerPolicy: taken for none"
    if said.get("topologyManagerScope") not in {"container", "pod"}:
        yield "topologyManagerScope: taken for container"
    if nrt["topologyPolicies"]:
        yield "topologyPolicies: two log lines a call"
    # SP least_numa.go, normalizeScore.
    if not count <= int(said.get("topologyManagerMaxNUMANodes", "8")) <= 100:
        yield "topologyManagerMaxNUMANodes: scores out of bounds"
    # SP cache/store.go, podFingerprintForNodeTopology.
    fingerprint = said.get("nodeTopologyPodsFingerprint", "")
    if not re.fullmatch(r"pfp0v001[0-9a-f]{16}", fingerprint):
        yield "nodeTopologyPodsFingerprint: never resynced"
    method = said.get("nodeTopologyPodsFingerprintMethod")
    if method not in {"all", "with-exclusive-resources"}:
        yield "nodeTopologyPodsFingerprintMethod: taken for all"


def _listed(zones: Sequence[Zone], nodes: Sequence[Zone], allocatable: Requests) -> Iterator[str]:
    """What filter.go, resourcesAvailableInAnyNUMANodes, would look for in vain."""
    full = [zone for zone in nodes if zone.get("resources")]
    told = {name for zone in full for name in _amounts(zone, "capacity")}
    for name in sorted({"cpu", "memory", *told, *(n for n in allocatable if "hugepages-" in n)}):
        if any(name not in _amounts(zone, "capacity") for zone in full) or not full:
            if native(name):
                yield f"{name}: pods that ask for it are rejected"
            else:
                yield f"{name}: some zones are without it"
    for name in sorted(told - allocatable.keys()):
        if not native(name):
            yield f"{name}: the Node doesn't offer it"
    # SP cache/nrt_resources.go: it counts for fingerprints and for foreign pods nevertheless.
    hidden = {name for zone in zones for name in _amounts(zone, "capacity")} - told
    for name in sorted(hidden):
        yield f"{name}: in no zone of type Node"


def _rows(zone: Zone) -> Iterator[str]:
    rows = [row["name"] for row in zone.get("resources", [])]
    for name, count in Counter(rows).items():
        if count > 1:
            yield f"{zone['name']} {name}: listed {count} times"
    for row in zone.get("resources", []):
        three = [quantity.parse(row[key]) for key in ("available", "allocatable", "capacity")]
        if not 0 <= three[0] <= three[1] <= three[2]:
            yield f"{zone['name']} {row['name']}: not available <= allocatable <= capacity"


def _costs(zone: Zone, nodes: Sequence[Zone]) -> Iterator[str]:
    # SP least_numa.go, nodesAvgDistance: 255 and a line in the log for each that is missing.
    missing = {node["name"] for node in nodes} - {c["name"] for c in zone.get("costs", [])}
    if missing:
        yield f"{zone['name']}: no cost to {', '.join(sorted(missing))}"


def _amounts(zone: Zone, key: str) -> dict[str, str]:
    return {row["name"]: row[key] for row in zone.get("resources", [])}
