"""What is asked of the API server about the pods of a node.

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace

import urllib3

from numa_agent.cluster.answers import NO_API_SERVER, Answer, refusal
from numa_agent.cluster.connection import Connection, Request
from numa_agent.cluster.cutting import Cutter
from numa_agent.cluster.kinds import pods_on
from numa_agent.cluster.watch.lines import MOST_LINE_BYTES, body, lines, parts
from numa_agent.cluster.watch.patience import Patience
from numa_agent.core.documents import Document, mapping
from numa_agent.core.errors import ApiError
from numa_agent.core.list_items import ListItems
from numa_agent.core.pod_entries import Entry, listed_entry, version_of
from numa_agent.core.podstore import PodStore, listed

_PROBED = "/api/v1/namespaces/default/pods"
_NOBODY = {"fieldSelector": "metadata.name=numa-agent"}


class GarbledError(ApiError):
    """What came is nothing that an API server sends."""


class PodRequests:
    """Lists and watches the pods of one node, each time on a connection of its own.

    Whatever isn't the answer is an ApiError that names verb, node and server.
    """

    def __init__(
        self, connection: Connection, cutter: Cutter, node_name: str, patience: Patience
    ) -> None:
        self._connection = connection
        self._cutter = cutter
        self._patience = patience
        self._selector = {"fieldSelector": f"spec.nodeName={node_name}"}
        self._target = replace(pods_on(node_name), rights="list and watch pods")

    @property
    def label(self) -> str:
        """What is followed, as people say it."""
        return f"{self._target.label} at {self._connection.url}"

    def listed(self, before: PodStore | None) -> PodStore:
        """The state of now: no resourceVersion means the most recent, never a cache's older one.

        No limit either: with one, servers before 1.34 read all pods of the cluster from etcd.
        """
        try:
            return listed(self._got(self._target.path, self._selector), before)
        except ValueError as error:
            raise self._garbled("list", str(error)) from error

    def version(self) -> str:
        """The resourceVersion that the server is at now, by a list that reads one key of etcd.

        A watch from a version that the server hasn't come to is no error: it stays silent, and
        drops all that happens until then (measured on 1.36).
        """
        try:
            return version_of(self._got(_PROBED, _NOBODY))
        except ValueError as error:
            raise self._garbled("list", str(error)) from error

    def events(self, version: str, seconds: int) -> Generator[Document | None, None, None]:
        """The watch's events after a version; a first None says that it is open.

        It ends when the server ends it. The ApiError has the status 410 where the version is too
        old, at the beginning or later.
        """
        query = {
            **self._selector,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        what, silence = self._what("watch"), self._patience.silence
        with self._answer("watch", self._target.path, query, silence) as answer:
            yield None
            for line in lines(answer, what, self._connection.url, silence):
                if line.strip():
                    yield self._event(line)

    def _event(self, line: bytes) -> Document:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._garbled("watch", f"a line isn't JSON: {line[:80]!r}") from error
        if not isinstance(event, dict):
            raise self._garbled("watch", f"a line is no event: {line[:80]!r}")
        if event.get("type") == "ERROR":
            raise self._error(mapping(event.get("object")))
        return event

    def garbled(self, why: str) -> GarbledError:
        """The error of an event that can't be one."""
        return self._garbled("watch", why)

    def _error(self, status: Document) -> ApiError:
        code = status.get("code")
        found = Answer(
            status=code if isinstance(code, int) else 500, body=json.dumps(status).encode()
        )
        return refusal(found, self._what("watch"), self._connection.url, self._target)

    def _got(self, path: str, query: Mapping[str, str]) -> dict[str, object]:
        patience = self._patience
        found = ListItems(MOST_LINE_BYTES)
        pods: list[Entry] = []
        try:
            with self._answer("list", path, query, patience.answer) as answer:
                what, url = self._what("list"), self._connection.url
                for part in parts(answer, what, url, patience.whole):
                    pods += map(listed_entry, found.feed(part))
            frame = json.loads(found.frame)
        except (ValueError, RecursionError) as error:
            shown = bytes(found.frame[:80])
            raise self._garbled("list", f"it isn't a list in JSON: {shown!r}") from error
        if not isinstance(frame, dict):
            raise self._garbled("list", f"it is no list: {bytes(found.frame[:80])!r}")
        return {**frame, "items": pods} if isinstance(frame.get("items"), list) else frame

    @contextmanager
    def _answer(
        self, verb: str, path: str, query: Mapping[str, str], read_seconds: float
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """An answer with the status 200; its connection is closed afterwards."""
        patience, url = self._patience, self._connection.url
        request = Request(
            what=self._what(verb), method="GET", path=path, query=query, content_type="", body=None
        )
        try:
            with closing(self._connection.open(request, read_seconds)) as answer:
                if answer.status != 200:
                    text = body(answer, request.what, url, patience.whole)
                    headers = dict(answer.headers)
                    found = Answer(status=answer.status, headers=headers, body=bytes(text))
                    raise refusal(found, request.what, url, self._target)
                yield answer
        finally:
            self._cutter.release()

    def _what(self, verb: str) -> str:
        return f"{verb} {self._target.label}"

    def _garbled(self, verb: str, why: str) -> GarbledError:
        url = self._connection.url
        return GarbledError(f"can't {self._what(verb)} at {url}: {why}; {NO_API_SERVER}")
