"""A small web server: few requests at once, each bounded in time and size, nothing kept open."""

import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from selectors import EVENT_READ, BaseSelector, DefaultSelector

from numa_agent.serve.answer import Answer, lines
from numa_agent.serve.certificates import Certificates
from numa_agent.serve.connection import close, read_head, send, shake_hands
from numa_agent.serve.pages import PATHS
from numa_agent.serve.places import PATIENCE_SECONDS, Client, Places, Waiting
from numa_agent.serve.request import BadRequest, Request, parse_request

CLIENT_SECONDS = 5.0
"""In which a client must have sent its head, and again in which it must have taken the answer."""

TURN_SECONDS = 0.02
"""Between two looks for a free place, while a client waits for one."""

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
        listening.setblocking(False)
        self._handle = handle
        self._certificates = certificates
        self._waiting = Waiting(client_seconds)
        self._places = Places()
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._closed = False
        self._thread = threading.Thread(
            target=self._run, args=(DefaultSelector(),), name="serve", daemon=True
        )

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

    def _run(self, selector: BaseSelector) -> None:
        with selector:
            selector.register(self._listening, EVENT_READ)
            while not self._closed:
                self._turn(selector)
            for client in self._waiting.all():
                self._end(selector, client)

    def _turn(self, selector: BaseSelector) -> None:
        """Take in what has come, and give a place to those who have said something."""
        pause = self._waiting.seconds(time.monotonic())
        if any(self._waiting.speaking()):
            pause = TURN_SECONDS
        found = [key for key, _ in selector.select(pause)]
        for key in found:
            if key.fileobj is not self._listening:
                # What it says is its thread's to read.
                selector.unregister(key.fileobj)
                self._waiting.spoke(key.fd)
        if any(key.fileobj is self._listening for key in found):
            self._accept(selector)
        for client in self._waiting.late(time.monotonic()):
            self._end(selector, client)
        self._place()

    def _accept(self, selector: BaseSelector) -> None:
        try:
            connection, address = self._listening.accept()
        except BlockingIOError:
            return  # its client has gone again
        except OSError as error:
            if self._closed:
                return
            # Too many open files, say: it passes, and to ask at once would keep a CPU busy.
            _LOG.warning("can't take a connection: %s", error)
            self._end(selector, self._waiting.greediest())
            time.sleep(PATIENCE_SECONDS)
            return
        selector.register(connection, EVENT_READ)
        client = Client(connection=connection, peer=str(address[0]))
        self._end(selector, self._waiting.add(client))

    def _end(self, selector: BaseSelector, client: Client | None) -> None:
        """Send off one that waits, without a word."""
        if client is not None:
            self._waiting.drop(client)
            if not client.spoke:
                selector.unregister(client.connection)
            client.connection.close()

    def _place(self) -> None:
        """Answer those for whom there is a place, each in a thread of its own."""
        while (client := self._places.take(self._waiting.speaking())) is not None:
            self._waiting.drop(client)
            thread = threading.Thread(
                target=self._serve, args=(client,), name="request", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                _LOG.warning("can't answer a connection: %s", error)
                self._places.leave(client)
                client.connection.close()
        left = frozenset(each.peer for each in self._waiting.speaking())
        if left:
            self._places.send_off(left)

    def _serve(self, client: Client) -> None:
        """Answer one connection; whatever is wrong with it ends with it."""
        connection = client.connection
        try:
            if self._certificates is not None:
                # From here on the socket is that of TLS alone.
                connection = secure = self._certificates.context().wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
                self._places.wait(client, secure)
                shake_hands(secure, self._seconds)
            self._places.wait(client, connection)
            self._answer(client, connection)
            close(connection)
        except OSError:
            pass  # the client has gone, is too slow, or speaks no TLS
        except Exception:
            _LOG.exception("a request failed")
        finally:
            self._places.wait(client, None)
            connection.close()
            self._places.leave(client)

    def _answer(self, client: Client, connection: socket.socket) -> None:
        request, with_body = None, True
        try:
            head = read_head(connection, self._seconds)
            if head is None:
                return
            request = parse_request(head)
            with_body = request.wants_body
            self._places.wait(client, None)
            answer = self._handled(request)
        except BadRequest as bad:
            answer = lines(bad.status, (str(bad),), *bad.fields)
        path = request.path if request is not None and request.path in PATHS else "other"
        with self._lock:
            self._counts[path, str(answer.status.value)] += 1
        self._places.wait(client, connection)
        send(connection, answer.bytes(time.time(), with_body=with_body), self._seconds)

    def _handled(self, request: Request) -> Answer:
        try:
            return self._handle(request)
        except Exception:
            _LOG.exception("no answer to %s", request.path[:200])
            return lines(HTTPStatus.INTERNAL_SERVER_ERROR, ("the log says what went wrong",))
