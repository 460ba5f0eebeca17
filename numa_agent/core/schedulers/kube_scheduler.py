"""The upstream NodeResourceTopologyMatch plugin's language: one NodeResourceTopology a node.

API: https://github.com/k8stopologyawareschedwg/noderesourcetopology-api (v1alpha2); its reader:
https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/noderesourcetopology. Zones
must be named `node-<id>`, be of type `Node` and come in ascending order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from numa_agent.core.accounting import NodeAccount

API_VERSION = "topology.node.k8s.io/v1alpha2"
KIND = "NodeResourceTopology"

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """The Kubernetes Node that a machine is; `uid` is None where the API wasn't asked."""

    name: str
    uid: str | None


def publication(identity: NodeIdentity, accounts: Sequence[NodeAccount]) -> Json:
    """The object to apply: same input, same bytes."""
    metadata: Json = {"name": identity.name}
    if identity.uid is not None:
        # The Node owns it, so that the cluster removes it with the Node and never earlier.
        owner = {"apiVersion": "v1", "kind": "Node", "name": identity.name, "uid": identity.uid}
        metadata["ownerReferences"] = [owner]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "zones": [_zone(account, accounts) for account in accounts],
    }


def _zone(account: NodeAccount, accounts: Sequence[NodeAccount]) -> Json:
    zone: Json = {"name": _name(account), "type": "Node"}
    distances = account.node.distances
    if distances is not None:
        zone["costs"] = [
            {"name": _name(other), "value": distances[other.node.id]}
            for other in accounts
            if other.node.id in distances
        ]
    zone["resources"] = [
        {
            "name": name,
            "capacity": str(amount.capacity),
            "allocatable": str(amount.allocatable),
            "available": str(amount.available),
        }
        for name, amount in sorted(account.resources.items())
    ]
    return zone


def _name(account: NodeAccount) -> str:
    return f"node-{account.node.id}"
