"""Where the API server keeps what is read and written, and what to do where it isn't there.

https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
"""

from dataclasses import dataclass
from urllib.parse import quote

from numa_agent.core.documents import Document, mapping, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An object or a list: what a person calls it, its path, and what to do about 403 and 404."""

    label: str
    path: str
    rights: str
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind that is written: its API group ("" is the core), plural, and who defines it."""

    group: str
    plural: str
    missing: str
    namespaced: bool = False


_KINDS = {
    "NodeResourceTopology": _Kind(
        group="topology.node.k8s.io",
        plural="noderesourcetopologies",
        missing="the NodeResourceTopology CRD isn't installed, or doesn't serve {version}:"
        " kubectl apply -f manifests/crd/",
    ),
    "Device": _Kind(
        group="scheduling.koordinator.sh",
        plural="devices",
        missing="Koordinator's Device CRD isn't installed, or doesn't serve {version}:"
        " install Koordinator's definitions",
    ),
    "ConfigMap": _Kind(
        group="",
        plural="configmaps",
        missing="make the namespace {namespace} first",
        namespaced=True,
    ),
}


def target_of(manifest: Document) -> Target:
    """Where an object that we write is kept. Raises ValueError for any other."""
    version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
    metadata = mapping(manifest.get("metadata"))
    name, namespace = text(metadata.get("name")), text(metadata.get("namespace"))
    known = _KINDS.get(kind)
    group = version.rpartition("/")[0]
    if known is None or known.group != group or name is None:
        raise ValueError(
            f"not a named object of a kind that is published: {version} {kind} {name}"
        )
    if known.namespaced != (namespace is not None):
        needs = "needs a namespace" if known.namespaced else f"has no namespace, but {namespace}"
        raise ValueError(f"{kind} {name} {needs}")
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return Target(
        label=f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}",
        path=f"/{'apis' if group else 'api'}/{version}{within}/{known.plural}/"
        f"{quote(name, safe='')}",
        # The server asks for create as well where the patch makes the object.
        rights=f"get, create and patch {f'{known.plural}.{group}'.rstrip('.')}",
        missing=known.missing.format(version=version, namespace=namespace),
    )


def node(name: str) -> Target:
    """A Node."""
    return Target(
        label=f"Node {name}",
        path=f"/api/v1/nodes/{quote(name, safe='')}",
        rights="get nodes",
        missing="compare the name with `kubectl get nodes`",
    )


def configz(node_name: str) -> Target:
    """The running configuration of a Node's kubelet, through the API server's proxy."""
    return Target(
        label=f"kubelet's configz of Node {node_name}",
        path=f"/api/v1/nodes/{quote(node_name, safe='')}/proxy/configz",
        rights="get nodes/proxy",
        missing="compare the name with `kubectl get nodes`; does its kubelet serve /configz"
        " (enableDebuggingHandlers)?",
    )


def pods_on(node_name: str) -> Target:
    """The Pods bound to a Node."""
    return Target(
        label=f"Pods on Node {node_name}",
        path="/api/v1/pods",
        rights="list pods",
        missing="does the server speak the core v1 API?",
    )


def pod(namespace: str, name: str) -> Target:
    """One Pod."""
    return Target(
        label=f"Pod {namespace}/{name}",
        path=f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}",
        rights="get pods",
        missing="compare the name with `kubectl get pods -A`",
    )


def topologies() -> Target:
    """The NodeResourceTopologies of all nodes."""
    return Target(
        label="NodeResourceTopologies",
        path="/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
        rights="list noderesourcetopologies.topology.node.k8s.io",
        missing=_KINDS["NodeResourceTopology"].missing.format(version="v1alpha2"),
    )


def events_of(who: str, namespace: str) -> Target:
    """The Events in a namespace, of which one about an object is made."""
    return Target(
        label=f"Event about {who}",
        path=f"/api/v1/namespaces/{quote(namespace, safe='')}/events",
        rights=f"create events in the namespace {namespace}",
        missing=f"the namespace {namespace} isn't there",
    )


def event_named(name: str, who: str, namespace: str) -> Target:
    """One Event about an object."""
    return Target(
        label=f"Event about {who}",
        path=f"/api/v1/namespaces/{quote(namespace, safe='')}/events/{quote(name, safe='')}",
        rights=f"patch events in the namespace {namespace}",
        missing="the server keeps Events for an hour",
    )
