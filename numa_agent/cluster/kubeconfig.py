"""The way to a cluster by a kubeconfig: the client library reads it. The only importer of it."""

import urllib3
import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import KUBE_CONFIG_DEFAULT_LOCATION, ConfigException, load_kube_config

from numa_agent.cluster.entry import header
from numa_agent.cluster.trust import trust
from numa_agent.core.errors import SourceError

# What the library raises for a kubeconfig: its own error, those of files and of YAML, and for YAML
# of another shape whatever it stumbles over.
_LOAD_ERRORS = (
    *(ConfigException, OSError, yaml.YAMLError),
    *(AttributeError, KeyError, TypeError, ValueError),
)


class Kubeconfig:
    """Cluster and user of a kubeconfig's current context."""

    def __init__(self, path: str | None) -> None:
        """Read the file at the path, or that of $KUBECONFIG or ~/.kube/config.

        Raises SourceError.
        """
        where = KUBE_CONFIG_DEFAULT_LOCATION if path is None else path
        self._configuration = Configuration()
        try:
            load_kube_config(where, client_configuration=self._configuration, persist_config=False)
        except _LOAD_ERRORS as error:
            raise SourceError(
                f"can't use kubeconfig {where}: {error}; `kubectl config view` says more about it"
            ) from error
        self.url: str = self._configuration.host

    def pool(self) -> urllib3.PoolManager:
        """Connections with the cluster's authority, the user's certificate and the proxy."""
        return _pool(self._configuration)

    def authorization(self) -> str | None:
        """The user's token, read or made anew where the library knows that it has ended."""
        try:
            token = self._configuration.auth_settings().get("BearerToken")
        except _LOAD_ERRORS as error:
            raise SourceError(str(error)) from error
        value = token["value"] if token else None
        return None if value is None else header(value, "kubeconfig")


def proxied(url: str, authority: str) -> urllib3.PoolManager:
    """Connections to a server by the proxy of the environment, unless NO_PROXY names it."""
    configuration = Configuration(host=url, ssl_ca_cert=authority)
    return _pool(configuration)


def _pool(configuration: Configuration) -> urllib3.PoolManager:
    manager: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
    settings = manager.connection_pool_kw
    settings["ssl_context"] = trust(settings["cert_reqs"])
    return manager
