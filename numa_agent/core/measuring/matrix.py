"""What reading each node's memory from each node's CPUs was measured to take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from numa_agent.core.measuring.planning import MatrixPlan
from numa_agent.core.measuring.spread import Ratio, median, ratio
from numa_agent.core.pci import PciAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One node's memory read from one node's CPUs, once in each round.

    `nanoseconds` is the time of a read that waits for the one before it, empty where that can't
    be measured; `bytes_per_second` is what all of the node's cores read in order together.
    """

    nanoseconds: tuple[float, ...]
    bytes_per_second: tuple[float, ...]

    @property
    def times(self) -> tuple[float, ...]:
        """What distances go by: the latencies, else the time that a byte takes."""
        return self.nanoseconds or tuple(1 / each for each in self.bytes_per_second)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """One node's memory copied to one GPU and back, once in each round, in bytes per second."""

    to_gpu: tuple[float, ...]
    from_gpu: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Everything that was measured, by (reading node, node whose memory is read).

    `pages` are the pages of each target's buffer, all of which were found on it; `left_out` are
    sentences on what wasn't measured; `rounds` how often each pair was. `copies` are by GPU and
    node, none where they weren't asked for.
    """

    plan: MatrixPlan
    pairs: Mapping[tuple[int, int], Pair]
    pages: Mapping[int, int]
    left_out: tuple[str, ...]
    rounds: int
    copies: Mapping[tuple[PciAddress, int], Copies] = field(default_factory=dict)

    @cached_property
    def by(self) -> str:
        """What distances go by: `latency`, or `bandwidth` where that is all there is."""
        pairs = self.pairs.values()
        return "latency" if pairs and all(pair.nanoseconds for pair in pairs) else "bandwidth"

    @property
    def whole(self) -> bool:
        """Whether every node that was planned was measured from every one."""
        planned = len(self.plan.readers) * len(self.plan.targets)
        return bool(self.pairs) and len(self.pairs) == planned

    def local(self, reader: int) -> int | None:
        """The node that a reader's own memory is on; the quickest where it has none."""
        if (reader, reader) in self.pairs:
            return reader
        medians = {
            target: median(pair.times)
            for (own, target), pair in self.pairs.items()
            if own == reader
        }
        return min(medians, key=lambda target: (medians[target], target), default=None)

    def ratio(self, reader: int, target: int) -> Ratio | None:
        """How many times as long a read of a target takes as one of the reader's own memory."""
        local = self.local(reader)
        if local is None or (reader, target) not in self.pairs:
            return None
        return ratio(self._times(reader, local), self._times(reader, target))

    def distance(self, reader: int, target: int) -> int | None:
        """The ratio as the firmware's distances have it: 10 is local, 254 the most."""
        found = self.ratio(reader, target)
        if found is None:
            return None
        if target == self.local(reader):
            return 10
        return min(max(round(10 * found.value), 10), 254)

    def _times(self, reader: int, target: int) -> tuple[float, ...]:
        pair = self.pairs[reader, target]
        return pair.nanoseconds if self.by == "latency" else pair.times
