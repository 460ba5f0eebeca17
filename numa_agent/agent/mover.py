"""Writes of memory nodes that make the kernel move pages: one at a time, in a thread of their own.

The write of cpuset.mems lasts until the pages are there, which may be minutes, and holds up other
cgroup writes meanwhile (https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset-interface-files).
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Step
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.report import Write

PAUSE_SECONDS = 1.0
"""Between two moves, so that other cgroup writes get through."""

LONG_SECONDS = 60.0
"""A move that lasts longer is told of."""


class Mover:
    """Keeps the moves that are wanted, pod by pod, and makes them one at a time in their order."""

    def __init__(
        self,
        write: Callable[[Step], None],
        clock: Callable[[], float] = time.monotonic,
        pause: float = PAUSE_SECONDS,
    ) -> None:
        """Take what writes a step, and raises SourceError; the thread begins with the first."""
        self._write = write
        self._clock = clock
        self._pause = pause
        self._waiting: deque[Step] = deque()
        self._done: list[Write] = []
        self._given_up: list[Step] = []
        self._now: tuple[Step, float] | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False

    def want(self, moves: Iterable[tuple[Step, ...]]) -> None:
        """These steps, a tuple for each pod, are what is wanted now; what waited else is given up.

        A step that is being written goes on: the kernel can't be stopped.
        """
        with self._changed:
            if self._ended:
                return
            on = None if self._now is None else self._now[0]
            before = self._waiting
            self._waiting = deque(step for own in moves for step in own if step != on)
            files = {step.path for step in self._waiting}
            self._given_up += (step for step in before if step.path not in files)
            if self._waiting and self._thread is None:
                # A daemon: the end of the process doesn't wait for a move.
                self._thread = threading.Thread(target=self._run, name="mover", daemon=True)
                self._thread.start()
            self._changed.notify()

    def done(self) -> tuple[Write, ...]:
        """What became of the steps written since it was asked last."""
        with self._changed:
            found, self._done = tuple(self._done), []
        return found

    def asked(self) -> frozenset[Step]:
        """The steps that are still to be written, and the one that is being."""
        with self._changed:
            on = () if self._now is None else (self._now[0],)
            return frozenset((*self._waiting, *on))

    def given_up(self) -> tuple[Step, ...]:
        """The steps of files that are written no more, since it was asked last."""
        with self._changed:
            found, self._given_up = tuple(self._given_up), []
        return found

    def conditions(self) -> tuple[Condition, ...]:
        """Which move lasts long, and what waits behind it."""
        with self._changed:
            if self._now is None:
                return ()
            step, since = self._now
            seconds, waiting = self._clock() - since, len(self._waiting)
        if seconds < LONG_SECONDS:
            return ()
        message = (
            f"pod {step.pod}: the kernel has moved its pages for {seconds:.0f} s"
            f" ({step.path}/cpuset.mems); {waiting} more wait"
        )
        return (Condition(code="move-lasts-long", subject=step.pod, message=message),)

    def close(self) -> None:
        """Begin no other move; one that is on goes on with the kernel."""
        with self._changed:
            self._ended = True
            self._waiting.clear()
            self._changed.notify()

    def _run(self) -> None:
        while (step := self._next()) is not None:
            error = None
            try:
                self._write(step)
            except GoneError:
                pass
            except SourceError as failure:
                error = str(failure)
            with self._changed:
                self._now = None
                if error is not None:
                    # The pod's next steps rely on this one; the next pass wants them again.
                    self._given_up += (each for each in self._waiting if each.pod == step.pod)
                    others = (each for each in self._waiting if each.pod != step.pod)
                    self._waiting = deque(others)
                self._done.append(Write(step=step, error=error))
                self._changed.wait_for(lambda: self._ended, self._pause)

    def _next(self) -> Step | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or bool(self._waiting))
            if self._ended:
                return None
            step = self._waiting.popleft()
            self._now = (step, self._clock())
            return step
