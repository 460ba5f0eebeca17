"""The pod's ServiceAccount: what kubelet mounts and sets in every container.

https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/#directly-accessing-the-rest-api
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import urllib3

from numa_agent.cluster.entry import header
from numa_agent.cluster.trust import trust
from numa_agent.config import OWN_ACCOUNT
from numa_agent.core.errors import SourceError

FOLDER = Path(OWN_ACCOUNT)
TOKEN_SECONDS = 60.0
"""For which a token is kept: kubelet puts a new one there long before the old one ends.
https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#serviceaccount-token-volume-projection
"""

_PROXIES = frozenset({"https_proxy", "all_proxy"})
"""The variables that may name one, in any case of letters."""


class NoAccountError(SourceError):
    """This process isn't in a pod with a ServiceAccount; the message says what is missing."""


class Account:
    """The way to the cluster that the container itself is in."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the environment and the folder with token and ca.crt. Raises NoAccountError."""
        self._folder = FOLDER if folder is None else folder
        self._clock = clock
        self.url = _url(environment)
        self._proxied = any(
            set_to for name, set_to in environment.items() if name.lower() in _PROXIES
        )
        self._authority = self._folder / "ca.crt"
        if not self._authority.is_file() or not self._authority.stat().st_size:
            raise NoAccountError(f"{self._authority} isn't there or is empty")
        self._read_at = 0.0
        self._token = ""
        try:
            self.authorization()
        except SourceError as error:
            raise NoAccountError(str(error)) from error

    def pool(self) -> urllib3.PoolManager:
        """Connections that trust the cluster's own authority alone, by the proxy if one is set."""
        authority = str(self._authority)
        if self._proxied:
            # Which hosts NO_PROXY means is the library's to say.
            from numa_agent.cluster.kubeconfig import proxied

            return proxied(self.url, authority)
        return urllib3.PoolManager(
            cert_reqs="CERT_REQUIRED", ca_certs=authority, ssl_context=trust()
        )

    def authorization(self) -> str:
        """The bearer token, read anew each minute. Raises SourceError."""
        now = self._clock()
        if not self._token or now - self._read_at >= TOKEN_SECONDS:
            file = self._folder / "token"
            try:
                token = file.read_text().strip()
            except (OSError, ValueError) as error:
                raise SourceError(f"{file}: {error}") from error
            if not token:
                raise SourceError(f"{file}: the token is empty")
            self._token, self._read_at = header(token, str(file)), now
        return f"Bearer {self._token}"


def _url(environment: Mapping[str, str]) -> str:
    host = environment.get("KUBERNETES_SERVICE_HOST")
    port = environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise NoAccountError("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT isn't set")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
