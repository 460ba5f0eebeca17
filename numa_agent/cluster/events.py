"""v1 Events, named so that telling the same thing twice makes one Event.

The core group's Event and not events.k8s.io's: both are one object on the server, `kubectl
describe` and `kubectl events` read the former, one right is enough, and of the latter nothing but
its series may be changed, so that the words of a fault that lasts would grow old.
https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

import hashlib
from datetime import UTC, datetime, timedelta

from numa_agent.core.publishing import FIELD_MANAGER
from numa_agent.core.telling import About, Due, Notice, Subject

DEFAULT_NAMESPACE = "default"
"""Where the Events of what has no namespace lie."""

MESSAGE_BYTES = 1024
_INSTANCE_BYTES = 128
_NAME_LENGTH = 253
_DIGITS = 16


def namespace_of(subject: Subject) -> str:
    """The namespace that an object's Events lie in: its own, or `default`."""
    return subject.namespace or DEFAULT_NAMESPACE


def event(due: Due, host: str, at: datetime) -> dict[str, object]:
    """The Event; the server keeps it for as long as it keeps Events (an hour).

    A longer message than the API takes is cut. `at` needs a time zone; `host` is the node.
    """
    notice = due.notice
    subject = notice.subject
    involved = {
        "apiVersion": "v1",
        "kind": subject.about.value,
        "name": subject.name,
        "uid": subject.uid,
    }
    if subject.about is About.POD:
        involved["namespace"] = subject.namespace
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name(notice), "namespace": namespace_of(subject)},
        "involvedObject": involved,
        "reason": notice.reason.name,
        "message": _message(notice),
        "type": notice.reason.kind.value,
        "source": {"component": FIELD_MANAGER, "host": host},
        "reportingComponent": FIELD_MANAGER,
        "reportingInstance": host[:_INSTANCE_BYTES],
        "firstTimestamp": _stamp(at - timedelta(seconds=due.age)),
        "lastTimestamp": _stamp(at),
        "count": 1,
    }


def repetition(due: Due, at: datetime) -> dict[str, object]:
    """What of an Event changes when it is told again; a count that isn't known stays."""
    changed: dict[str, object] = {
        "message": _message(due.notice),
        "lastTimestamp": _stamp(at),
    }
    if due.count is not None:
        changed["count"] = due.count + 1
    return changed


def event_name(notice: Notice) -> str:
    """The object's name and a hash of what is told, a DNS subdomain as the API wants it."""
    subject = notice.subject
    who = (subject.about.value, subject.namespace, subject.name, subject.uid)
    told = "\0".join((*who, notice.reason.name, notice.key)).encode(errors="replace")
    suffix = hashlib.sha256(told).hexdigest()[:_DIGITS]
    return f"{subject.name[: _NAME_LENGTH - _DIGITS - 1].rstrip('-.')}.{suffix}"


def _message(notice: Notice) -> str:
    return notice.message.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore")


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
