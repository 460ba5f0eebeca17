"""The loop around a pass: take it, tell of it, bind and send what is due, wait."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from numa_agent.agent.binder import Binder
from numa_agent.agent.passes import Ports, run_pass
from numa_agent.agent.publisher import Publisher
from numa_agent.agent.watching import Seen
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Report

SOON_SECONDS = 0.2
"""To the next pass when something changed; often several things do at once."""

RETRY_SECONDS = 5.0
"""To the next pass after one that a source failed; twice as long each further time."""

News = Report | Seen | SourceError
"""A pass's report, what was done between passes, or why there was no pass."""


class Sending(Protocol):
    """What has something to send from time to time; one thread may send while others speak."""

    def due(self) -> float | None:
        """The seconds until something is due, None while nothing is."""

    def send_due(self) -> int:
        """Send what is due; how much that was."""


Renewed = Callable[[Ports], Ports | None]
"""The same ports with settings that changed since it was asked last, None where none did."""

Sender = Callable[[Sequence[Sending]], Callable[[], None]]
"""Sends for these from now on, in its own time; what it answers says that there may be more."""


def _as_they_are(_: Ports) -> None:
    return None


def run_forever(
    ports: Ports,
    *,
    tell: Callable[[News], None],
    wait: Callable[[float], bool],
    random: Callable[[], float],
    binder: Binder | None = None,
    sender: Sender | None = None,
    renewed: Renewed = _as_they_are,
) -> None:
    """Take passes until `wait`, given seconds, answers that it is time to end.

    `wait` may come back early when a cgroup or a pod changed, which `binder` then sees to. Objects
    and Events are sent by `sender`, or between passes where there is none.
    """
    _Loop(ports, tell, wait, random, binder, sender, renewed).run()


class _Loop:
    def __init__(
        self,
        ports: Ports,
        tell: Callable[[News], None],
        wait: Callable[[float], bool],
        random: Callable[[], float],
        binder: Binder | None,
        sender: Sender | None,
        renewed: Renewed,
    ) -> None:
        publisher = Publisher(ports.publish, ports.clock, random)
        self._ports = replace(ports, publish=publisher.offer)
        if binder is not None:
            self._ports = replace(self._ports, planned=binder.know)
        self._tell = tell
        self._wait = wait
        self._random = random
        self._failed = 0
        self._binder = binder
        self._renewed = renewed
        self._sending: list[Sending] = [publisher]
        self._sending += [each for each in (ports.teller, ports.marking) if each is not None]
        self._poke = None if sender is None else sender(self._sending)

    def run(self) -> None:
        clock = self._ports.clock
        while True:
            self._take_pass()
            over = clock() + self._until_the_next()
            while (left := over - clock()) > 0:
                if self._wait(min([left, *self._dues()])):
                    return
                if self._work() | self._changed():
                    over = min(over, clock() + SOON_SECONDS)
                self._send()

    def _until_the_next(self) -> float:
        """The seconds to the next pass, where nothing wakes it."""
        most = self._ports.period
        if self._failed:
            most = min(most, RETRY_SECONDS * 2 ** min(self._failed - 1, 10))
        period = most * (1 + self._random() / 2)
        assigning = self._ports.assigning
        waits = None if assigning is None else assigning.due()
        return period if waits is None else min(period, max(waits, SOON_SECONDS))

    def _take_pass(self) -> None:
        try:
            report = run_pass(self._ports)
            failed = any(each.error is not None for each in report.sources)
            self._tell(report)
        except SourceError as error:
            failed = True
            self._tell(error)
        self._failed = self._failed + 1 if failed else 0
        if self._poke is not None:
            self._poke()

    def _dues(self) -> list[float]:
        here = self._sending if self._poke is None else []
        dues = [each.due() for each in (*here, self._binder) if each is not None]
        return [each for each in dues if each is not None]

    def _work(self) -> bool:
        """Bind what changed; whether something came that asks for another pass."""
        if self._binder is None:
            return False
        seen = self._binder.work()
        if seen.unknown and self._ports.mover is not None:
            # What waits was wanted by what holds no more; the pass says what still is.
            self._ports.mover.want(())
        if seen.writes or seen.conditions or seen.failures:
            self._tell(seen)
            if self._ports.teller is not None:
                self._ports.teller.hear_between(seen.writes, seen.conditions)
        return seen.unknown

    def _changed(self) -> bool:
        """Whether other settings hold now."""
        renewed = self._renewed(self._ports)
        if renewed is None:
            return False
        self._ports = renewed
        return True

    def _send(self) -> None:
        if self._poke is not None:
            return
        for each in self._sending:
            each.send_due()
