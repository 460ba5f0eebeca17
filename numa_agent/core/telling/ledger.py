"""Which notices are told when, so that a storm of faults costs few requests.

A fault is told once, again after some time while it lasts (the server forgets an Event after an
hour), and again when it comes back. What is more than the buckets allow is counted in one notice
about the Node. Nothing here knows a clock or draws chance: `now` is the seconds of a clock that
never goes back, and `random` answers a number from 0 up to 1.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from numa_agent.core.backoff import doubled
from numa_agent.core.telling.buckets import Buckets
from numa_agent.core.telling.limits import Due, Limits
from numa_agent.core.telling.notices import Identity, Notice, Subject, notice
from numa_agent.core.telling.reasons import HELD_BACK


@dataclass(slots=True, kw_only=True)
class _Told:
    """What was told: when last and how often."""

    at: float
    count: int | None
    ended: bool = False
    """Whether a pass since didn't find it."""


@dataclass(slots=True, kw_only=True)
class _Known:
    """A fault that lasts or a thing that happened, and since when it is known."""

    notice: Notice
    since: float


class Ledger:
    """Hears what there is to tell at every pass, and gives out what may be told now."""

    def __init__(
        self, node: Subject, random: Callable[[], float], limits: Limits | None = None
    ) -> None:
        """Take the Node, which is told of what is held back."""
        self._node = node
        self._random = random
        self._limits = own = limits or Limits()
        self._buckets = Buckets(own.burst, own.refill, own.own_burst, own.own_refill)
        self._lasting: dict[Identity, _Known] = {}
        self._happened: dict[Identity, _Known] = {}
        self._told: dict[Identity, _Told] = {}
        self._paused: dict[str, float] = {}
        self._failures = 0
        self._earliest = float("-inf")

    def hear(self, now: float, lasting: Iterable[Notice]) -> None:
        """Take in the faults of a pass; those of the one before that aren't among them ended."""
        before, self._lasting = self._lasting, {}
        for each in lasting:
            known = before.get(each.identity)
            since = now if known is None else known.since
            self._lasting.setdefault(each.identity, _Known(notice=each, since=since))
        for identity, told in self._told.items():
            told.ended = told.ended or identity not in self._lasting
        self._tidy(now)

    def happened(self, now: float, notices: Iterable[Notice]) -> None:
        """Take in what happened once: it waits until it is told."""
        for each in notices:
            self._happened.setdefault(each.identity, _Known(notice=each, since=now))
        while len(self._happened) > self._limits.most:
            del self._happened[next(iter(self._happened))]

    def keep(self, subjects: Collection[Subject]) -> None:
        """Tell of nothing that happened to any but these objects: the others are gone."""
        gone = [
            identity
            for identity, known in self._happened.items()
            if known.notice.subject not in subjects
        ]
        for identity in gone:
            del self._happened[identity]

    def due(self, now: float) -> float | None:
        """The seconds until something may be told, None while there is nothing to tell."""
        if self._next(now) is not None:
            return 0.0
        if next(self._candidates(now), None) is None:
            return self._until_one_has_lasted(now)
        return max(self._earliest - now, self._buckets.wait(now), 1.0)

    def waiting(self, now: float) -> frozenset[str]:
        """The namespaces of what would be told now if it could be."""
        candidates = self._candidates(now, even_paused=True)
        return frozenset(due.notice.subject.namespace for _, due in candidates)

    def take(self, now: float) -> Due | None:
        """What is to be told now, which counts as a request; then say what became of it."""
        due = self._next(now)
        if due is not None and due.notice.reason is not HELD_BACK:
            self._buckets.take(now, due.notice.subject)
        return due

    def told(self, now: float, due: Due, count: int | None) -> None:
        """It was told, `count` times by now, None where only the server knows."""
        identity = due.notice.identity
        self._failures = 0
        self._paused.pop(due.notice.subject.namespace, None)
        self._happened.pop(identity, None)
        self._told[identity] = _Told(at=now, count=count)

    def forgotten(self, due: Due) -> None:
        """The server doesn't know it any more: it is told as if for the first time."""
        self._told.pop(due.notice.identity, None)

    def refused(self, now: float, due: Due) -> None:
        """It can't be told as it is: it waits as long as if it had been."""
        self.told(now, due, due.count)

    def forbidden(self, now: float, due: Due) -> None:
        """Nothing in its namespace may be told: those wait, the others don't."""
        self._paused[due.notice.subject.namespace] = now + self._limits.longest

    def failed(self, now: float, retry_after: float | None) -> None:
        """The server can't be told anything: everything waits."""
        limits = self._limits
        self._failures += 1
        drawn = doubled(limits.pause, limits.longest, self._failures, self._random())
        self._earliest = now + max(drawn, min(retry_after or 0.0, limits.kept))

    def _until_one_has_lasted(self, now: float) -> float | None:
        """The seconds until the first new fault has lasted long enough, None without any."""
        ends = (
            each.since + each.notice.reason.patience
            for identity, each in self._lasting.items()
            if identity not in self._told and not self._is_paused(now, each.notice.subject)
        )
        first = min((end for end in ends if end > now), default=None)
        return None if first is None else max(self._earliest - now, first - now)

    def _next(self, now: float) -> Due | None:
        if now < self._earliest:
            return None
        candidates = sorted(self._candidates(now), key=lambda each: each[0])
        if self._buckets.wait(now) == 0:
            for _, due in candidates:
                if self._buckets.open(now, due.notice.subject):
                    return due
        return self._held_back(now, [due for (rank, _), due in candidates if rank == 0])

    def _candidates(
        self, now: float, *, even_paused: bool = False
    ) -> Iterator[tuple[tuple[int, float], Due]]:
        """What is to be told by its rank, new faults first, and since when it is known."""
        for rank, known in enumerate((self._lasting, self._happened)):
            for identity, each in known.items():
                told = self._told.get(identity)
                paused = self._is_paused(now, each.notice.subject) and not even_paused
                if paused or self._waits(now, each, told):
                    continue
                due = Due(
                    notice=each.notice,
                    age=now - each.since,
                    again=told is not None,
                    count=None if told is None else told.count,
                )
                yield (rank if told is None else 2, each.since), due

    def _waits(self, now: float, known: _Known, told: _Told | None) -> bool:
        reason, limits = known.notice.reason, self._limits
        if told is None:
            return now - known.since < reason.patience
        spacing = limits.again if told.ended or not reason.lasting else limits.refresh
        return now - told.at < spacing

    def _is_paused(self, now: float, subject: Subject) -> bool:
        return now < self._paused.get(subject.namespace, now)

    def _held_back(self, now: float, waiting: Collection[Due]) -> Due | None:
        """The notice that so many faults wait, None where few do or it was told of late."""
        if len(waiting) <= self._limits.few or self._is_paused(now, self._node):
            return None
        names = Counter(due.notice.reason.name for due in waiting)
        listed = ", ".join(f"{count} {name}" for name, count in sorted(names.items()))
        said = notice(
            self._node,
            HELD_BACK,
            f"{len(waiting)} faults have no Event of their own yet: {listed};"
            " the agent's /statusz lists all that is wrong on this node",
        )
        told = self._told.get(said.identity)
        if told is None:
            return Due(notice=said, age=0.0)
        if now - told.at < self._limits.again:
            return None
        return Due(notice=said, age=0.0, again=True, count=told.count)

    def _tidy(self, now: float) -> None:
        kept = self._limits.kept
        self._told = {
            identity: told
            for identity, told in self._told.items()
            if not told.ended or now - told.at < kept
        }
        happened = self._happened.items()
        self._happened = {key: each for key, each in happened if now - each.since < kept}
        self._paused = {name: until for name, until in self._paused.items() if now < until}
        self._buckets.tidy(now)
