"""Finding the API server and sending it one request.

The client library finds the server and signs in (kubeconfig, exec plugin, rotated ServiceAccount
token, TLS, proxy). Requests and answers bypass its API classes and models, which would cost the
process tens of MB.
"""

from collections.abc import Mapping
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
from urllib3 import exceptions as transport

from numa_agent.cluster.answers import NO_API_SERVER, Answer
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.publishing import FIELD_MANAGER

CONNECT_SECONDS = 5

# What the library raises for a kubeconfig: its own error, those of files and of YAML, and for YAML
# of another shape whatever it stumbles over.
_LOAD_ERRORS = (
    *(ConfigException, OSError, yaml.YAMLError),
    *(AttributeError, KeyError, TypeError, ValueError),
)

# The first line that fits an error says what to do about it; a subclass stands before its base.
_TRANSPORT_HINTS: tuple[tuple[type[Exception], str], ...] = (
    (transport.NewConnectionError, "is the server running, and its address right?"),
    (transport.ConnectTimeoutError, "does a network policy or firewall drop the connection?"),
    (transport.TimeoutError, "is the server overloaded?"),
    (transport.SSLError, "does the certificate-authority belong to this server and name?"),
    (transport.ProxyError, "is the proxy of HTTPS_PROXY up, or does NO_PROXY lack the server?"),
    (Exception, NO_API_SERVER),
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
    part of an answer.
    """

    def __init__(self, configuration: Configuration, read_seconds: float) -> None:
        self.url: str = configuration.host
        self._configuration = configuration
        self._timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds)
        self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager

    def send(self, request: Request) -> Answer:
        """Return whatever the server answers. Raises ApiError where it doesn't."""
        headers = {
            "Accept": "application/json",
            "User-Agent": FIELD_MANAGER,
            **self._authorization(request.what),
        }
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        query = f"?{urlencode(request.query)}" if request.query else ""
        try:
            answer = self._pool.request(
                request.method,
                f"{self.url}{request.path}{query}",
                body=request.body,
                headers=headers,
                timeout=self._timeout,
                retries=False,  # the next pass is the retry
                redirect=False,
            )
        except transport.HTTPError as error:
            hint = next(hint for kind, hint in _TRANSPORT_HINTS if isinstance(error, kind))
            raise ApiError(f"can't {request.what} at {self.url}: {error}; {hint}") from error
        return Answer(status=answer.status, headers=dict(answer.headers), body=answer.data)

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
