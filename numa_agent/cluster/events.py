"""A v1 Event about a Node, named so that telling the same thing twice makes one Event.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

import hashlib
from datetime import UTC, datetime

from numa_agent.core.publishing import FIELD_MANAGER

MESSAGE_BYTES = 1024
_NAME_LENGTH = 253
_DIGITS = 16


def event(node_name: str, *, reason: str, message: str, at: datetime) -> dict[str, object]:
    """The Event, a warning; the server keeps it for as long as it keeps Events (an hour).

    A longer message than the API takes is cut. `at` needs a time zone.
    """
    time = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": _name(node_name, reason, message), "namespace": "default"},
        # kubelet gives the name for the uid of a Node, and that is what `kubectl describe` asks.
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Node",
            "name": node_name,
            "uid": node_name,
        },
        "reason": reason,
        "message": message.encode()[:MESSAGE_BYTES].decode(errors="ignore"),
        "type": "Warning",
        "source": {"component": FIELD_MANAGER, "host": node_name},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _name(node_name: str, reason: str, message: str) -> str:
    """The node's name and a hash of what is told, a DNS subdomain as the API wants it."""
    told = "\0".join((node_name, reason, message)).encode()
    suffix = hashlib.sha256(told).hexdigest()[:_DIGITS]
    return f"{node_name[: _NAME_LENGTH - _DIGITS - 1].rstrip('-.')}.{suffix}"
