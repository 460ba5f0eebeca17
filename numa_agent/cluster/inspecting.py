"""Asking the API server who we are, what we may do and what it serves; nothing is stored by that.

SelfSubjectReview: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/self-subject-review-v1/
SelfSubjectAccessReview: https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from numa_agent.cluster.answers import Answer, refusal
from numa_agent.cluster.api import Cluster, Server
from numa_agent.cluster.connection import Connection, Request, load
from numa_agent.cluster.kinds import Target
from numa_agent.cluster.tokens import allowed
from numa_agent.core.doctor.rights import Right
from numa_agent.core.documents import items, mapping, text

READ_SECONDS = 10

_JSON = "application/json"
_WHOM = Target(
    label="SelfSubjectReview",
    path="/apis/authentication.k8s.io/v1/selfsubjectreviews",
    rights="create selfsubjectreviews.authentication.k8s.io",
    missing="servers before Kubernetes 1.28 don't have it",
)
_MAY = Target(
    label="SelfSubjectAccessReview",
    path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    rights="create selfsubjectaccessreviews.authorization.k8s.io",
    missing="does the server speak authorization.k8s.io/v1?",
)


class Inspector:
    """One API server, asked about itself and about us. Each method raises ApiError."""

    def __init__(self, server: Server, now: Callable[[], datetime]) -> None:
        """Take the server and a clock of the time of day."""
        self._server = server
        self._now = now
        self.clock_ahead: float | None = None
        """The seconds that `now` is ahead of the last answer's Date, None where it had none."""

    @property
    def cluster(self) -> Cluster:
        """The same server, to read objects from."""
        return Cluster(self._server)

    def user(self) -> str | None:
        """Our name, None where the server doesn't tell it (before Kubernetes 1.28)."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = self._sent("create", _WHOM, body)
        if answer.status == 404:
            return None
        status = mapping(self._document("create", _WHOM, answer).get("status"))
        return text(mapping(status.get("userInfo")).get("username"))

    def may(self, right: Right) -> bool:
        """Whether we have a right; anything unclear is a no."""
        resource, _, subresource = right.resource.partition("/")
        asked = {"group": right.group, "resource": resource, "verb": right.verb}
        if subresource:
            asked["subresource"] = subresource
        if right.namespace:
            asked["namespace"] = right.namespace
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        return allowed(self._document("create", _MAY, self._sent("create", _MAY, body)))

    def serves(self, group: str, version: str, plural: str) -> bool:
        """Whether it serves a resource in a version of its group."""
        target = Target(
            label=f"resources of {group}/{version}",
            path=f"/apis/{group}/{version}",
            rights=f"get /apis/{group}/{version}",
            missing="the group isn't served",
        )
        answer = self._sent("get", target)
        if answer.status == 404:
            return False
        listed = items(self._document("get", target, answer).get("resources"))
        return any(mapping(each).get("name") == plural for each in listed)

    def close(self) -> None:
        """Close the connections that are kept open between requests."""
        self._server.close()

    def _sent(self, verb: str, target: Target, body: Mapping[str, object] | None = None) -> Answer:
        request = Request(
            what=f"{verb} {target.label}",
            method="GET" if body is None else "POST",
            path=target.path,
            query={},
            content_type="" if body is None else _JSON,
            body=None if body is None else json.dumps(body),
        )
        before = self._now()
        answer = self._server.send(request)
        self.clock_ahead = _ahead(answer, before, self._now())
        return answer

    def _document(self, verb: str, target: Target, answer: Answer) -> dict[str, object]:
        document = answer.document
        if document is None or not 200 <= answer.status < 300:
            raise refusal(answer, f"{verb} {target.label}", self._server.url, target)
        return document


def _ahead(answer: Answer, before: datetime, after: datetime) -> float | None:
    """How far our clock is ahead, by the Date of an answer that was made between two moments."""
    dates = [value for key, value in answer.headers.items() if key.lower() == "date"]
    try:
        date = parsedate_to_datetime(dates[0])
    except (IndexError, ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    # It counts whole seconds, so that it stands for any moment of one.
    behind = min((after - date).total_seconds(), 0.0)
    return behind or max((before - date).total_seconds() - 1.0, 0.0)


def inspector(kubeconfig: Path | None) -> Inspector:
    """The API server that a kubeconfig names, without asking it anything; as in api.connect."""
    connection = Connection(load(kubeconfig), READ_SECONDS, lambda: load(kubeconfig))
    return Inspector(connection, lambda: datetime.now(UTC))
