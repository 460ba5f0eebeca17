"""Tells people of what passes find, in Events, within few requests and little time."""

import time
from collections.abc import Callable, Iterable, Sequence

from numa_agent.core.conditions import Condition
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.pods import Pod
from numa_agent.core.report import Report, Write
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

_HOPELESS = frozenset({400, 413, 422})
"""The server refuses this Event and no other: it is invalid, or too large."""

Record = Callable[[Due], int | None]
"""Makes or repeats one Event; how often the server has it, None where that isn't known.

GoneError where an Event to repeat isn't there; ApiError where the server doesn't take it.
"""


class Teller:
    """Hears every pass and what is done between passes, and makes the Events that are due."""

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
        self._bindings = Bindings()
        self._ledger = Ledger(about_node(node_name), random, limits)
        self._pods: tuple[Pod, ...] = ()
        self._troubles: dict[str, str] = {}
