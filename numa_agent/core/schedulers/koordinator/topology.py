"""The NodeResourceTopology as koordlet reports it.

It is written as v1alpha2 with `topologyPolicies`, and so reads right through v1alpha1, which
Koordinator uses: writing through v1alpha1 would take a foreign `attributes` away. Schema:
https://github.com/k8stopologyawareschedwg/noderesourcetopology-api.
"""

from collections.abc import Iterator, Sequence

from numa_agent.core.conditions import Condition
from numa_agent.core.node import Node
from numa_agent.core.quantity import binary
from numa_agent.core.schedulers.koordinator.annotations import annotations
from numa_agent.core.schedulers.koordinator.check import faults
from numa_agent.core.schedulers.koordinator.cpus import numbered
from numa_agent.core.schedulers.koordinator.metadata import metadata
from numa_agent.core.topology import NumaNode
from numa_agent.core.view import Json, View

API_VERSION = "topology.node.k8s.io/v1alpha2"
KIND = "NodeResourceTopology"

MANAGED_BY = {"app.kubernetes.io/managed-by": "Koordinator"}

NUMA_RESERVATION = "node.koordinator.sh/enable-numa-reservation"
"""The Node's label that takes what kubelet reserves from the zones, an equal part from each."""

_POLICIES = {
    "single-numa-node": "SingleNUMANode",
    "restricted": "Restricted",
    "best-effort": "BestEffort",
}


def topology(view: View) -> tuple[Json | None, tuple[Condition, ...]]:
    """The object to apply and what it can't say.

    There is none where a CPU's place or a node's memory isn't known: koord-scheduler gives CPUs
    out by it, and half a map would take some away or give some out twice.
    """
    try:
        cpus = numbered(view.topology)
        _check_memory(view.topology.cpu_nodes)
    except ValueError as error:
        return None, (_unknown(view.node, str(error)),)
    texts, conditions = annotations(view, cpus)
    wrong = faults(texts)
    if wrong:
        return None, (*conditions, _unknown(view.node, "; ".join(wrong)))
    nodes = sorted(view.topology.cpu_nodes, key=_zone_name)
    labels = dict(MANAGED_BY)
    if view.node.labels.get(NUMA_RESERVATION):
        labels[NUMA_RESERVATION] = view.node.labels[NUMA_RESERVATION]
    manifest: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {**metadata(view.node, labels), "annotations": dict(texts)},
        "topologyPolicies": [_policy(view)],
        "zones": [_zone(view.node, node, len(nodes)) for node in nodes],
    }
    return manifest, (*conditions, *_misplaced(view.node, nodes))


def _policy(view: View) -> str:
    policy = view.topology_policy or view.settings.topology_manager_policy
    scope = view.topology_scope or view.settings.topology_manager_scope
    word = _POLICIES.get(policy)
    return "None" if word is None else f"{word}{'Pod' if scope == 'pod' else 'Container'}Level"


def _zone_name(node: NumaNode) -> str:
    return f"node-{node.id}"


def _zone(own: Node, node: NumaNode, zones: int) -> Json:
    cpu, memory = len(node.cpus or ()) * 1000, node.memory_bytes or 0
    # Hugepages are set aside at boot: they are memory that no ordinary request gets.
    memory -= sum((pool.total or 0) * pool.size_kib * 1024 for pool in node.hugepages)
    if own.labels.get(NUMA_RESERVATION) == "true":
        cpu -= _share(own, "cpu", zones)
        memory -= _share(own, "memory", zones)
    amounts = {
        "cpu": _cores(max(0, cpu)),
        "hugepages-1Gi": binary(_huge(node, 1 << 20)),
        "hugepages-2Mi": binary(_huge(node, 2 << 10)),
        "memory": binary(max(0, memory)),
    }
    # The scheduler takes off itself what is reserved and in use, so that all three are equal.
    resources = [
        {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
        for name, amount in amounts.items()
    ]
    return {"name": _zone_name(node), "type": "Node", "resources": resources}


def _huge(node: NumaNode, size_kib: int) -> int:
    pools = (pool for pool in node.hugepages if pool.size_kib == size_kib)
    return sum((pool.total or 0) * pool.size_kib * 1024 for pool in pools)


def _share(own: Node, resource: str, zones: int) -> int:
    """One zone's part of what the Node's allocatable lacks of its capacity, rounded up."""
    capacity = own.capacity.get(resource, 0)
    return max(0, -(-(capacity - own.allocatable.get(resource, capacity)) // zones))


def _cores(milli: int) -> str:
    return f"{milli}m" if milli % 1000 else str(milli // 1000)


def _check_memory(nodes: Sequence[NumaNode]) -> None:
    for node in nodes:
        if node.memory_bytes is None:
            raise ValueError(f"the memory of node {node.id} isn't known")
        if any(pool.total is None for pool in node.hugepages):
            raise ValueError(f"the hugepages of node {node.id} aren't known")


def _misplaced(own: Node, nodes: Sequence[NumaNode]) -> Iterator[Condition]:
    """koord-manager takes a zone's position for its node's id, koord-scheduler its name.

    getPodNUMARequestAndUsage in pkg/slo-controller/noderesource/plugins/batchresource/util.go of
    https://github.com/koordinator-sh/koordinator.
    """
    ids = [node.id for node in nodes]
    if ids != list(range(len(ids))):
        listed = ", ".join(map(str, ids))
        yield Condition(
            code="koordinator-zone-positions",
            subject=own.name,
            message=(
                f"node {own.name}: its NUMA nodes with CPUs come as {listed}, and koord-manager"
                f" takes them for 0 to {len(ids) - 1} in this order: batch resources by zone are"
                " another node's; koord-scheduler isn't misled"
            ),
        )


def _unknown(own: Node, why: str) -> Condition:
    return Condition(
        code="koordinator-topology-unknown",
        subject=own.name,
        message=f"node {own.name}: no NodeResourceTopology is told to Koordinator: {why}",
    )
