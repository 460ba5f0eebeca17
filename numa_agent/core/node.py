"""The Kubernetes Node that a machine is.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numa_agent.core import quantity
from numa_agent.core.documents import Document, mapping, text, texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A v1 Node; `uid` is None where it has none.

    `capacity` and `allocatable` are by resource name: cpu in thousandths, the rest in whole units
    (bytes, devices). A quantity that can't be read is left out.
    """

    name: str
    uid: str | None
    boot_id: str | None = None
    kubelet_version: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)
    allocatable: Mapping[str, int] = field(default_factory=dict)


def parse_node(document: Document) -> Node:
    """The node of a v1 Node object. Raises ValueError when it has no name."""
    metadata, status = mapping(document.get("metadata")), mapping(document.get("status"))
    name = text(metadata.get("name"))
    if name is None:
        raise ValueError("a v1 Node with metadata.name was expected")
    return Node(
        name=name,
        uid=text(metadata.get("uid")),
        boot_id=text(mapping(status.get("nodeInfo")).get("bootID")),
        kubelet_version=text(mapping(status.get("nodeInfo")).get("kubeletVersion")),
        labels=texts(metadata.get("labels")),
        annotations=texts(metadata.get("annotations")),
        capacity=amounts(status.get("capacity")),
        allocatable=amounts(status.get("allocatable")),
    )


def amounts(resources: object) -> Mapping[str, int]:
    """A resource list's amounts by name; cpu in thousandths, the rest in whole units."""
    found: dict[str, int] = {}
    for name, value in mapping(resources).items():
        try:
            found[name] = quantity.amount(name, str(value))
        except ValueError:
            continue
    return found


def native(resource: str) -> bool:
    """Whether Kubernetes itself knows the resource: no domain, or one under kubernetes.io.

    https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/v1/helper/helpers.go
    """
    return "/" not in resource or "kubernetes.io/" in resource
