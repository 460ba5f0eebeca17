"""What of the live APIs' answers comes into a recording, by what their parsers read.

A Pod's environment, commands, arguments, volumes and images aren't among it, nor anything else
that isn't named here. The shapes are those of core.node, core.pods and core.podresources.
"""

import re

from numa_agent.core import pod_keys
from numa_agent.core.documents import Document, mapping
from numa_agent.core.recording import words
from numa_agent.core.recording.annotations import (
    NODE_ANNOTATIONS,
    NODE_LABELS,
    POD_ANNOTATIONS,
    POD_LABELS,
)
from numa_agent.core.recording.fields import (
    AMOUNTS,
    both_spellings,
    flag,
    mistyped,
    name,
    number,
    one_of,
    reduced,
    text,
)
from numa_agent.core.recording.pseudonyms import Kind, Names

_UID = text(words.uuid)
_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_MOMENT = text(lambda names, value: value if _RFC_3339.fullmatch(value) else names.word(value))

_NODE = {
    "kind": one_of("Node"),
    "apiVersion": one_of("v1"),
    "metadata": {
        "name": name(Kind.NODE),
        "uid": _UID,
        "labels": NODE_LABELS,
        "annotations": NODE_ANNOTATIONS,
    },
    "status": {
        "nodeInfo": {"bootID": _UID, "kubeletVersion": text(words.kubelet_version)},
        "capacity": AMOUNTS,
        "allocatable": AMOUNTS,
    },
}

_RESOURCES = {"requests": AMOUNTS, "limits": AMOUNTS}
_USED = {**_RESOURCES, "claims": [{"name": name(Kind.CLAIM)}]}
_CONTAINER = {"name": name(Kind.CONTAINER), "resources": _USED}
_INIT_CONTAINER = {**_CONTAINER, "restartPolicy": one_of("Always", "OnFailure", "Never")}
_STATUS = {
    "name": name(Kind.CONTAINER),
    "containerID": text(lambda names, value: words.container_id(names, value) if value else value),
    "state": {"running": {}},
}


def _managed_fields(names: Names, value: object) -> object:
    """Who owns the annotations that decide."""
    if not isinstance(value, list | tuple):
        return mistyped(names, value)
    return [_manager(names, mapping(entry)) for entry in value]


def _manager(names: Names, entry: Document) -> Document:
    metadata = mapping(mapping(entry.get("fieldsV1")).get("f:metadata"))
    owned = mapping(metadata.get("f:annotations"))
    keys = (key for key in owned if isinstance(key, str))
    kept: Document = {key: {} for key in keys if key.removeprefix("f:") in pod_keys.DECIDING}
    fields = {"f:metadata": {"f:annotations": kept}} if kept else {}
    shown = reduced(
        {
            "manager": text(lambda known, value: words.manager(known, value) if value else value),
            "operation": one_of("Apply", "Update"),
            "subresource": one_of("status", "scale", ""),
        },
        entry,
        names,
    )
    return {**mapping(shown), "fieldsV1": fields}


_OWNER = {
    "kind": one_of("ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Node"),
    "name": name(Kind.POD),
    "controller": flag,
}
_POD = {
    "metadata": {
        "namespace": name(Kind.NAMESPACE),
        "name": name(Kind.POD),
        "uid": _UID,
        "annotations": POD_ANNOTATIONS,
        "labels": POD_LABELS,
        "managedFields": _managed_fields,
        "ownerReferences": [_OWNER],
    },
    "spec": {
        "runtimeClassName": text(
            lambda names, value: words.runtime_class(names, value) if value else value
        ),
        "containers": [_CONTAINER],
        "initContainers": [_INIT_CONTAINER],
        "overhead": AMOUNTS,
        "resources": _RESOURCES,
    },
    "status": {
        "phase": one_of("Pending", "Running", "Succeeded", "Failed", "Unknown"),
        "reason": text(lambda names, value: words.reason(names, value) if value else value),
        "startTime": _MOMENT,
        "qosClass": one_of("Guaranteed", "Burstable", "BestEffort"),
        "initContainerStatuses": [_STATUS],
        "containerStatuses": [_STATUS],
        "ephemeralContainerStatuses": [_STATUS],
    },
}
_POD_LIST = {"kind": one_of("PodList"), "apiVersion": one_of("v1"), "items": [_POD]}

_TOPOLOGY = {"nodes": [{"ID": number}]}
_HELD = {
    "cpu_ids": [number],
    "devices": [
        {
            "resource_name": text(words.resource),
            "device_ids": [text(words.unit)],
            "topology": _TOPOLOGY,
        }
    ],
    "memory": [
        {"memory_type": text(words.resource), "size": number, "topology": _TOPOLOGY},
    ],
}
_CLAIM = {
    "claim_namespace": name(Kind.NAMESPACE),
    "claim_name": name(Kind.CLAIM),
    "claim_resources": [
        {
            "driver_name": text(words.driver_domain),
            "pool_name": name(Kind.CLAIM),
            "device_name": text(words.unit),
            "cdi_devices": [{"name": text(words.cdi_device)}],
        }
    ],
}
_GRANTED = both_spellings(
    {
        "list": {
            "pod_resources": [
                {
                    "namespace": name(Kind.NAMESPACE),
                    "name": name(Kind.POD),
                    "containers": [
                        {
                            "name": name(Kind.CONTAINER),
                            **_HELD,
                            "dynamic_resources": [_CLAIM],
                        }
                    ],
                }
            ]
        },
        "allocatable": _HELD,
    }
)


def node(document: Document, names: Names) -> Document:
    """A v1 Node."""
    return mapping(reduced(_NODE, document, names))


def pods(document: Document, names: Names) -> Document:
    """A v1 PodList."""
    return mapping(reduced(_POD_LIST, document, names))


def podresources(document: Document, names: Names) -> Document:
    """What kubelet's podresources API answers, as answers/podresources.json has it."""
    return mapping(reduced(_GRANTED, document, names))
