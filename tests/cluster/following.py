"""A watch under test: fast, with what it told, and a way to wait for it.

It asks again soon, but takes its time to call a server silent: that mustn't be a busy computer's
doing. A test of silence has SHORT.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numa_agent.cluster.watch import Patience, PodWatch, watch_pods
from numa_agent.core.backoff import BackOff
from numa_agent.core.errors import SourceError
from tests import waits

QUICK = Patience(
    silence=60.0,
    answer=60.0,
    whole=60.0,
    grace=0.05,
    first=60.0,
    back_off=BackOff(first=0.02, most=0.1, obeyed=1.0),
)
SHORT = replace(QUICK, silence=0.6)
"""Patience with a server that says nothing, for a test of that."""
ENDS_SECONDS = 3.0
"""Its thread's end, with what a busy computer adds: what it may be waiting for takes longer."""


def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> float:
    """Wait until a condition holds; answers the seconds that took."""
    return waits.eventually(condition, seconds)


@dataclass(kw_only=True)
class Following:
    """The watch, how often it woke, and which pods' cgroups there are (None: nobody knows)."""

    watch: PodWatch
    running: list[frozenset[str] | None]
    woken: list[float] = field(default_factory=list)

    def names(self) -> list[str]:
        """The names of the pods, once they are those of now."""
        eventually(lambda: not self.fault())
        return self._names()

    def _names(self) -> list[str]:
        return [pod.name for pod in self.watch.pods().pods]

    def knows(self, *names: str) -> bool:
        """Whether these are the pods of now."""
        try:
            return sorted(self._names()) == sorted(names)
        except SourceError:
            return False

    def fault(self) -> str:
        """Why the pods aren't of now, "" where they are."""
        try:
            self.watch.pods()
        except SourceError as error:
            return str(error)
        return ""


@contextmanager
def following(
    kubeconfig: Path, node: str = "n", patience: Patience = QUICK, **changes: Any
) -> Iterator[Following]:
    """Follow the pods of a node until the block ends; the thread must then end at once."""
    woken: list[float] = []
    running: list[frozenset[str] | None] = [None]
    watch = watch_pods(
        kubeconfig,
        node,
        wake=lambda: woken.append(time.monotonic()),
        running=lambda: running[0],
        patience=replace(patience, **changes),
    )
    try:
        yield Following(watch=watch, running=running, woken=woken)
    finally:
        began = time.monotonic()
        watch.close()
        assert time.monotonic() - began < 10
        eventually(_no_thread, ENDS_SECONDS)


def _no_thread() -> bool:
    return not any(each.name == "pod-watch" for each in threading.enumerate())
