"""ACK's language: the CPUs that its scheduler writes on a pod, and how a pod asks for them.

The older feature's result is in
https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/topology-aware-cpu-scheduling,
the words of the newer one in
https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/enable-numa-topology-aware-scheduling.
What the newer one's scheduler writes isn't documented: both the older one's annotation and
Koordinator's are read.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from numa_agent.core.assignment import Assignment, AssignmentError, Placement, understand
from numa_agent.core.cpulist import MAX_ID
from numa_agent.core.pod_keys import CPUSET as CPUSET
from numa_agent.core.pod_keys import SCHEDULER as SCHEDULER
from numa_agent.core.pod_keys import TOPOLOGY_SPECS as TOPOLOGY_SPECS
from numa_agent.core.quoting import excerpt, meant, shown
from numa_agent.core.strict_json import Value

SWITCHED_ON = ("true", "required")
"""The values of `cpuset-scheduler` that ask for binding."""
_POLICIES = ("SingleNUMANode", "Restricted", "BestEffort")
_EXCLUSIVE = ("Required", "Preferred")

_ID = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySpec:
    """How strictly a pod asked to be kept within NUMA nodes; None is what it didn't say.

    `policy` is SingleNUMANode, Restricted or BestEffort; `exclusive`, whether pods of one node and
    of several may meet on a node, is Required or Preferred.
    """

    source: str
    policy: str | None
    exclusive: str | None


def assignment(annotations: Mapping[str, str]) -> Assignment | None:
    """The CPUs of `cpuset` by container, e.g. `{"web": {"0": {"elems": {"2": {}, "3": {}}}}}`.

    The memory nodes are those that the CPUs are listed under. The bare key may be anybody's, so
    that it counts only on a pod with `cpuset-scheduler`. None where it gives no CPUs. Raises
    AssignmentError when either annotation can't be read.
    """
    switch = annotations.get(SCHEDULER)
    if switch is None:
        return None
    if switch not in SWITCHED_ON:
        raise AssignmentError(
            f"{SCHEDULER} {excerpt(switch, None)}: documented are only 'true' (the older feature)"
            " and 'required' (with devices); leave the annotation out to bind nothing"
        )
    text = annotations.get(CPUSET)
    containers = {} if text is None else understand(CPUSET, text, _containers)
    return Assignment(source=CPUSET, containers=containers) if containers else None


def topology_specs(annotations: Mapping[str, str]) -> tuple[TopologySpec, ...]:
    """What a pod asked for in either key. Raises AssignmentError when one can't be read."""
    return tuple(
        understand(key, annotations[key], partial(_spec, key))
        for key in TOPOLOGY_SPECS
        if key in annotations
    )


def _containers(value: Value) -> dict[str, Placement]:
    found = {name: _placement(nodes) for name, nodes in value.entries()}
    return {name: placement for name, placement in found.items() if placement.cpus}


def _placement(nodes: Value) -> Placement:
    cpus, mems = set[int](), set[int]()
    for node_id, node in nodes.entries():
        elements = node.member("elems")
        if elements is None:
            raise node.fault("it has no elems")
        for cpu_id, element in elements.entries():
            # Its members aren't known, but that it is an object is.
            any(element.entries())
            cpu = _id(element, cpu_id)
            if cpu in cpus:
                raise element.fault("this CPU is in two NUMA nodes")
            cpus.add(cpu)
            mems.add(_id(node, node_id))
    return Placement(cpus=frozenset(cpus), mems=frozenset(mems))


def _id(value: Value, name: str) -> int:
    if _ID.fullmatch(name) is None or int(name) > MAX_ID:
        raise value.fault(f"{shown(name)} isn't an id from 0 to {MAX_ID}")
    return int(name)


def _spec(key: str, value: Value) -> TopologySpec:
    return TopologySpec(
        source=key,
        policy=_word(value, "numaTopologyPolicy", _POLICIES),
        exclusive=_word(value, "singleNUMANodeExclusive", _EXCLUSIVE),
    )


def _word(value: Value, name: str, known: Collection[str]) -> str | None:
    member = value.member(name)
    # Go writes and takes the empty string for a word that isn't set.
    if member is None or not member.text():
        return None
    word = member.text()
    if word not in known:
        raise member.fault(f"{shown(word)} isn't known; {meant(word, known)}")
    return word
