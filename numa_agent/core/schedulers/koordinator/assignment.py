"""Koordinator's language: what koord-scheduler writes on a pod before it binds it to a node.

https://koordinator.sh/docs/user-manuals/fine-grained-cpu-orchestration. Its shape is
ResourceStatus in apis/extension/numa_aware.go, and who runs where is told in
pkg/koordlet/runtimehooks/hooks/cpuset/rule.go of https://github.com/koordinator-sh/koordinator.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction

from numa_agent.core import quantity
from numa_agent.core.assignment import (
    NOWHERE,
    Assignment,
    IdLists,
    NodeSet,
    Placement,
    understand,
)
from numa_agent.core.cpulist import MAX_ID, CpuSet
from numa_agent.core.pod_keys import QOS_CLASS
from numa_agent.core.pod_keys import RESOURCE_STATUS as RESOURCE_STATUS
from numa_agent.core.pods import Pod, QosClass
from numa_agent.core.quoting import shown
from numa_agent.core.strict_json import Value

_CPU = {"cpu", "kubernetes.io/batch-cpu"}
"""The resources by which koordlet binds to a node; mid-cpu isn't among them."""

_MEMORY = {"memory", "kubernetes.io/batch-memory", "kubernetes.io/mid-memory"}


class Qos(StrEnum):
    """A pod's class by its label `koordinator.sh/qosClass`; any other word is none."""

    LSE = "LSE"
    LSR = "LSR"
    LS = "LS"
    BE = "BE"
    SYSTEM = "SYSTEM"
    NONE = ""


class Pool(StrEnum):
    """Where a container finds its CPUs."""

    OWN = "own"
    """They are decided one by one. Whatever the class and priority of the pod: the scheduler
    binds LSE and LSR of koord-prod by itself, and any pod where its node's policy says so."""
    SHARED = "shared"
    """Those that are nobody's own, of its nodes where it is bound to some."""
    BEST_EFFORT = "best-effort"
    """The shared ones and those of pods of any class but LSE, of its nodes likewise."""
    SYSTEM = "system"
    """Those that the admin set aside for class SYSTEM."""
    KUBELET = "kubelet"
    """Those that kubelet's static policy leaves to it: nobody else may write them."""


def qos(labels: Mapping[str, str]) -> Qos:
    """The class that a pod's labels give it."""
    try:
        return Qos(labels.get(QOS_CLASS, ""))
    except ValueError:
        return Qos.NONE


def pool(pod: Pod, placement: Placement, *, kubelet_static: bool, system_cpus: CpuSet) -> Pool:
    """Where a container of a pod finds its CPUs, by Koordinator's rules in their order.

    `system_cpus` are those of the Node's system-qos-resource, empty without it.
    """
    found = qos(pod.labels)
    if placement.cpus:
        return Pool.OWN
    if placement.nodes:
        return Pool.BEST_EFFORT if found is Qos.BE else Pool.SHARED
    if found is Qos.SYSTEM and system_cpus:
        return Pool.SYSTEM
    if found is Qos.LS:
        return Pool.SHARED
    if pod.qos is QosClass.BEST_EFFORT:
        return Pool.BEST_EFFORT
    return Pool.KUBELET if kubelet_static else Pool.SHARED


def assignment(annotations: Mapping[str, str]) -> Assignment | None:
    """The CPUs of its own that `resource-status` gives a pod, None where it gives none.

    Raises AssignmentError when the annotation can't be read.
    """
    said = decided(annotations)
    return said if said is not None and said.cpus else None


def decided(annotations: Mapping[str, str]) -> Assignment | None:
    """What `resource-status` decides for all containers of a pod alike, None where nothing.

    `{"cpuset": "2-3"}` gives CPUs. Without it, where any node gives CPU time, the pod shares the
    CPUs of all nodes named, as with koordlet. Memory is decided on the nodes that give some, or
    else on those that give CPU time; a node that gives only devices decides nothing. Raises
    AssignmentError when the annotation can't be read.
    """
    text = annotations.get(RESOURCE_STATUS)
    placement = NOWHERE if text is None else understand(RESOURCE_STATUS, text, _placement)
    return None if placement == NOWHERE else Assignment(source=RESOURCE_STATUS, pod=placement)


def _placement(status: Value) -> Placement:
    given = status.member("cpuset")
    # Go leaves an empty string out, and so an empty one means the same as none.
    cpus = IdLists().read(given) if given is not None and given.text().strip() else CpuSet()
    with_cpu, with_memory, named = _nodes(status)
    return Placement(
        cpus=cpus,
        nodes=named if with_cpu and not cpus else NodeSet(),
        mems=with_memory or with_cpu,
    )


def _nodes(status: Value) -> tuple[NodeSet, NodeSet, NodeSet]:
    """The nodes that give CPU time, those that give memory, and all that are named."""
    listed = status.member("numaNodeResources")
    with_cpu, with_memory, named = set[int](), set[int](), set[int]()
    # Go writes an empty list as null where it doesn't leave it out.
    for entry in () if listed is None or listed.content is None else listed.items():
        node = _node(entry)
        given = {name for name, amount in _resources(entry) if amount}
        named.add(node)
        if given & _CPU:
            with_cpu.add(node)
        if given & _MEMORY or any(name.startswith("hugepages-") for name in given):
            with_memory.add(node)
    return frozenset(with_cpu), frozenset(with_memory), frozenset(named)


def _node(entry: Value) -> int:
    node = entry.member("node")
    if node is None:
        raise entry.fault("it has no node")
    if not 0 <= node.whole() <= MAX_ID:
        raise node.fault(f"{shown(node.content)} isn't from 0 to {MAX_ID}")
    return node.whole()


def _resources(entry: Value) -> Iterator[tuple[str, Fraction]]:
    resources = entry.member("resources")
    if resources is None or resources.content is None:
        return
    for name, amount in resources.entries():
        content = amount.content
        if isinstance(content, bool) or not isinstance(content, str | int | float):
            raise amount.fault(f"{shown(content)} isn't a quantity")
        try:
            found = quantity.parse(str(content))
        except ValueError as error:
            raise amount.fault(str(error)) from error
        if found < 0:
            raise amount.fault(f"{shown(content)} is negative")
        yield name, found
