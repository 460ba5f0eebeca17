"""The last pass, and the counts since the start, in Prometheus' words.

docs/metrics.md lists every family with its meaning.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from numa_agent.serve.board import Board
from numa_agent.serve.metrics.binding import binding, counted, each_container
from numa_agent.serve.metrics.families import one
from numa_agent.serve.metrics.machine import machine
from numa_agent.serve.metrics.passes import last_pass, passes
from numa_agent.serve.metrics.process import Process
from numa_agent.serve.metrics.slots import slots

MOST_SERIES = 1000
"""Of one family, so that no name from outside fills somebody's Prometheus."""

MOST_CONTAINERS = 500
"""Each has two series."""

Families = Callable[[], Iterable[Metric]]


class Metrics(Collector):
    """Gives the families for one scrape.

    `more` are families of those who serve. `per_container` asks for series of single containers,
    and so does the board's.
    """

    def __init__(
        self, board: Board, *, more: Families = tuple, per_container: bool = False
    ) -> None:
        """Take what the loop tells."""
        self._board = board
        self._more = more
        self._per_container = per_container
        self._process = Process(board.scheduler)

    def collect(self) -> Iterator[Metric]:
        """Every family; those of a report are there after the first pass."""
        left_out = 0
        for family in self._families():
            left_out += max(len(family.samples) - MOST_SERIES, 0)
            del family.samples[MOST_SERIES:]
            yield family
        report = self._board.tally.report
        if (self._per_container or self._board.per_container) and report is not None:
            families, missing = each_container(report, MOST_CONTAINERS)
            yield from families
            left_out += missing
        yield one(
            "numa_agent_series_left_out",
            "Series left out of this answer, since there would be too many.",
            left_out,
        )

    def _families(self) -> Iterator[Metric]:
        board = self._board
        tally, now = board.tally, board.clock()
        if tally.report is not None:
            yield from machine(tally.report)
            yield from slots(tally.report.slots)
            yield from binding(tally.report)
            yield from last_pass(tally.report, tally.at_unix, now - tally.at)
        yield from counted(tally)
        yield from passes(tally, now)
        yield one("numa_agent_ready", "1 where /readyz answers 200.", int(board.ready().good))
        yield from self._process.collect()
        yield from self._more()
