"""The API server as plain JSON mappings: what is read of a node, and what is written about it.

Paths, verbs and answers follow https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from numa_agent.cluster import kinds, marks, tokens
from numa_agent.cluster.answers import NO_API_SERVER, Answer, refusal
from numa_agent.cluster.connection import Connection, Request, load
from numa_agent.cluster.events import event, event_name, namespace_of, repetition
from numa_agent.cluster.kinds import Target, target_of
from numa_agent.core.access import User
from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.errors import ApiError, GoneError
from numa_agent.core.pods import Pod
from numa_agent.core.publishing import FIELD_MANAGER, Applied
from numa_agent.core.telling import Due

READ_SECONDS = 30
PAGE_SIZE = 500
MOST_PAGES = 100

_METHODS = {"get": "GET", "list": "GET", "patch": "PATCH", "create": "POST"}
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON = "application/json"


class Server(Protocol):
    """What answers requests: a Connection."""

    @property
    def url(self) -> str:
        """Its address."""

    def send(self, request: Request) -> Answer:
        """Whatever the server answers. Raises ApiError where it doesn't."""

    def close(self) -> None:
        """Let go of what is kept open between requests."""


class Cluster:
    """One API server, seen by one user; its answers are mappings in the API's own spelling.

    ApiError names verb, target and server, and what to do.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The server's address."""
        return self._server.url

    def node(self, name: str) -> Document:
        """Return the v1 Node of that name."""
        return self._get(kinds.node(name))

    def configz(self, node_name: str) -> Document:
        """Return the configuration that a Node's kubelet runs with.

        The API server asks kubelet for it, so that TLS and rights are those of the cluster:
        https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
        """
        return self._get(kinds.configz(node_name))

    def pods_on(self, node_name: str, *, page_size: int = PAGE_SIZE) -> Document:
        """Return a v1 PodList of every pod bound to the node, read page by page.

        All pages show the state of one resourceVersion. ApiError beyond MOST_PAGES.
        """
        selector = f"spec.nodeName={node_name}"
        return self._listed(kinds.pods_on(node_name), page_size, fieldSelector=selector)

    def pod(self, namespace: str, name: str) -> Document | None:
        """Return one v1 Pod, None where there is none."""
        target = kinds.pod(namespace, name)
        answer = self._send("get", target)
        if answer.status == 404 and answer.says("NotFound"):
            return None
        return self._document("get", target, answer)

    def topologies(self, *, page_size: int = PAGE_SIZE) -> list[object]:
        """Return the NodeResourceTopologies of all nodes."""
        return [*items(self._listed(kinds.topologies(), page_size).get("items"))]

    def _listed(self, target: Target, page_size: int, **selectors: str) -> Document:
        query = {**selectors, "limit": str(page_size)}
        found: list[object] = []
        for _ in range(MOST_PAGES):
            answer = self._send("list", target, query)
            page = self._document("list", target, answer)
            entries, metadata = page.get("items"), page.get("metadata")
            if not isinstance(entries, list) or not isinstance(metadata, dict):
                raise self._strange("list", target, answer, "the answer is no list")
            found += entries
            following = metadata.get("continue")
            if not following:
                return {**page, "items": found}
            query["continue"] = following
        message = f"can't list {target.label} at {self.url}: more than {MOST_PAGES} pages"
        raise ApiError(f"{message}; ask for larger ones")

    def read(self, manifest: Document) -> dict[str, object] | None:
        """Return the whole object of the manifest's kind, version and name, None without one.

        A kind that the server doesn't serve is an ApiError. ValueError for a manifest of a kind
        that isn't published.
        """
        target = target_of(manifest)
        answer = self._send("get", target)
        if answer.status == 404 and answer.says("NotFound"):
            return None  # a kind that isn't served has a bare 404, without a Status
        return self._document("get", target, answer)

    def apply(self, manifest: Document, *, force: bool = False) -> Applied:
        """Make our fields of an object those of the manifest; keep those of others.

        A field that another manager set to something else is a 409 that names the manager; `force`
        takes it over. A metadata.resourceVersion in the manifest makes it a 409 as well where the
        object has changed since. ValueError for a manifest of a kind that isn't published.
        https://kubernetes.io/docs/reference/using-api/server-side-apply/
        """
        target = target_of(manifest)
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false"}
        return self._patched(
            target, self._send("patch", target, query, body=json.dumps(manifest), content=_APPLY)
        )

    def set_managers(
        self, manifest: Document, entries: list[dict[str, object]], version: str
    ) -> Applied:
        """Replace the managedFields of an object, 409 where its resourceVersion is another."""
        target = target_of(manifest)
        metadata = {"resourceVersion": version, "managedFields": entries}
        body = json.dumps({"metadata": metadata})
        query = {"fieldManager": FIELD_MANAGER}
        return self._patched(target, self._send("patch", target, query, body=body, content=_MERGE))

    def record_event(self, due: Due, *, host: str, at: datetime | None = None) -> int | None:
        """Make an Event, or repeat the one that was made: one request.

        How often the server has it, None where it was there before us. GoneError where the one to
        repeat isn't there any more, or the namespace goes; `host` is the node that tells.
        """
        subject, moment = due.notice.subject, at or datetime.now(UTC)
        who, namespace = f"{subject.about} {subject.full_name}", namespace_of(subject)
        if due.again:
            target = kinds.event_named(event_name(due.notice), who, namespace)
            body = json.dumps(repetition(due, moment))
            answer = self._send("patch", target, body=body, content=_MERGE)
            gone = answer.status == 404
        else:
            target = kinds.events_of(who, namespace)
            body = json.dumps(event(due, host, moment))
            answer = self._send("create", target, body=body, content=_JSON)
            if answer.status == 409 and answer.says("AlreadyExists"):
                return None
            gone = answer.namespace_goes
        if gone:
            raise GoneError(f"{target.label}: {target.missing}")
        count = self._document("patch" if due.again else "create", target, answer).get("count")
        return count if isinstance(count, int) else None

    def mark(self, pod: Pod, annotations: Mapping[str, str]) -> None:
        """Make these the annotations of ours on a pod: numa_agent.cluster.marks."""
        marks.mark(self._server, pod, annotations)

    def evict(self, pod: Pod) -> str | None:
        """Evict a pod; None where it was granted, else why it can't be now."""
        return marks.evict(self._server, pod)

    def user_of(self, token: str, audiences: Sequence[str] = ()) -> User | None:
        """Return whom a bearer token stands for, None where it isn't good.

        Without audiences it must be one that the API server takes itself.
        """
        body = json.dumps(tokens.token_review(token, audiences))
        answer = self._send("create", tokens.TOKEN_REVIEWS, body=body, content=_JSON)
        review = self._document("create", tokens.TOKEN_REVIEWS, answer)
        return tokens.reviewed_user(review, audiences)

    def may_get(self, user: User, path: str) -> bool:
        """Return whether a user may get a path that is no resource of the API, say /metrics."""
        body = json.dumps(tokens.access_review(user, path))
        answer = self._send("create", tokens.ACCESS_REVIEWS, body=body, content=_JSON)
        return tokens.allowed(self._document("create", tokens.ACCESS_REVIEWS, answer))

    def close(self) -> None:
        """Close the connections that are kept open between requests."""
        self._server.close()

    def _patched(self, target: Target, answer: Answer) -> Applied:
        metadata = mapping(self._document("patch", target, answer).get("metadata"))
        version = text(metadata.get("resourceVersion"))
        if version is None:
            what = "the answer has no metadata.resourceVersion"
            raise self._strange("patch", target, answer, what)
        return Applied(created=answer.status == 201, resource_version=version)

    def _get(self, target: Target) -> Document:
        return self._document("get", target, self._send("get", target))

    def _send(
        self,
        verb: str,
        target: Target,
        query: Mapping[str, str] | None = None,
        *,
        body: str | None = None,
        content: str = "",
    ) -> Answer:
        request = Request(
            what=f"{verb} {target.label}",
            method=_METHODS[verb],
            path=target.path,
            query=query or {},
            content_type=content,
            body=body,
        )
        return self._server.send(request)

    def _document(self, verb: str, target: Target, answer: Answer) -> dict[str, object]:
        """Return the object of a 2xx answer; ApiError for any other."""
        document = answer.document
        if document is None or not 200 <= answer.status < 300:
            raise refusal(answer, f"{verb} {target.label}", self.url, target)
        return document

    def _strange(self, verb: str, target: Target, answer: Answer, what: str) -> ApiError:
        """The error of an answer that no API server gives."""
        message = f"can't {verb} {target.label} at {self.url}: {what}; {NO_API_SERVER}"
        return ApiError(message, status=answer.status)


def connect(kubeconfig: Path | None, *, read_seconds: float = READ_SECONDS) -> Cluster:
    """Return the cluster that the kubeconfig names, without asking it anything.

    Later a request waits `read_seconds` at most for the next part of an answer.

    Without one it is the cluster of the pod's ServiceAccount and, outside of a pod, that of
    $KUBECONFIG or ~/.kube/config. SourceError says what was tried.
    """
    return Cluster(Connection(load(kubeconfig), read_seconds, lambda: load(kubeconfig)))
