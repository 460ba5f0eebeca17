"""How the pods of a node are followed: what is asked next, and what is known meanwhile."""

import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from numa_agent.cluster.watch.lines import OverlongError, SilentError
from numa_agent.cluster.watch.patience import Patience
from numa_agent.cluster.watch.requests import GarbledError, PodRequests
from numa_agent.core.documents import Document
from numa_agent.core.errors import ApiError
from numa_agent.core.pod_entries import went_back
from numa_agent.core.pods import Pod
from numa_agent.core.podstore import PodStore, TurnedBackError

Ended = tuple[Mapping[str, Pod], frozenset[str]]
"""The held pods of a store, and the uids of those that have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known.

    `away` is since when no stream is open, None while one is; `error` says why, and `status` is
    the HTTP status of that, None without an answer.
    """

    store: PodStore | None = None
    away: float | None = None
    error: str = ""
    status: int | None = None


class Follower:
    """Lists once, watches, and takes the watch up again where it ended.

    `seen` is replaced whole, and may be read by any thread; so is `ended`, which another thread
    sets. `settled` is set once there is a list or a reason why not. `changed` is called when
    something of a pod changed.
    """

    def __init__(
        self,
        requests: PodRequests,
        patience: Patience,
        changed: Callable[[], None],
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self.seen = Seen(away=clock())
        self.ended: Ended = ({}, frozenset())
        self.settled = threading.Event()
        self._requests = requests
        self._patience = patience
        self._changed = changed
        self._clock = clock
        self._chance = chance
        self._must_list, self._must_compare, self._failures = True, False, 0
        self._resumed = False

    def run(self, ending: threading.Event) -> None:
        """Follow until the event is set; then what is under way has to be cut."""
        while not ending.is_set():
            began, retry_after = self._clock(), None
            try:
                if self._follow():
                    self._failures = 0
                    continue
                self._lose(f"{self._requests.label}: the server ended the watch before its time")
            except ApiError as error:
                self._take(error)
                retry_after = error.retry_after
            if self._clock() - began >= self._patience.healthy:
                self._failures = 0
            self._failures += 1
            back_off = self._patience.back_off
            ending.wait(back_off.seconds(self._failures, self._chance(), retry_after))

    def _follow(self) -> bool:
        """List where that must be, and watch; whether the watch ended when its time had come."""
        store = self._begun()
        seconds = int(self._patience.watch * (1 + self._chance()))
        began = self._clock()
        with closing(self._requests.events(store.version, seconds)) as events:
            for event in events:
                if event is not None:
                    store = self._after(store, event)
                    continue
                self._must_compare = False
                self._tell(Seen(store=store))
        now = self._clock()
        self.seen = replace(self.seen, away=now)
        # A second less: the server's clock began earlier.
        return now - began >= seconds - 1

    def _begun(self) -> PodStore:
        """The state to go on from: what is known, or a new list."""
        known = self.seen.store
        self._resumed = known is not None and self._can_resume(known)
        if known is not None and self._resumed:
            return known
        store = self._requests.listed(None if known is None else self._without_ended(known))
        self._must_list = self._must_compare = False
        # A list is of now, but nothing is heard yet of what comes after it.
        self._tell(Seen(store=store, away=self._clock()))
        self.settled.set()
        return store

    def _can_resume(self, known: PodStore) -> bool:
        """Whether the watch may go on where it ended. Raises ApiError where that can't be told."""
        away = self.seen.away
        long_away = away is not None and self._clock() - away > self._patience.outage
        if self._must_list or long_away:
            return False
        if not self._must_compare:
            return True
        # A version that lies ahead of the server's would be waited for in silence.
        return not went_back(known.version, self._requests.version())

    def _after(self, store: PodStore, event: Document) -> PodStore:
        try:
            after = store.after(event)
        except TurnedBackError as error:
            raise self._requests.garbled(str(error)) from error
        except ValueError as error:
            raise self._requests.garbled(str(error)) from error
        after = self._without_ended(after)
        self._tell(Seen(store=after))
        return after

    def _without_ended(self, store: PodStore) -> PodStore:
        """The same without the held pods that were seen to have ended, so that none is kept."""
        held, ended = self.ended
        return store.without_held(ended) if store.held is held else store

    def _take(self, error: ApiError) -> None:
        """Learn from a failure how to go on."""
        if error.status == 410 or isinstance(error, GarbledError | OverlongError):
            self._must_list = True
        if error.status == 410 and self._resumed:
            # The server is there, and has forgotten where we were; after a list that would be odd.
            self._failures = 0
        if isinstance(error, SilentError):
            # On a quiet server it is nothing: what is known is good if the next stream opens.
            self._failures = 0
        self._lose(str(error), error.status)

    def _lose(self, why: str, status: int | None = None) -> None:
        self._must_compare = True
        seen = self.seen
        away = self._clock() if seen.away is None else seen.away
        self.seen = replace(seen, away=away, error=why, status=status)
        self.settled.set()

    def _tell(self, seen: Seen) -> None:
        """Replace what is known, and say so where a pod changed."""
        before, self.seen = self.seen.store, seen
        if seen.store is not None and seen.store.differs(before):
            self._changed()
