"""When to look at a container's cpuset files again, since no effective set tells that it changed.

A runtime writes the set of the container's spec after it made the cgroup, and kubelet's static
policy within its reconcile period (10 s by default), so that the first seconds get looks of their
own: https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/. `now` is the
seconds of a clock that never goes back.
"""

from collections.abc import Collection
from dataclasses import dataclass

AFTER_START = (0.2, 1.0, 10.0)
"""Seconds after a container's start, ascending."""

EVERY = 30.0
"""Seconds between two looks at everything, where not each write of a set is told."""

EVERY_TOLD = 120.0
"""Where it is, as inotify does: passes look more often, unless they were made very seldom."""


@dataclass(slots=True, kw_only=True)
class _Early:
    """The looks that a container has still to get of its own."""

    started: float
    done: int = 0


class Looks:
    """The containers that are to be looked at, by key, and when.

    Each gets looks of its own after its start, all of them together the periodic one. A look that
    comes late counts for all that it is late for.
    """

    def __init__(self, every: float = EVERY) -> None:
        """Take the seconds from one periodic look to the next."""
        self._every = every
        self._periodic = float("inf")
        self._early: dict[str, _Early] = {}
        self._keys: set[str] = set()

    def started(self, now: float, key: str) -> None:
        """Look at a container from its start on; one that starts again begins anew."""
        if not self._keys:
            self._periodic = now + self._every
        self._keys.add(key)
        self._early[key] = _Early(started=now)

    def ended(self, key: str) -> None:
        """Look at a container no more."""
        self._keys.discard(key)
        self._early.pop(key, None)

    def keep(self, keys: Collection[str]) -> None:
        """Look no more at any but these, say those whose cgroups are there."""
        for key in self._keys.difference(keys):
            self.ended(key)

    def all_seen(self, now: float, every: float) -> None:
        """A pass has looked at all of them, so that the next look at everything is that far."""
        self._every = every
        if self._keys:
            self._periodic = now + every

    def due(self, now: float) -> list[str]:
        """The keys to look at now, sorted; each look is given out once."""
        keys = set(self._keys) if now >= self._periodic else set[str]()
        if now >= self._periodic:
            self._periodic = now + self._every
        for key, early in tuple(self._early.items()):
            if now < early.started + AFTER_START[early.done]:
                continue
            keys.add(key)
            early.done = sum(now >= early.started + seconds for seconds in AFTER_START)
            if early.done == len(AFTER_START):
                del self._early[key]
        return sorted(keys)

    def next(self, now: float) -> float | None:
        """The seconds until a look is due, 0 when one is; None while there is no container."""
        if not self._keys:
            return None
        moments = [early.started + AFTER_START[early.done] for early in self._early.values()]
        return max(min([self._periodic, *moments]) - now, 0.0)
