"""A socket for others to connect to."""

import socket

from numa_agent.core.errors import SourceError

BACKLOG = 64


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens at an address, or at a name's first one. Raises SourceError."""
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, where = found[0]
        return socket.create_server(
            where,
            family=family,
            backlog=BACKLOG,
            dualstack_ipv6=family == socket.AF_INET6 and where[0] == "::",
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SourceError(
            f"can't serve metrics at {address}:{port}: {why}; set metrics to another address, or"
            " off"
        ) from error
