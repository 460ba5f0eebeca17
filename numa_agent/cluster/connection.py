"""Finding the API server and sending it one request.

The client library finds the server and signs in (kubeconfig, exec plugin, rotated ServiceAccount
token, TLS, proxy). Requests and answers bypass its API classes and models, which would cost the
process tens of MB.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import (
    KUBE_CONFIG_DEFAULT_LOCATION,
    ConfigException,
    load_incluster_config,
    load_kube_config,
)

from numa_agent.cluster.answers import Answer
from numa_agent.cluster.cutting import Cutter, hold_sockets
from numa_agent.cluster.transport import translated
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.publishing import FIELD_MANAGER

CONNECT_SECONDS = 5

# What the library raises for a kubeconfig: its own error, those of files and of YAML, and for YAML
# of another shape whatever it stumbles over.
_LOAD_ERRORS = (
    *(ConfigException, OSError, yaml.YAMLError),
    *(AttributeError, KeyError, TypeError, ValueError),
)


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
        configuration: Configuration,
        read_seconds: float,
        load_again: Callable[[], Configuration] | None = None,
        cutter: Cutter | None = None,
    ) -> None:
        self.url: str = configuration.host
        self._read_seconds = read_seconds
        self._load_again = load_again
        self._cutter = cutter
        self._configure(configuration)

    def _configure(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
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
            configuration = self._load_again()
        except SourceError as error:
            raise ApiError(f"can't {what} at {self.url}: {error}", status=401) from error
        if configuration.host != self.url:
            return False  # another cluster is another Connection
        self.close()
        self._configure(configuration)
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

        Asked for each request, since the library reads a rotated token anew in here.
        """
        try:
            token = self._configuration.auth_settings().get("BearerToken")
        except _LOAD_ERRORS as error:
            message = f"can't {what}: can't renew the token for {self.url}: {error}"
            raise ApiError(message) from error
        value = token["value"] if token else None
        return {"Authorization": value} if value else {}


def load(kubeconfig: Path | None) -> Configuration:
    """Return how to reach the cluster that the kubeconfig names, without asking it anything.

    Without one it is the cluster of the pod's ServiceAccount and, outside of a pod, that of
    $KUBECONFIG or ~/.kube/config. SourceError says what was tried.
    """
    configuration = Configuration()
    if kubeconfig is None:
        _load_surroundings(configuration)
    elif kubeconfig.is_file():
        _load_kubeconfig(str(kubeconfig), configuration)
    else:
        raise SourceError(f"no kubeconfig at {kubeconfig}: give the path of one")
    return configuration


def _load_surroundings(configuration: Configuration) -> None:
    """Sign in as the pod's ServiceAccount, or else as the user's default kubeconfig says."""
    try:
        load_incluster_config(configuration)
    except (ConfigException, OSError) as no_pod:
        try:
            _load_kubeconfig(KUBE_CONFIG_DEFAULT_LOCATION, configuration)
        except SourceError as error:
            raise SourceError(
                f"no way to an API server: not as a pod's ServiceAccount ({no_pod}), and {error}."
                " Give --kubeconfig, set KUBECONFIG, or run in a pod with a ServiceAccount"
            ) from error


def _load_kubeconfig(path: str, configuration: Configuration) -> None:
    try:
        load_kube_config(path, client_configuration=configuration, persist_config=False)
    except _LOAD_ERRORS as error:
        raise SourceError(
            f"can't use kubeconfig {path}: {error}; `kubectl config view` says more about it"
        ) from error
