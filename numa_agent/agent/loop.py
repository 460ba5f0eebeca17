"""The loop around a pass: take it, tell of it, send what is due, wait."""

from collections.abc import Callable
from dataclasses import replace

from numa_agent.agent.passes import Ports, run_pass
from numa_agent.agent.publisher import Publisher
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Report

PERIOD_SECONDS = 30.0
"""From one pass to the next; up to half of it more by chance, so that nodes don't ask in step."""


def run_forever(
    ports: Ports,
    *,
    tell: Callable[[Report | SourceError], None],
    wait: Callable[[float], bool],
    clock: Callable[[], float],
    random: Callable[[], float],
) -> None:
    """Take passes until `wait`, given seconds, answers that it is time to end.

    `tell` gets each pass's report, or why there was no pass. Objects are sent between passes, each
    when its moment has come.
    """
    publisher = Publisher(ports.publish, clock, random)
    paced = replace(ports, publish=publisher.offer)
    while True:
        try:
            tell(run_pass(paced))
        except SourceError as error:
            tell(error)
        over = clock() + PERIOD_SECONDS * (1 + random() / 2)
        while (left := over - clock()) > 0:
            due = publisher.due()
            if wait(left if due is None else min(due, left)):
                return
            publisher.send_due()
