"""The upstream NodeResourceTopologyMatch plugin's language: one NodeResourceTopology a node.

API: https://github.com/k8stopologyawareschedwg/noderesourcetopology-api (v1alpha2); its reader:
https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/noderesourcetopology. What it
doesn't know it passes over without a word, and a NUMA node's id is its place in a list there.
"""

from numa_agent.core.documents import Document
from numa_agent.core.node import Node
from numa_agent.core.schedulers.kube_scheduler.attributes import POLICY, attributes, unread
from numa_agent.core.schedulers.kube_scheduler.zones import (
    many,
    offered,
    refusal,
    unknown,
    zones,
)
from numa_agent.core.view import Json, Rendering, View

API_VERSION = "topology.node.k8s.io/v1alpha2"
KIND = "NodeResourceTopology"


def publish(view: View) -> Rendering:
    """The object to apply: same input, same bytes.

    Nothing at all while a node's CPUs or memory aren't known, so that what was published stays.
    A machine that the plugin can't take is told without zones and without a policy, which the
    plugin reads as a machine without NUMA: with either, it would panic or reject every pod.
    Raises ValueError for a fingerprint method or informer mode that there isn't.
    """
    nodes = offered(view)
    if (fault := unknown(view.node.name, nodes)) is not None:
        return Rendering(manifests=(), conditions=(fault,))
    refused = refusal(view.node.name, [account.node.id for account in nodes])
    published = zones(view, nodes) if refused is None else []
    named = attributes(view, published)
    conditions = [*unread(named), *many(view.node.name, published)]
    if refused is not None:
        del named[POLICY]
        conditions.append(refused)
    manifest: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": _metadata(view.node),
        # v1alpha1 requires the field, so that without it no older client could update the object.
        # It stays empty, since the attributes say the same: the plugin logs two lines for each pod
        # and node that has a policy here.
        "topologyPolicies": [],
        "attributes": [{"name": name, "value": value} for name, value in sorted(named.items())],
        "zones": published,
    }
    return Rendering(manifests=(manifest,), conditions=tuple(sorted(conditions)))


def adopt(manifest: Json, _live: Document | None) -> Json:
    """The object to apply over the one that the server holds: all of `zones` is ours here."""
    return manifest


def _metadata(node: Node) -> Json:
    metadata: Json = {"name": node.name}
    if node.uid is not None:
        # The Node owns it, so that the cluster removes it with the Node and never earlier.
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
        metadata["ownerReferences"] = [owner]
    return metadata
