"""A gRPC server on a unix socket: one thread for all who call."""

import os
import selectors
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from numa_agent.core.errors import SourceError
from numa_agent.host.deviceplugin.methods import Methods
from numa_agent.host.deviceplugin.peer import Peer

MOST_PEERS = 16
"""kubelet has one connection, and another while it restarts. Who follows nothing makes room."""

_BACKLOG = 8
_END_SECONDS = 1.0
_PAUSE_SECONDS = 0.05
"""Where no more files may be opened: who waits stays in the listener's queue, which wakes us."""

Identity = tuple[int, int, int]
"""Device, inode and time of making of what is at a path; a number of an inode comes again."""


class Server:
    """Listens from its making on until it is closed; its thread is named as the socket.

    `followed` says whether somebody follows a state, as kubelet does once it knows the plugin.
    """

    def __init__(self, path: Path, methods: Methods) -> None:
        """Listen at the path, in place of what was left there. Raises SourceError."""
        self._path = path
        self._methods = methods
        self.followed = False
        self._over = False
        self._listener = _listening(path)
        self._identity = identity(path)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._ringing = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._peers: dict[socket.socket, Peer] = {}
        self._thread = threading.Thread(target=self._run, name=path.name, daemon=True)
        self._thread.start()

    @property
    def there(self) -> bool:
        """Whether who looks for the socket's path still finds this server."""
        return self._identity is not None and identity(self._path) == self._identity

    def wake(self) -> None:
        """Tell those who follow a state what is new of it."""
        # Once it is closed its number is another file's: a cpuset's, or a connection's.
        with self._ringing, suppress(OSError):
            if self._bell >= 0:
                os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """End it, and take the socket's file away unless it is another's by now."""
        self._over = True
        self.wake()
        self._thread.join(_END_SECONDS)
        if self.there:
            with suppress(OSError):
                self._path.unlink()

    def _run(self) -> None:
        try:
            while not self._over:
                for key, events in self._selector.select():
                    self._serve(key, events)
        finally:
            for peer in self._peers.values():
                peer.goodbye()
            self._selector.close()
            self._listener.close()
            with self._ringing:
                os.close(self._bell)
                self._bell = -1

    def _serve(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fd == self._bell:
            os.eventfd_read(self._bell)
            for connected, peer in [*self._peers.items()]:
                peer.tell()
                self._settle(connected, peer)
        elif key.fileobj is self._listener:
            self._accept()
        elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._peers:
            # Else what came before in the same look at all of them has ended it.
            self._serve_peer(key.fileobj, self._peers[key.fileobj], events)

    def _serve_peer(self, connected: socket.socket, peer: Peer, events: int) -> None:
        if events & selectors.EVENT_READ:
            peer.read()
        if events & selectors.EVENT_WRITE and not peer.closed:
            peer.tell()
        self._settle(connected, peer)

    def _accept(self) -> None:
        try:
            connected, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:
            time.sleep(_PAUSE_SECONDS)
            return
        if len(self._peers) >= MOST_PEERS and not self._let_go():
            connected.close()
            return
        connected.setblocking(False)
        self._selector.register(connected, selectors.EVENT_READ)
        self._peers[connected] = peer = Peer(connected, self._methods)
        self._settle(connected, peer)

    def _let_go(self) -> bool:
        """Make room for another caller: the oldest one that follows nothing, if there is one."""
        for connected, peer in self._peers.items():
            if not peer.following:
                peer.goodbye()
                self._settle(connected, peer)
                return True
        return False

    def _settle(self, connected: socket.socket, peer: Peer) -> None:
        """Wait for what the caller needs next, or forget it."""
        if peer.closed:
            # By the object: a socket that is closed has no descriptor to be found by.
            self._selector.unregister(connected)
            del self._peers[connected]
        else:
            writing = selectors.EVENT_WRITE if peer.wants_to_write else 0
            self._selector.modify(connected, selectors.EVENT_READ | writing)
        self.followed = any(each.following for each in self._peers.values())


def identity(path: Path) -> Identity | None:
    """What tells the file at a path from another one that takes its place; None without any."""
    try:
        found = path.stat()
    except OSError:
        return None
    # Not the time of change, which a chmod moves.
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _listening(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        # Whoever may connect may ask for cards.
        path.chmod(0o600)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SourceError(
            f"{path}: {error.strerror or error}; kubelet's folder of device plugins must be there"
            " and writable: mount it below hostRoot (the component gpu-plugin does)"
        ) from error
    return listener
