"""Ending a request from another thread, wherever it waits: in the handshake, for an answer, in it.

urllib3 gives out an answer once its head is there. What stalls before that can only be ended by
its socket, which the classes here hand over as soon as it is connected.
"""

import socket
import threading
from contextlib import suppress

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection


class Cutter:
    """Ends the one request that is under way, and every later one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False

    def hold(self, connected: socket.socket) -> None:
        """Take the socket of the request that begins."""
        # A duplicate: TLS takes the other one over, and what was closed can't be shut down.
        duplicate = connected.dup()
        with self._lock:
            self._drop()
            self._socket = duplicate
            if self._over:
                self._shut()

    def release(self) -> None:
        """Let go of a request that has ended; its connection is closed with it."""
        with self._lock:
            self._drop()

    def cut(self) -> None:
        """End what is under way, which reads as a connection that the server closed."""
        with self._lock:
            self._over = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # the other side was faster
                self._socket.shutdown(socket.SHUT_RDWR)

    def _drop(self) -> None:
        self._shut()
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def hold_sockets(manager: PoolManager, cutter: Cutter) -> None:
    """Have every connection that the manager opens handed to the cutter."""

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            cutter.hold(connected)
            return connected

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            cutter.hold(connected)
            return connected

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    manager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
