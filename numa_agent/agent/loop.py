"""The loop around a pass: take it, tell of it, bind and send what is due, wait."""

from collections.abc import Callable
from dataclasses import replace

from numa_agent.agent.binder import Binder, Seen
from numa_agent.agent.passes import Ports, run_pass
from numa_agent.agent.publisher import Publisher
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Report

PERIOD_SECONDS = 30.0
"""From one pass to the next; up to half of it more by chance, so that nodes don't ask in step."""

UNKNOWN_SECONDS = 0.2
"""To the next pass when a pod came that the last one didn't know; often several come at once."""

News = Report | Seen | SourceError
"""A pass's report, what was done between passes, or why there was no pass."""


def run_forever(
    ports: Ports,
    *,
    tell: Callable[[News], None],
    wait: Callable[[float], bool],
    random: Callable[[], float],
    binder: Binder | None = None,
) -> None:
    """Take passes until `wait`, given seconds, answers that it is time to end.

    `wait` may come back early when a cgroup changed, which `binder` then sees to. Objects are sent
    between passes, each when its moment has come.
    """
    clock = ports.clock
    publisher = Publisher(ports.publish, clock, random)
    paced = replace(ports, publish=publisher.offer)
    if binder is not None:
        paced = replace(paced, planned=binder.know)
    while True:
        try:
            tell(run_pass(paced))
        except SourceError as error:
            tell(error)
        over = clock() + PERIOD_SECONDS * (1 + random() / 2)
        while (left := over - clock()) > 0:
            due = [publisher.due(), None if binder is None else binder.due()]
            if wait(min([left, *(each for each in due if each is not None)])):
                return
            if binder is not None:
                seen = binder.work()
                if seen.writes or seen.conditions or seen.failures:
                    tell(seen)
                if seen.unknown:
                    over = min(over, clock() + UNKNOWN_SECONDS)
            publisher.send_due()
