"""The API server as plain JSON mappings: a Node, its Pods, and server-side apply.

The client library finds the server and signs in (kubeconfig, exec plugin, rotated ServiceAccount
token, TLS, proxy). Requests and answers bypass its API classes and models, which would cost the
process tens of MB. Paths, verbs and answers follow
https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode

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

from numa_agent.core.errors import SourceError

FIELD_MANAGER = "numa-agent"
CONNECT_SECONDS = 5
READ_SECONDS = 30
PAGE_SIZE = 500
MOST_PAGES = 100

_TOPOLOGIES = "noderesourcetopologies"
_TOPOLOGY_GROUP = "topology.node.k8s.io"
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

# What the library raises for a kubeconfig: its own error, those of files and of YAML, and for YAML
# of another shape whatever it stumbles over.
_LOAD_ERRORS = (
    *(ConfigException, OSError, yaml.YAMLError),
    *(AttributeError, KeyError, TypeError, ValueError),
)

_NO_API_SERVER = "does a Kubernetes API server listen there?"

# The first line that fits an error says what to do about it; a subclass stands before its base.
_TRANSPORT_HINTS: tuple[tuple[type[Exception], str], ...] = (
    (transport.NewConnectionError, "is the server running, and its address right?"),
    (transport.ConnectTimeoutError, "does a network policy or firewall drop the connection?"),
    (transport.TimeoutError, "is the server overloaded?"),
    (transport.SSLError, "does the certificate-authority belong to this server and name?"),
    (transport.ProxyError, "is the proxy of HTTPS_PROXY up, or does NO_PROXY lack the server?"),
    (Exception, _NO_API_SERVER),
)

Outcome = Literal["created", "changed", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a server-side apply did to the object, and the resourceVersion that it has since."""

    outcome: Outcome
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """An object or a list: what a person calls it, its path, and what to do about 403 and 404."""

    label: str
    path: str
    rights: str
    missing: str


