"""Every node's memory read from every node's CPUs, in rounds, so that a slow minute hits all."""

import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import Copies, Matrix, MatrixPlan, Pair, Reader, Target
from numa_agent.core.pci import PciAddress
from numa_agent.host.measuring import cuda, timing
from numa_agent.host.measuring.buffers import Buffer, on_node
from numa_agent.host.measuring.calls import NotAllowedError
from numa_agent.host.measuring.kernels import Chaser, chain
from numa_agent.host.measuring.policy import own_cpus

LONGEST_SAMPLE = 0.2
SHORTEST_SAMPLE = 0.01
"""Seconds that a bandwidth is measured for."""


def measure_matrix(
    plan: MatrixPlan,
    rounds: int,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    cuda_library: str | None = None,
) -> Matrix:
    """Measure in so many rounds; none begins after so many seconds but the first.

    With CUDA's library, copies to and from each GPU are measured too. What can't be had is left
    out with the reason: a node's memory, a node's CPUs, a GPU. Raises SourceError where memory
    policy isn't allowed at all, or there is no such library.
    """
    began = clock()
    done = 0
    closing: list[str] = []
    with ExitStack() as stack:
        gpus = (
            [] if cuda_library is None else stack.enter_context(cuda.opened(cuda_library, closing))
        )
        parts = len(plan.targets) * (len(plan.readers) + len(gpus))
        run = _Run(plan, gpus, seconds / max(1, rounds * parts))
        stack.enter_context(own_cpus())
        while done < rounds and (not done or clock() - began < seconds):
            run.round()
            done += 1
    return run.matrix(done, closing)


class _Run:
    def __init__(self, plan: MatrixPlan, gpus: Sequence[cuda.Gpu], share: float) -> None:
        """Take the plan, and the seconds that a pair may take in a round."""
        self._plan = plan
        self._gpus = gpus
        self._seconds = min(max(share / 3, SHORTEST_SAMPLE), LONGEST_SAMPLE)
        self._lost: dict[object, str] = {}
        self._pages: dict[int, int] = {}
        self._chains: dict[int, array[int]] = {}
        self._nanoseconds: dict[tuple[int, int], list[float]] = defaultdict(list)
        self._rates: dict[tuple[int, int], list[float]] = defaultdict(list)
        self._copies: dict[tuple[PciAddress, int], list[tuple[float, float]]] = defaultdict(list)
        self._chase: Chaser | None = None
        try:
            self._chase = Chaser()
        except SourceError as error:
            self._lost["latency"] = str(error)

    def round(self) -> None:
        """Measure everything once."""
        for target in self._plan.targets:
            self._unless_lost(target, partial(self._measure, target))

    def matrix(self, rounds: int, more: Sequence[str]) -> Matrix:
        """What was measured in all rounds, and what wasn't, `more` included."""
        readers = {reader.node for reader in self._plan.readers if reader not in self._lost}
        targets = {target.node for target in self._plan.targets if target not in self._lost}
        return Matrix(
            plan=self._plan,
            pairs={
                pair: Pair(
                    nanoseconds=tuple(self._nanoseconds[pair]), bytes_per_second=tuple(rates)
                )
                for pair, rates in self._rates.items()
                if pair[0] in readers and pair[1] in targets
            },
            copies={
                pair: Copies(
                    to_gpu=tuple(to for to, _ in rates), from_gpu=tuple(back for _, back in rates)
                )
                for pair, rates in self._copies.items()
                if pair[1] in targets and pair not in self._lost
            },
            pages={node: count for node, count in self._pages.items() if node in targets},
            left_out=(*self._plan.left_out, *self._lost.values(), *more),
            rounds=rounds,
        )

    def _unless_lost(self, what: object, measure: Callable[[], None]) -> None:
        """Measure what hasn't failed before; a failure costs that thing alone."""
        if what in self._lost:
            return
        try:
            measure()
        except NotAllowedError:
            raise
        except SourceError as error:
            self._lost[what] = str(error)

    def _measure(self, target: Target) -> None:
        with on_node(target) as buffer:
            first = next((each for each in self._plan.readers if each not in self._lost), None)
            if first is None:
                return
            # On one CPU, so that it is known whose caches have the buffer and must lose it.
            self._unless_lost(first, partial(timing.run_on, first.probe))
            buffer.fill(self._chain(target.chain_bytes))
            self._unless_lost(first, partial(timing.forget, first, buffer))
            for reader in self._plan.readers:
                self._unless_lost(reader, partial(self._read, reader, buffer))
                if buffer.read_still:
                    raise SourceError(f"node {target.node}: its buffer is still being read")
            # The kernel may have moved pages meanwhile, and then this was another node's.
            self._pages[target.node] = buffer.check()
            for gpu in self._gpus:
                pair = (gpu.address, target.node)
                self._unless_lost(pair, partial(self._copy, gpu, pair, buffer))

    def _read(self, reader: Reader, buffer: Buffer) -> None:
        pair = (reader.node, buffer.target.node)
        rate = timing.bytes_per_second(reader, buffer, self._seconds)
        time = None if self._chase is None else timing.nanoseconds(reader, buffer, self._chase)
        self._rates[pair].append(rate)
        if time is not None:
            self._nanoseconds[pair].append(time)

    def _copy(self, gpu: cuda.Gpu, pair: tuple[PciAddress, int], buffer: Buffer) -> None:
        try:
            self._copies[pair].append(gpu.bytes_per_second(buffer, self._seconds / 2))
        except SourceError as error:
            raise SourceError(f"GPU {gpu.address}, memory of node {pair[1]}: {error}") from error

    def _chain(self, size: int) -> "array[int]":
        if size not in self._chains:
            self._chains[size] = chain(size)
        return self._chains[size]
