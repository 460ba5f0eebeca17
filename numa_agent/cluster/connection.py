"""Finding the API server and sending it one request.

In a pod its ServiceAccount says where the server is and who we are; elsewhere a kubeconfig does,
which the client library reads (exec plugin, client certificate, proxy). The library is loaded for
that alone: it takes as much memory as half of the agent. Requests and answers are plain JSON.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import urllib3

from numa_agent.cluster.account import Account, NoAccountError
from numa_agent.cluster.answers import Answer
from numa_agent.cluster.cutting import Cutter, hold_sockets
from numa_agent.cluster.entry import Entry
from numa_agent.cluster.transport import translated
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.publishing import FIELD_MANAGER

CONNECT_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request; `what` says in words what it does, such as `get Node n`."""

    what: str
    method: str
    path: str
    query: Mapping[str, str]
    content_type: str
    body: str | None


class Connection:
    """One API server, seen by one user.

    No request waits longer than CONNECT_SECONDS for a connection or `read_seconds` for the next
    part of an answer. `load_again` reads the credentials anew; a `cutter` may end a request from
    another thread.
    """

    def __init__(
        self,
        entry: Entry,
        read_seconds: float,
        load_again: Callable[[], Entry] | None = None,
        cutter: Cutter | None = None,
    ) -> None:
        self.url = entry.url
        self._read_seconds = read_seconds
        self._load_again = load_again
        self._cutter = cutter
        self._enter(entry)

    def _enter(self, entry: Entry) -> None:
        self._entry = entry
        self._pool = entry.pool()
        if self._cutter is not None:
            hold_sockets(self._pool, self._cutter)

    def send(self, request: Request) -> Answer:
        """Return whatever the server answers. Raises ApiError where it doesn't."""
        answer = self.open(request)
        with translated(request.what, self.url):
            body = answer.data
        return Answer(status=answer.status, headers=dict(answer.headers), body=body)

    def open(
        self, request: Request, read_seconds: float | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Return an answer whose body is still to be read. Raises ApiError where there is none.

        A token that was renewed where it lies is tried once more.
        """
        answer = self._asked(request, read_seconds)
        if answer.status == 401 and self.renew(request.what):
            answer.close()
            answer = self._asked(request, read_seconds)
        return answer

    def renew(self, what: str) -> bool:
        """Read the credentials again; whether they are others now. Raises ApiError."""
        if self._load_again is None:
            return False
        before = self._authorization(what)
        try:
            entry = self._load_again()
        except SourceError as error:
            raise ApiError(f"can't {what} at {self.url}: {error}", status=401) from error
        if entry.url != self.url:
            return False  # another cluster is another Connection
        self.close()
        self._enter(entry)
        return self._authorization(what) != before

    def _asked(self, request: Request, read_seconds: float | None) -> urllib3.BaseHTTPResponse:
        headers = {
            "Accept": "application/json",
            "User-Agent": FIELD_MANAGER,
            **self._authorization(request.what),
        }
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        query = f"?{urlencode(request.query)}" if request.query else ""
        read = self._read_seconds if read_seconds is None else read_seconds
        with translated(request.what, self.url):
            return self._pool.request(
                request.method,
                f"{self.url}{request.path}{query}",
                body=request.body,
                headers=headers,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read),
                retries=False,  # the next pass is the retry
                redirect=False,
                preload_content=False,
            )

    def close(self) -> None:
        """Close the connections that are kept open between requests."""
        self._pool.clear()

    def _authorization(self, what: str) -> dict[str, str]:
        """Return the header that signs us in, empty where a client certificate does.

        Asked for each request, since a rotated token is read anew in here.
        """
        try:
            value = self._entry.authorization()
        except SourceError as error:
            message = f"can't {what}: can't renew the token for {self.url}: {error}"
            raise ApiError(message) from error
        return {"Authorization": value} if value else {}


def load(kubeconfig: Path | None) -> Entry:
    """Return how to reach the cluster that the kubeconfig names, without asking it anything.

    Without one it is the cluster of the pod's ServiceAccount and, outside of a pod, that of
    $KUBECONFIG or ~/.kube/config. SourceError says what was tried.
    """
    if kubeconfig is None:
        return _surroundings()
    if kubeconfig.is_file():
        return _kubeconfig(str(kubeconfig))
    raise SourceError(f"no kubeconfig at {kubeconfig}: give the path of one")


def _surroundings() -> Entry:
    """The pod's ServiceAccount, or else what the user's default kubeconfig says."""
    try:
        account = Account(os.environ)
    except NoAccountError as no_pod:
        try:
            return _kubeconfig(None)
        except SourceError as error:
            raise SourceError(
                f"no way to an API server: not as a pod's ServiceAccount ({no_pod}), and {error}."
                " Give --kubeconfig, set KUBECONFIG, or run in a pod with a ServiceAccount"
            ) from error
    return account


def _kubeconfig(path: str | None) -> Entry:
    from numa_agent.cluster.kubeconfig import Kubeconfig

    return Kubeconfig(path)
