"""Writing our annotations on a pod, and evicting it: that pod and none that has its name later.

Server-side apply, with the pod's uid in it: https://kubernetes.io/docs/reference/using-api/server-side-apply/
Eviction: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from numa_agent.cluster import kinds
from numa_agent.cluster.answers import Answer, refusal
from numa_agent.cluster.connection import Request
from numa_agent.core.documents import items, mapping, text
from numa_agent.core.errors import GoneError
from numa_agent.core.pods import Pod
from numa_agent.core.publishing import FIELD_MANAGER

_APPLY = "application/apply-patch+yaml"
EVICTION_LABELS = {"numa-agent.io/evicts": "unplaced"}
"""By which the admission policy of the component pod-eviction knows ours; nothing is stored."""

_TWO_BUDGETS = "more than one PodDisruptionBudget"
_BUDGET = "DisruptionBudget"


class Server(Protocol):
    """What answers requests: a Connection."""

    @property
    def url(self) -> str:
        """Its address."""

    def send(self, request: Request) -> Answer:
        """Whatever the server answers. Raises ApiError where it doesn't."""


def mark(server: Server, pod: Pod, annotations: Mapping[str, str]) -> None:
    """Have these be the annotations of ours that the pod has; others' stay as they are.

    A key of ours that somebody else wrote is ours from then on. The same again changes nothing on
    the server. GoneError where the pod isn't there, or another one has its name; else ApiError.
    """
    metadata: dict[str, object] = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,  # without it the server would make a pod, or mark the wrong one
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    target = replace(kinds.pod(pod.namespace, pod.name), rights="patch pods")
    request = Request(
        what=f"annotate {target.label}",
        method="PATCH",
        path=target.path,
        query={"fieldManager": FIELD_MANAGER, "force": "true"},
        content_type=_APPLY,
        body=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}),
    )
    answer = server.send(request)
    if _is_gone(answer):
        raise GoneError(f"{target.label} isn't there any more: {_said(answer)}")
    if answer.document is None or not 200 <= answer.status < 300:
        raise refusal(answer, request.what, server.url, target)


def evict(server: Server, pod: Pod) -> str | None:
    """Evict the pod; None where that was granted, else why it can't be now.

    GoneError and ApiError as for `mark`. The server takes ten seconds to say that another pod has
    the name (measured on 1.36, it tries twenty times): mark the pod first, which is told at once.
    """
    plain = kinds.pod(pod.namespace, pod.name)
    target = replace(plain, path=f"{plain.path}/eviction", rights="create pods/eviction")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "labels": EVICTION_LABELS},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    request = Request(
        what=f"evict {target.label}",
        method="POST",
        path=target.path,
        query={},
        content_type="application/json",
        body=json.dumps(eviction),
    )
    answer = server.send(request)
    if _is_gone(answer):
        raise GoneError(f"{target.label} isn't there any more: {_said(answer)}")
    if (budget := _budget(answer)) is not None:
        return budget
    if answer.document is None or not 200 <= answer.status < 300:
        raise refusal(answer, request.what, server.url, target)
    return None


def _is_gone(answer: Answer) -> bool:
    """Whether the pod of this uid isn't there: an apply with another pod's uid is invalid."""
    fields = {cause.get("field") for cause in _causes(answer)}
    return (
        (answer.status == 404 and answer.says("NotFound"))
        or (answer.status == 409 and answer.says("Conflict"))
        or (answer.status == 422 and "metadata.uid" in fields)
    )


def _budget(answer: Answer) -> str | None:
    """What a PodDisruptionBudget has against it, None where it isn't one that refuses."""
    if answer.status == 500 and _TWO_BUDGETS in _said(answer):
        return _said(answer)
    for cause in _causes(answer) if answer.status == 429 else ():
        if cause.get("reason") == _BUDGET:
            return text(cause.get("message")) or _said(answer)
    return None


def _causes(answer: Answer) -> list[Mapping[str, object]]:
    details = mapping(mapping(answer.document).get("details"))
    return [mapping(cause) for cause in items(details.get("causes"))]


def _said(answer: Answer) -> str:
    return (text(mapping(answer.document).get("message")) or f"HTTP {answer.status}")[:500]