class Cluster:
    """One API server, seen by one user; its answers are mappings in the API's own spelling.

    No request waits longer than CONNECT_SECONDS for a connection or READ_SECONDS for the next part
    of an answer. SourceError names verb, target and server, and what to do.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.url: str = configuration.host
        self._configuration = configuration
        self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager

    def node(self, name: str) -> Mapping[str, object]:
        """Return the v1 Node of that name."""
        target = _Target(
            label=f"Node {name}",
            path=f"/api/v1/nodes/{quote(name, safe='')}",
            rights="get nodes",
            missing="compare the name with `kubectl get nodes`",
        )
        return self._json("get", target, *self._send("get", target))

    def pods_on(self, node_name: str, *, page_size: int = PAGE_SIZE) -> Mapping[str, object]:
        """Return a v1 PodList of every pod bound to the node, read page by page.

        All pages show the state of one resourceVersion. SourceError beyond MOST_PAGES.
        """
        target = _Target(
            label=f"Pods on Node {node_name}",
            path="/api/v1/pods",
            rights="list pods",
            missing="does the server speak the core v1 API?",
        )
        query = {"fieldSelector": f"spec.nodeName={node_name}", "limit": str(page_size)}
        items: list[object] = []
        for _ in range(MOST_PAGES):
            page = self._json("list", target, *self._send("list", target, query))
            found, metadata = page.get("items"), page.get("metadata")
            if not isinstance(found, list) or not isinstance(metadata, dict):
                raise self._error("list", target, "the answer is no list", _NO_API_SERVER)
            items += found
            following = metadata.get("continue")
            if not following:
                return {**page, "items": items}
            query["continue"] = following
        raise self._error("list", target, f"more than {MOST_PAGES} pages", "ask for larger ones")

    def apply(self, manifest: Mapping[str, object]) -> Applied:
        """Make our fields of a NodeResourceTopology those of the manifest; keep foreign fields.

        Server-side apply takes over a field of ours that another manager set. The outcome compares
        resourceVersions around it, so a foreign write in between shows as "changed". ValueError
        for a manifest of another kind.
        https://kubernetes.io/docs/reference/using-api/server-side-apply/
        """
        target = _topology(manifest)
        before = self._resource_version(target)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        status, text = self._send("patch", target, query, body=json.dumps(dict(manifest)))
        after = self._version_in("patch", target, status, text)
        outcome: Outcome = "unchanged" if after == before else "changed"
        return Applied(outcome="created" if status == 201 else outcome, resource_version=after)

    def close(self) -> None:
        """Close the connections that are kept open between requests."""
        self._pool.clear()

    def _resource_version(self, target: _Target) -> str | None:
        """Return the object's resourceVersion, None where there is no such object yet."""
        status, text = self._send("get", target, accept=_METADATA_ONLY)
        if status == 404:
            return None
        return self._version_in("get", target, status, text)

    def _version_in(self, verb: str, target: _Target, status: int, text: bytes) -> str:
        """Return the resourceVersion of the object that the server answers with."""
        metadata = self._json(verb, target, status, text).get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if not isinstance(version, str):
            what = "the answer has no metadata.resourceVersion"
            raise self._error(verb, target, what, _NO_API_SERVER)
        return version

    def _send(
        self,
        verb: str,
        target: _Target,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = "application/json",
        body: str | None = None,
    ) -> tuple[int, bytes]:
        """Send one request and return the HTTP status and body of whatever the server answers."""
        headers = {"Accept": accept, "User-Agent": FIELD_MANAGER, **self._authorization()}
        if body is not None:
            headers["Content-Type"] = "application/apply-patch+yaml"
        try:
            answer = self._pool.request(
                "PATCH" if verb == "patch" else "GET",
                f"{self.url}{target.path}?{urlencode(query or {})}",
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
                retries=False,  # the next pass is the retry
                redirect=False,
            )
        except transport.HTTPError as error:
            hint = next(hint for kind, hint in _TRANSPORT_HINTS if isinstance(error, kind))
            raise self._error(verb, target, str(error), hint) from error
        return answer.status, answer.data

    def _authorization(self) -> dict[str, str]:
        """Return the header that signs us in, empty where a client certificate does.

        Asked for each request, since the library reads a rotated token anew in here.
        """
        try:
            token = self._configuration.auth_settings().get("BearerToken")
        except _LOAD_ERRORS as error:
            raise SourceError(f"can't renew the token for {self.url}: {error}") from error
        value = token["value"] if token else None
        return {"Authorization": value} if value else {}

    def _json(self, verb: str, target: _Target, status: int, text: bytes) -> dict[str, Any]:
        """Return the object of a 2xx answer; SourceError for any other."""
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = text.decode(errors="replace")[:200].strip()
        if 200 <= status < 300 and isinstance(answer, dict):
            return answer
        message = answer.get("message", answer) if isinstance(answer, dict) else answer
        hint = _status_hint(target, status)
        raise self._error(verb, target, f"HTTP {status}: {message}", hint)

    def _error(self, verb: str, target: _Target, what: str, hint: str) -> SourceError:
        return SourceError(f"can't {verb} {target.label} at {self.url}: {what}; {hint}")


def connect(kubeconfig: Path | None) -> Cluster:
    """Return the cluster that the kubeconfig names, without asking it anything.

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
    return Cluster(configuration)


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


def _topology(manifest: Mapping[str, object]) -> _Target:
    """Return the NodeResourceTopology that a manifest describes."""
    version, kind, metadata = (manifest.get(key) for key in ("apiVersion", "kind", "metadata"))
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    group = str(version).partition("/")[0]
    if (group, kind) != (_TOPOLOGY_GROUP, "NodeResourceTopology") or not isinstance(name, str):
        raise ValueError(f"not a named NodeResourceTopology: {version} {kind} {name}")
    return _Target(
        label=f"NodeResourceTopology {name}",
        path=f"/apis/{version}/{_TOPOLOGIES}/{quote(name, safe='')}",
        # The server asks for create as well where the patch makes the object.
        rights=f"get, create and patch {_TOPOLOGIES}.{_TOPOLOGY_GROUP}",
        missing=f"the NodeResourceTopology CRD isn't installed, or doesn't serve {version}:"
        " kubectl apply -f manifests/crd/",
    )


def _status_hint(target: _Target, status: int) -> str:
    """Return what to do about an answer that is not the object asked for."""
    if status < 400:
        return _NO_API_SERVER
    if status == 401:
        return "the token or certificate is expired or of another cluster: renew it"
    if status == 403:
        return f"this user needs the RBAC rights to {target.rights}"
    if status == 404:
        return target.missing
    if status == 429 or status >= 500:
        return "the server is overloaded or ill: try again later"
    return "the server refuses this request as it is"
