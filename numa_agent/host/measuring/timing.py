"""One sample of a reader and a buffer: bandwidth of all its cores, latency on one CPU."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import Reader
from numa_agent.core.measuring.planning import LEAST_STREAM
from numa_agent.host.measuring.buffers import Buffer
from numa_agent.host.measuring.kernels import LINE, Chaser, read_in_order

READS = 250_000
"""Waiting reads in a sample, at most half of a chain's lines: none is read twice."""

PATIENCE = 60.0
"""Seconds that threads are waited for. They end by themselves in a part of one."""

_LEAST_PART = 1 << 20


@dataclass(slots=True)
class _Read:
    """What one thread read: bytes, when it began and ended, and what went wrong."""

    size: int = 0
    began: float = 0.0
    ended: float = 0.0
    error: Exception | None = None


def bytes_per_second(reader: Reader, buffer: Buffer, seconds: float) -> float:
    """What the reader's CPUs read together of the stream, each a part of its own, in a circle."""
    size = buffer.target.stream_bytes
    count = max(1, min(len(reader.cpus), size // _LEAST_PART))
    part = size // count // LINE * LINE
    start = threading.Barrier(count)
    reads = [_Read() for _ in range(count)]
    threads = [
        threading.Thread(
            target=_read,
            args=(cpu, buffer.stream + number * part, part, start, seconds, reads[number]),
            daemon=True,
        )
        for number, cpu in enumerate(reader.cpus[:count])
    ]
    # An interrupt ends the waiting, and not the reading.
    buffer.read_still = True
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    buffer.read_still = any(thread.is_alive() for thread in threads)
    for read in reads:
        if read.error is not None:
            raise SourceError(f"node {reader.node}: {read.error}") from read.error
    if buffer.read_still or not all(read.size for read in reads):
        raise SourceError(f"node {reader.node}: its CPUs didn't read within {PATIENCE:.0f} s")
    return sum(read.size for read in reads) / _span(reads)


def nanoseconds(reader: Reader, buffer: Buffer, chase: Chaser) -> float:
    """The time of one waiting read, on the reader's probe."""
    run_on(reader.probe)
    base, lines = buffer.chain, buffer.target.chain_bytes // LINE
    offset = chase(0, lines // 64, base)
    reads = min(READS, lines // 2)
    began = time.perf_counter_ns()
    chase(offset, reads, base)
    took = time.perf_counter_ns() - began
    forget(reader, buffer)
    return took / reads


def forget(reader: Reader, buffer: Buffer) -> None:
    """Have the probe's caches lose what they have of the chain, by reading enough of the stream.

    Whoever reads the chain next would else get it from there, and not from memory.
    """
    run_on(reader.probe)
    enough = max(2 * reader.cache_bytes, LEAST_STREAM)
    read_in_order(buffer.stream, min(buffer.target.stream_bytes, enough))


def _read(
    cpu: int, address: int, size: int, start: threading.Barrier, seconds: float, read: _Read
) -> None:
    try:
        run_on(cpu)
        start.wait(PATIENCE / 2)
        read.began = read.ended = time.perf_counter()
        while read.ended - read.began < seconds:
            read_in_order(address, size)
            read.size += size
            read.ended = time.perf_counter()
    except threading.BrokenBarrierError:
        return
    except SourceError as error:
        start.abort()
        read.error = error


def run_on(cpu: int) -> None:
    """Have this thread run on a CPU. Raises SourceError."""
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        raise SourceError(f"CPU {cpu} can't be run on: {error.strerror}") from error


def _span(reads: Sequence[_Read]) -> float:
    return max(read.ended for read in reads) - min(read.began for read in reads)
