"""The thread that follows a node's pods, and what it knows for those who ask."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from numa_agent.cluster.connection import Connection, load
from numa_agent.cluster.cutting import Cutter
from numa_agent.cluster.watch.follower import Follower, Seen
from numa_agent.cluster.watch.patience import Patience
from numa_agent.cluster.watch.requests import PodRequests
from numa_agent.core.conditions import Condition
from numa_agent.core.errors import ApiError
from numa_agent.core.pod_entries import Key
from numa_agent.core.pods import PodRead, PodsRead
from numa_agent.core.podstore import PodStore, lost_pods

CLOSE_SECONDS = 0.4

Running = Callable[[], frozenset[str] | None]
"""The uids in the names of pods' cgroups on this node (`Pod.cgroup_uid`), None where unknown."""


class PodWatch:
    """Follows the pods of one node; `wake` is called, in its thread, when one changed.

    The pods are those of now while a stream is open on which a line came within Patience.silence,
    and for Patience.grace after it was lost. An unexpected error ends the thread, by way of
    threading.excepthook.
    """

    def __init__(
        self,
        requests: PodRequests,
        cutter: Cutter,
        *,
        wake: Callable[[], None],
        running: Running,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Take what asks and what ends a request, and start the thread."""
        self._label = requests.label
        self._cutter = cutter
        self._wake = wake
        self._running = running
        self._patience = patience
        self._clock = clock
        self._known: tuple[Mapping[Key, PodRead], PodsRead] | None = None
        self._ending = threading.Event()
        self._follower = Follower(requests, patience, self._tell, clock, chance)
        self._thread = threading.Thread(
            target=self._follower.run, args=(self._ending,), name="pod-watch", daemon=True
        )
        self._thread.start()

    def pods(self) -> PodsRead:
        """The node's pods of now.

        Raises ApiError where they aren't known, or haven't been followed for a while. Before
        the first list it waits for it, for Patience.first at most.
        """
        self._follower.settled.wait(self._patience.first)
        seen = self._follower.seen
        if seen.store is None:
            raise _not_known(seen, f"{self._label} aren't listed yet")
        if seen.away is not None and self._clock() - seen.away > self._patience.grace:
            raise _not_known(seen, f"{self._label} aren't watched yet")
        return self._read(seen.store)

    def conditions(self) -> tuple[Condition, ...]:
        """Which pods run here that the API server no longer has."""
        store = self._follower.seen.store
        if store is None:
            return ()
        return lost_pods(store.lost(self._still_there(store)), store.turned, store.version)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time that the thread has used. Raises OSError once it has ended."""
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident or 0))

    def close(self) -> None:
        """End the thread, wherever it waits; `wake` isn't called any more.

        While it looks up the server's name or connects, which nobody can end, it isn't waited for.
        """
        self._ending.set()
        self._follower.settled.set()
        self._cutter.cut()
        self._thread.join(CLOSE_SECONDS)

    def _read(self, store: PodStore) -> PodsRead:
        """The same object as before where nothing has changed: each wake-up of the loop asks."""
        running = self._still_there(store)
        if store.still_held(running):
            return store.read(running)
        known = self._known
        if known is None or known[0] is not store.pods:
            known = self._known = store.pods, store.read(frozenset())
        return known[1]

    def _still_there(self, store: PodStore) -> frozenset[str] | None:
        """Look which of the held pods have a cgroup; one that has none has ended.

        As long as the same ones are held, those that have ended aren't looked for again.
        """
        if not store.held:
            return frozenset()
        held, ended = self._follower.ended
        if held is store.held and ended >= held.keys():
            return frozenset()
        running = self._running()
        if running is not None:
            self._follower.ended = (store.held, frozenset(store.held.keys() - running))
        return running

    def _tell(self) -> None:
        if not self._ending.is_set():
            self._wake()


def _not_known(seen: Seen, otherwise: str) -> ApiError:
    return ApiError(seen.error or otherwise, status=seen.status)


def watch_pods(
    kubeconfig: Path | None,
    node_name: str,
    *,
    wake: Callable[[], None],
    running: Running,
    patience: Patience | None = None,
) -> PodWatch:
    """Follow the pods of a node of the cluster that connect(kubeconfig) would find.

    Raises SourceError where none is configured; that none answers is told by PodWatch.pods.
    """
    patience, cutter = patience or Patience(), Cutter()
    connection = Connection(
        load(kubeconfig), patience.answer, lambda: load(kubeconfig), cutter=cutter
    )
    requests = PodRequests(connection, cutter, node_name, patience)
    return PodWatch(requests, cutter, wake=wake, running=running, patience=patience)
