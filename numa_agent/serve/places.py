"""Who waits and who is answered, so that nobody who floods the server keeps others from it.

A client that has said nothing holds no thread. Where something is short, the peer (an address)
that has most of it gives way: to kubelet's probe, say, which sends its request at once.
"""

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

MOST_AT_ONCE = 8
MOST_OF_PEER = 4
"""Answered at a time, of all peers and of one."""

MOST_WAITING = 128
"""Connections without a thread."""

PATIENCE_SECONDS = 0.2
"""For which an answered client may keep us waiting while others wait for its place."""

UNPLACED_SECONDS = 10.0
"""For which a client that has said something is kept without a place."""


@dataclass(slots=True, eq=False, kw_only=True)
class Client:
    """A connection. `since` is when it came, and later since when its thread waits for it."""

    connection: socket.socket
    peer: str
    since: float = field(default_factory=time.monotonic)
    spoke: bool = False
    awaited: socket.socket | None = None


class Waiting:
    """Clients without a place, in the order in which they came; for one thread."""

    def __init__(self, silence: float) -> None:
        """Take the seconds in which a client must have said something."""
        self._silence = silence
        self._clients: dict[int, Client] = {}

    def add(self, client: Client) -> Client | None:
        """Let it wait; who has to go for it, None where there is room."""
        self._clients[client.connection.fileno()] = client
        return None if len(self._clients) <= MOST_WAITING else self.greediest()

    def greediest(self) -> Client | None:
        """The client that came first of the peer with most."""
        return _first_of_most(self._clients.values(), self._clients.values())

    def spoke(self, number: int) -> Client:
        """Say that something came from the client of this file."""
        client = self._clients[number]
        client.spoke = True
        return client

    def drop(self, client: Client) -> None:
        """Let it wait no more."""
        self._clients.pop(client.connection.fileno())

    def speaking(self) -> Iterator[Client]:
        """Those that have said something, the last first: the others may be about to give up."""
        return (each for each in reversed([*self._clients.values()]) if each.spoke)

    def late(self, now: float) -> list[Client]:
        """Those that are waited for no longer."""
        return [each for each in self._clients.values() if self._end(each) <= now]

    def seconds(self, now: float) -> float | None:
        """Until the first of them is late, None without any."""
        first = min((self._end(each) for each in self._clients.values()), default=None)
        return None if first is None else max(0.0, first - now)

    def all(self) -> list[Client]:
        """Every one of them."""
        return [*self._clients.values()]

    def _end(self, client: Client) -> float:
        return client.since + (UNPLACED_SECONDS if client.spoke else self._silence)


class Places:
    """Clients with a thread that answers them; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: list[Client] = []

    def take(self, waiting: Iterable[Client]) -> Client | None:
        """Give a place to the first of them for whom there is one; None where there is none."""
        with self._lock:
            if len(self._clients) >= MOST_AT_ONCE:
                return None
            counts = Counter(each.peer for each in self._clients)
            found = next((each for each in waiting if counts[each.peer] < MOST_OF_PEER), None)
            if found is not None:
                self._clients.append(found)
            return found

    def leave(self, client: Client) -> None:
        """Free its place."""
        with self._lock:
            self._clients.remove(client)

    def wait(self, client: Client, connection: socket.socket | None) -> None:
        """Say that a client's thread waits for it on this connection, or that it doesn't."""
        with self._lock:
            client.awaited, client.since = connection, time.monotonic()

    def send_off(self, peers: frozenset[str]) -> None:
        """End one that keeps us waiting, if any does, to make room for a client of these peers."""
        now = time.monotonic()
        with self._lock:
            full = len(self._clients) >= MOST_AT_ONCE
            slow = [
                each
                for each in self._clients
                if each.awaited is not None
                and now - each.since >= PATIENCE_SECONDS
                and (full or each.peer in peers)
            ]
            found = _first_of_most(slow, self._clients)
            if found is not None and found.awaited is not None:
                found.since = now  # its thread needs a moment to end
                with suppress(OSError):
                    # Not that of TLS, which would take away what its own thread is using.
                    socket.socket.shutdown(found.awaited, socket.SHUT_RDWR)


def _first_of_most(clients: Iterable[Client], counted: Iterable[Client]) -> Client | None:
    """Of the peer with most of those counted, the client that waits longest."""
    counts = Counter(each.peer for each in counted)
    return min(clients, key=lambda each: (-counts[each.peer], each.since), default=None)
