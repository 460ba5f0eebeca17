"""A small web server: few requests at once, each bounded in time and size, nothing kept open."""

import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

from numa_agent.core.errors import SourceError
from numa_agent.serve.answer import Answer, lines
from numa_agent.serve.certificates import Certificates
from numa_agent.serve.connection import close, read_head, send, shake_hands
from numa_agent.serve.pages import PATHS
from numa_agent.serve.request import BadRequest, Request, parse_request

CLIENT_SECONDS = 5.0
"""In which a client must have sent its head, and again in which it must have taken the answer."""

MOST_AT_ONCE = 8
BACKLOG = 64
PATIENCE_SECONDS = 0.2
"""How long a client waits while all places are taken, before the slowest other one is sent off."""

_LOG = logging.getLogger(__name__)


class Server:
    """Listens from `start` to `close`; `handle` answers requests, in threads of their own."""

    def __init__(
        self,
        listening: socket.socket,
        handle: Callable[[Request], Answer],
        certificates: Certificates | None = None,
        client_seconds: float = CLIENT_SECONDS,
    ) -> None:
        """Take a socket that listens already."""
        self._seconds = client_seconds
        self._listening = listening
        self._handle = handle
        self._certificates = certificates
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._waited_for: dict[int, socket.socket] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="serve", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        port: int = self._listening.getsockname()[1]
        return port

    @property
    def counts(self) -> Mapping[tuple[str, str], int]:
        """How many answers were given, by path and status."""
        with self._lock:
            return dict(self._counts)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def close(self) -> None:
        """Listen no more; open requests end with the process or by themselves."""
        self._closed = True
        with suppress(OSError):
            # Wakes the thread; to close alone would leave it waiting.
            self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listening.accept()
            except OSError as error:
                if self._closed:
                    return
                # Too many open files, say: it passes, and to ask at once would keep a CPU busy.
                _LOG.warning("can't take a connection: %s", error)
                time.sleep(PATIENCE_SECONDS)
                continue
            if not self._placed(connection):
                connection.close()

    def _placed(self, connection: socket.socket) -> bool:
        """Whether a connection is answered, in a thread of its own."""
        while not self._places.acquire(timeout=PATIENCE_SECONDS):
            if self._closed:
                return False
            self._send_off()
        thread = threading.Thread(
            target=self._serve, args=(connection,), name="request", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            _LOG.warning("can't answer a connection: %s", error)
            self._places.release()
            return False
        return True

    def _send_off(self) -> None:
        """End the connection whose client has kept us waiting longest, if one does."""
        with self._lock:
            slow = next(iter(self._waited_for.values()), None)
            if slow is not None:
                with suppress(OSError):
                    # Not that of TLS, which would take away what its own thread is using.
                    socket.socket.shutdown(slow, socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        """Answer one connection; whatever is wrong with it ends with it."""
        try:
            if self._certificates is not None:
                # From here on the socket is that of TLS alone.
                connection = secure = self._certificates.context().wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
                self._wait_for(secure)
                shake_hands(secure, self._seconds)
            self._wait_for(connection)
            self._answer(connection)
            close(connection)
        except OSError:
            pass  # the client has gone, is too slow, or speaks no TLS
        except Exception:
            _LOG.exception("a request failed")
        finally:
            self._wait_for(None)
            connection.close()
            self._places.release()

    def _answer(self, connection: socket.socket) -> None:
        request, with_body = None, True
        try:
            head = read_head(connection, self._seconds)
            if head is None:
                return
            request = parse_request(head)
            with_body = request.wants_body
            self._wait_for(None)
            answer = self._handled(request)
        except BadRequest as bad:
            answer = lines(bad.status, (str(bad),), *bad.fields)
        path = request.path if request is not None and request.path in PATHS else "other"
        with self._lock:
            self._counts[path, str(answer.status.value)] += 1
        self._wait_for(connection)
        send(connection, answer.bytes(time.time(), with_body=with_body), self._seconds)

    def _handled(self, request: Request) -> Answer:
        try:
            return self._handle(request)
        except Exception:
            _LOG.exception("no answer to %s", request.path[:200])
            return lines(HTTPStatus.INTERNAL_SERVER_ERROR, ("the log says what went wrong",))

    def _wait_for(self, connection: socket.socket | None) -> None:
        """Say that this thread waits for its client on the connection, or that it doesn't."""
        with self._lock:
            self._waited_for.pop(threading.get_ident(), None)
            if connection is not None:
                self._waited_for[threading.get_ident()] = connection


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
