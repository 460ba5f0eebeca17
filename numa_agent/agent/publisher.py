"""Sends objects when their moment has come, so that bursts are merged and failures back off."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from numa_agent.core.documents import mapping
from numa_agent.core.errors import SourceError
from numa_agent.core.pacing import Pacer
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.view import Json

Send = Callable[[Json], Published | None]
"""Sends one object; None where there is nobody to send it to."""

PENDING = Published(outcome=Outcome.PENDING, detail="it waits for the moment of its next write")
_NOBODY = Published(outcome=Outcome.UNCHANGED, detail="there is nobody to send it to")


@dataclass(slots=True)
class _Waiting:
    """An object as it should be, when it is tried next, and what became of it last."""

    manifest: Json
    pacer: Pacer
    published: Published | None


class Publisher:
    """Takes what objects should hold at every pass, and sends what is due between passes.

    One thread may send while another one offers.
    """

    def __init__(
        self, send: Send, clock: Callable[[], float], random: Callable[[], float]
    ) -> None:
        """Take what sends, a clock of seconds that never goes back, and numbers from 0 up to 1."""
        self._send = send
        self._clock = clock
        self._random = random
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}

    def offer(self, manifest: Json) -> Published | None:
        """Say what an object should hold; answers what became of it last."""
        name = f"{manifest['kind']} {mapping(manifest['metadata'])['name']}"
        with self._lock:
            waiting = self._waiting.get(name)
            if waiting is None:
                waiting = _Waiting(manifest, Pacer(self._random), PENDING)
                self._waiting[name] = waiting
            waiting.manifest = manifest
            waiting.pacer.offer(self._clock(), _key(manifest))
            return waiting.published

    def due(self) -> float | None:
        """The seconds until the next object is due, None while none is."""
        now = self._clock()
        with self._lock:
            waits = [each.pacer.due(now) for each in self._waiting.values()]
        return min((wait for wait in waits if wait is not None), default=None)

    def send_due(self) -> int:
        """Send every object that is due, as it is by now; answers how many."""
        count = 0
        with self._lock:
            found = list(self._waiting.values())
        for each in found:
            with self._lock:
                if each.pacer.due(self._clock()) != 0:
                    continue
                manifest = each.manifest
            count += 1
            published = sent(self._send, manifest)
            with self._lock:
                each.published = published
                each.pacer.tell(self._clock(), _key(manifest), published or _NOBODY)
        return count


def sent(send: Send, manifest: Json) -> Published | None:
    """What became of one object; a source that fails on the way is an outcome like any other."""
    try:
        return send(manifest)
    except SourceError as error:
        return Published(outcome=Outcome.UNAVAILABLE, detail=str(error))


def _key(manifest: Json) -> str:
    return json.dumps(manifest, sort_keys=True)
