"""The transport's errors in our own words: what failed, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from urllib3 import exceptions as transport

from numa_agent.cluster.answers import NO_API_SERVER
from numa_agent.core.errors import ApiError

# The first line that fits an error says what to do about it; a subclass stands before its base.
_HINTS: tuple[tuple[type[Exception], str], ...] = (
    (transport.NewConnectionError, "is the server running, and its address right?"),
    (transport.ConnectTimeoutError, "does a network policy or firewall drop the connection?"),
    (transport.TimeoutError, "is the server overloaded?"),
    (transport.SSLError, "does the certificate-authority belong to this server and name?"),
    (transport.ProxyError, "is the proxy of HTTPS_PROXY up, or does NO_PROXY lack the server?"),
    (Exception, NO_API_SERVER),
)


@contextmanager
def translated(what: str, url: str, hint: str | None = None) -> Iterator[None]:
    """Raise the transport's errors as ApiErrors; `hint` stands for what their kind suggests."""
    try:
        yield
    except transport.HTTPError as error:
        said = hint or next(hint for kind, hint in _HINTS if isinstance(error, kind))
        raise ApiError(f"can't {what} at {url}: {error}; {said}") from error
    except ValueError as error:
        # A part of the request that can't be sent, which the error quotes: it may be a secret.
        kind = type(error).__name__
        raise ApiError(f"can't {what} at {url}: the request can't be sent ({kind})") from None
