"""A TCP proxy on loopback that can stop forwarding, as a network does that loses its packets."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_TURN_SECONDS = 0.02


class Proxy:
    """Forwards every connection to one port while `forwarding`; keeps what comes else waiting."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.forwarding = True
        self._holding = threading.Event()
        self._over = threading.Event()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._cutting = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def cut(self) -> None:
        """Break every connection; new ones are taken again."""
        self._cutting.set()
        while self._cutting.is_set() and not self._over.wait(0.01):
            pass

    def lose(self) -> None:
        """Forward nothing more; what is on its way is through when this returns."""
        self._holding.clear()
        self.forwarding = False
        assert self._holding.wait(60)

    def close(self) -> None:
        self._over.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._over.is_set():
            if self._cutting.is_set():
                self._drop_all()
                self._cutting.clear()
            if not self.forwarding:
                self._holding.set()
                self._over.wait(_TURN_SECONDS)
                continue
            ready, _, _ = select.select([self._listener, *self._pairs], [], [], _TURN_SECONDS)
            for each in ready:
                if each is self._listener:
                    self._accept()
                elif each in self._pairs:
                    self._pass_on(each)
        self._drop_all()
        self._listener.close()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self._target), 1)
        except OSError:
            client.close()
            return
        self._pairs |= {client: server, server: client}

    def _pass_on(self, source: socket.socket) -> None:
        data = b""
        with suppress(OSError):
            data = source.recv(65536)
            self._pairs[source].sendall(data)
        if not data:
            other = self._pairs.pop(source)
            self._pairs.pop(other, None)
            source.close()
            other.close()

    def _drop_all(self) -> None:
        for each in self._pairs:
            each.close()
        self._pairs = {}


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """A proxy to a port on loopback until the block ends."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
