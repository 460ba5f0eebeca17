"""Tells people of what passes find, in Events, within few requests and little time."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from numa_agent.core.conditions import Condition
from numa_agent.core.errors import ApiError, GoneError, SourceError
from numa_agent.core.pods import Pod
from numa_agent.core.report import Publication, Report, Write
from numa_agent.core.telling import (
    Bindings,
    Due,
    Ledger,
    Limits,
    about_node,
    about_pod,
    between,
    faults,
)

SECONDS = 2.0
"""No Event is begun when those before it took that long together: the pass goes first."""

MOST = 30
"""So many requests at once; what is left waits for the next moment."""

_EVERYWHERE = "*"
_SHOWN = 5

_HOPELESS = frozenset({400, 413, 422})
"""The server refuses this Event and no other: it is invalid, or too large."""

Record = Callable[[Due], int | None]
"""Makes or repeats one Event; how often the server has it, None where that isn't known.

GoneError where an Event to repeat isn't there; ApiError where the server doesn't take it.
"""


def rivals(publications: Iterable[Publication]) -> tuple[Condition, ...]:
    """Who else writes the objects that are ours."""
    return tuple(
        Condition(
            code="second-publisher",
            subject=str(each.manifest["kind"]),
            message=f"{each.manifest['kind']}: {rival.label}; remove one of the two publishers,"
            " or set takeover: on",
        )
        for each in publications
        if each.published is not None
        for rival in each.published.rivals
    )


class Teller:
    """Hears every pass and what is done between passes, and makes the Events that are due.

    One thread may send while another one tells.
    """

    def __init__(
        self,
        record: Record,
        node_name: str,
        random: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        limits: Limits | None = None,
    ) -> None:
        """Take what makes an Event, numbers from 0 up to 1, and seconds that never go back."""
        self._record = record
        self._node_name = node_name
        self._clock = clock
        self._lock = threading.Lock()
        self._bindings = Bindings()
        self._ledger = Ledger(about_node(node_name), random, limits)
        self._pods: tuple[Pod, ...] = ()
        self._troubles: dict[str, str] = {}
        self._refused: list[str] = []

    def tell(self, report: Report, pods: Sequence[Pod]) -> None:
        """Take in a pass and the pods that it knew; nothing is sent."""
        now = self._clock()
        with self._lock:
            self._pods = tuple(pods)
            self._ledger.hear(now, faults(report, pods, self._node_name))
            self._ledger.keep({about_pod(pod) for pod in pods if not pod.finished})
            self._ledger.happened(now, self._bindings.hear(report, pods))

    def with_troubles(self, report: Report) -> Report:
        """The report with why Events can't be made: the same words for as long as that lasts."""
        with self._lock:
            self._forget_troubles()
            troubles = (*self._troubles.values(), *self._refused)
            self._refused = []
        return replace(report, failures=(*report.failures, *troubles))

    def hear_between(self, writes: Iterable[Write], conditions: Iterable[Condition]) -> None:
        """Take in what was done since the last pass; nothing is sent."""
        with self._lock:
            self._bindings.saw(writes)
            self._ledger.happened(self._clock(), between(conditions, self._pods))

    def due(self) -> float | None:
        """The seconds until an Event is due, None while none is."""
        with self._lock:
            return self._ledger.due(self._clock())

    def send_due(self) -> int:
        """Make the Events that are due, within SECONDS or a little more; answers how many."""
        begun, count = self._clock(), 0
        while (now := self._clock()) - begun < SECONDS and count < MOST:
            with self._lock:
                due = self._ledger.take(now)
            if due is None:
                break
            count += 1
            if not self._send(due):
                break
        return count

    def _forget_troubles(self) -> None:
        """Name no more what keeps nothing back: all that it did has ended."""
        if not self._troubles:
            return
        waiting = self._ledger.waiting(self._clock())
        for namespace in [*self._troubles]:
            if not (waiting if namespace == _EVERYWHERE else namespace in waiting):
                del self._troubles[namespace]

    def _send(self, due: Due) -> bool:
        """Make one Event; whether the server takes others."""
        try:
            count = self._record(due)
        except SourceError as error:
            with self._lock:
                return (
                    self._gone(due) if isinstance(error, GoneError) else self._failed(due, error)
                )
        with self._lock:
            self._ledger.told(self._clock(), due, count)
            self._troubles.pop(_EVERYWHERE, None)
            self._troubles.pop(due.notice.subject.namespace, None)
        return True

    def _gone(self, due: Due) -> bool:
        """The Event to repeat isn't there, or the namespace of a pod that is being deleted."""
        if due.again:
            self._ledger.forgotten(due)
        else:
            self._ledger.refused(self._clock(), due)
        return True

    def _failed(self, due: Due, error: SourceError) -> bool:
        now, namespace = self._clock(), due.notice.subject.namespace
        status = error.status if isinstance(error, ApiError) else None
        if status in _HOPELESS or (status == 403 and due.again):
            # It may be the right to change alone that is missing.
            self._ledger.refused(now, due)
            self._refused = [*self._refused, str(error)][:_SHOWN]
            return True
        if status == 403:
            self._ledger.forbidden(now, due)
            if len(self._troubles) < _SHOWN:
                self._troubles.setdefault(namespace, str(error))
            return True
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        self._ledger.failed(now, retry_after)
        self._troubles.setdefault(_EVERYWHERE, str(error))
        return False
