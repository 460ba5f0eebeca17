"""Our own language: the annotation `numa-agent.io/assignment`, with which anybody may decide.

docs/assignment.md describes it, docs/assignment.schema.json is its JSON Schema.
"""

import re
from collections.abc import Mapping

from numa_agent.core.assignment import NOWHERE, Assignment, IdLists, Placement, understand
from numa_agent.core.pod_keys import ASSIGNMENT as ASSIGNMENT
from numa_agent.core.quoting import shown
from numa_agent.core.strict_json import Value

VERSION = 1

_PLACE = ("cpus", "nodes", "mems")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A container's name: a DNS label.
https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names"""


def assignment(annotations: Mapping[str, str]) -> Assignment | None:
    """What the annotation decides, None where there is none. Raises AssignmentError."""
    text = annotations.get(ASSIGNMENT)
    return None if text is None else understand(ASSIGNMENT, text, _assignment)


def _assignment(value: Value) -> Assignment:
    value.only(("version", *_PLACE, "containers"))
    _check_version(value)
    lists = IdLists()
    pod = _placement(value, lists, NOWHERE)
    named = value.member("containers")
    containers = {} if named is None else _containers(named, lists, pod)
    if pod == NOWHERE and not containers:
        raise value.fault(f"it decides nothing: it has none of {', '.join(_PLACE)}, containers")
    return Assignment(source=ASSIGNMENT, pod=pod, containers=containers)


def _check_version(value: Value) -> None:
    version = value.member("version")
    if version is None:
        raise value.fault(f'it has no version: it must have "version": {VERSION}')
    # To JSON, and so to JSON Schema, 1.0 is the same number; True is none.
    if isinstance(version.content, bool) or version.content != VERSION:
        raise version.fault(f"{shown(version.content)} isn't known: known is {VERSION}")


def _containers(value: Value, lists: IdLists, pod: Placement) -> dict[str, Placement]:
    found: dict[str, Placement] = {}
    for name, placement in value.entries():
        if _NAME.fullmatch(name) is None:
            raise placement.fault("no container can have this name")
        placement.only(_PLACE)
        if not placement.content:
            raise placement.fault(f"it decides nothing: it has none of {', '.join(_PLACE)}")
        found[name] = _placement(placement, lists, pod)
    if not found:
        raise value.fault("it names no container: leave the member out")
    return found


def _placement(value: Value, lists: IdLists, default: Placement) -> Placement:
    """What an object decides; what it doesn't say of CPUs or of memory nodes is the default's."""
    cpus, nodes, mems = (
        lists.read(member) if (member := value.member(name)) is not None else frozenset[int]()
        for name in _PLACE
    )
    if cpus and nodes:
        raise value.fault("cpus are its own and nodes are to share: it can have one of them only")
    if not cpus and not nodes:
        cpus, nodes = default.cpus, default.nodes
    return Placement(cpus=cpus, nodes=nodes, mems=mems or default.mems)
