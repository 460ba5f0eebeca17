"""Clients of the server under test: a well-behaved one, and bytes as they are."""

import http.client
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from numa_agent.serve.server import Server
from tests.waits import eventually

SECONDS = 30.0
"""No test waits longer for its server."""


def wait_until(so: Callable[[], bool]) -> None:
    """Wait until something of the server is true."""
    eventually(so, SECONDS)


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def lines(self) -> list[str]:
        return self.body.decode().splitlines()


def get(
    server: Server,
    path: str = "/metrics",
    *,
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
    peer: str = "127.0.0.1",
    **fields: str,
) -> Reply:
    """Ask by the standard library's client, from a loopback address without TLS.

    Header names may have underscores.
    """
    connection = (
        http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=SECONDS, source_address=(peer, 0)
        )
        if tls is None
        else http.client.HTTPSConnection("127.0.0.1", server.port, timeout=SECONDS, context=tls)
    )
    with closing(connection):
        names = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.request(method, path, headers=names)
        answer = connection.getresponse()
        lower = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(status=answer.status, fields=lower, body=answer.read())


@contextmanager
def connected(server: Server, peer: str = "127.0.0.1") -> Iterator[socket.socket]:
    with socket.create_connection(
        ("127.0.0.1", server.port), timeout=SECONDS, source_address=(peer, 0)
    ) as connection:
        yield connection


def rest(connection: socket.socket) -> bytes:
    """What comes until the server ends the connection; a reset is an end too."""
    found = bytearray()
    try:
        while more := connection.recv(65536):
            found += more
    except ConnectionResetError:
        pass
    return bytes(found)


def exchange(server: Server, data: bytes) -> bytes:
    """Send bytes, and give all that comes back."""
    with connected(server) as connection:
        connection.sendall(data)
        return rest(connection)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])
