"""One connection: a request's head in, an answer out, each within a deadline."""

import socket
import ssl
import time
from contextlib import suppress
from http import HTTPStatus

from numa_agent.serve.request import END, MOST_BYTES, BadRequest

DRAIN_SECONDS = 0.5
_DRAINED_BYTES = 64 * 1024
_CHUNK = 16 * 1024


class Deadline:
    """A moment until which a socket may wait."""

    def __init__(self, seconds: float) -> None:
        """Take the seconds from now."""
        self._over = time.monotonic() + seconds

    def apply(self, connection: socket.socket) -> None:
        """Let the socket's next call wait until then. Raises TimeoutError when it is over."""
        left = self._over - time.monotonic()
        if left <= 0:
            raise TimeoutError("the client is too slow")
        connection.settimeout(left)


def shake_hands(connection: ssl.SSLSocket, seconds: float) -> None:
    """Agree on TLS. Raises OSError where the client doesn't, or not within so many seconds."""
    Deadline(seconds).apply(connection)
    connection.do_handshake()


def read_head(connection: socket.socket, seconds: float) -> bytes | None:
    """The bytes up to the empty line, None where the client says nothing at all.

    Raises BadRequest, also for a head that isn't here within so many seconds, and OSError where
    the client goes away.
    """
    deadline = Deadline(seconds)
    found = bytearray()
    while (end := found.find(END)) < 0:
        if len(found) >= MOST_BYTES:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise BadRequest(status, f"the head is longer than {MOST_BYTES} bytes")
        try:
            deadline.apply(connection)
            more = connection.recv(MOST_BYTES - len(found))
        except TimeoutError:
            if not found:
                return None
            message = f"the head wasn't here within {seconds:g} s"
            raise BadRequest(HTTPStatus.REQUEST_TIMEOUT, message) from None
        if not more:
            if not found:
                return None
            raise BadRequest(HTTPStatus.BAD_REQUEST, "the head has no end")
        found += more
    return bytes(found[: end + len(END)])


def send(connection: socket.socket, data: bytes, seconds: float) -> None:
    """Send everything. Raises OSError where the client goes away or doesn't take it in time."""
    deadline = Deadline(seconds)
    left = memoryview(data)
    while left:
        deadline.apply(connection)
        left = left[connection.send(left[:_CHUNK]) :]


def close(connection: socket.socket) -> None:
    """End the connection so that the client can read what was sent.

    To close it while something of the client's is unread would take the answer away from it:
    https://www.rfc-editor.org/rfc/rfc9112#section-9.6.
    """
    deadline, drained = Deadline(DRAIN_SECONDS), 0
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while drained < _DRAINED_BYTES:
            deadline.apply(connection)
            more = connection.recv(_CHUNK)
            if not more:
                break
            drained += len(more)
    connection.close()
