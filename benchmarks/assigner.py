"""Time the assigner's decisions on machines of several shapes, with CPUs held here and there.

    python -m benchmarks.assigner [--decisions N] [--seed N]

First whole decisions: a pod with its GPUs comes, until all GPUs are given out. Then for each
machine how long the choice of CPUs takes for wishes of any size and kind, on one node
and on all, on machines from idle to nearly full. It is CPU time, so that others on this computer
don't count. Everything is made up; nothing is read or bound.
"""

import argparse
import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.whole_decisions import LARGE
from benchmarks.whole_decisions import times as whole
from numa_agent.core.assigner.cpus import choose_cpus
from numa_agent.core.assigner.values import (
    Apart,
    NodeIds,
    NodeRoom,
    NoRoomError,
    Policy,
    Room,
    Threads,
    Wish,
)
from numa_agent.core.cpulist import CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A machine: nodes, last-level caches of each, cores behind each, threads of each."""

    nodes: int
    caches: int
    cores: int
    threads: int = 2

    @property
    def cpus(self) -> int:
        """How many CPUs there are."""
        return self.nodes * self.caches * self.cores * self.threads


SHAPES: Mapping[str, Shape] = {
    "1 node, 1 L3, 16 CPUs": Shape(nodes=1, caches=1, cores=8),
    "2 nodes, 1 L3 each, 224 CPUs": Shape(nodes=2, caches=1, cores=56),
    "8 nodes, 2 L3 each, 256 CPUs": Shape(nodes=8, caches=2, cores=8),
    "2 nodes, 12 L3 each, 384 CPUs": Shape(nodes=2, caches=12, cores=8),
    "2 nodes, 32 L3 each, 512 CPUs": Shape(nodes=2, caches=32, cores=4),
    "2 nodes, 32 L3 each, 1024 CPUs": Shape(nodes=2, caches=32, cores=8),
    "4 nodes, SMT8, 768 CPUs": Shape(nodes=4, caches=12, cores=2, threads=8),
}


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    heads = f"{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}"
    print(f"{'Whole decisions':<47}{'pods':>6}{'placed':>8}{heads}")
    for name, large in LARGE.items():
        asked, placed, times = whole(large, arguments.decisions // 40, arguments.seed)
        p50, p99 = (times[len(times) * share // 100] for share in (50, 99))
        print(f"{name:<47}{asked:>6}{placed:>8}{p50:>9.2f}{p99:>9.2f}{times[-1]:>9.2f}")
    print()
    print(f"{'CPUs of given nodes':<34}{'found':>7}{heads}")
    for name, shape in SHAPES.items():
        cases = list(cpu_cases(shape, arguments.decisions, random.Random(arguments.seed)))
        found, times = timed(choose_cpus, cases)
        p50, p99 = (times[len(times) * share // 100] for share in (50, 99))
        print(f"{name:<34}{found:>7}{p50:>9.2f}{p99:>9.2f}{times[-1]:>9.2f}")
    return 0


def cpu_cases(
    shape: Shape, number: int, chance: random.Random
) -> Iterator[tuple[Wish, Room, NodeIds]]:
    """Wishes on this machine in any state, for one of its nodes or all of them."""
    for _ in range(number):
        room = room_of(shape, chance)
        nodes = [node.id for node in room.nodes]
        ids = chance.choice([[chance.choice(nodes)], nodes])
        free = sum(len(node.free) for node in room.nodes if node.id in ids)
        wish = Wish(
            policy=Policy.BEST_EFFORT,
            cpus=chance.choice(
                [2 * chance.randint(1, 2 + free // 2), chance.randint(1, 1 + free)]
            ),
            threads=chance.choice(list(Threads)),
            apart=chance.choice([Apart.NOBODY, Apart.NOBODY, Apart.CORES]),
        )
        yield wish, room, frozenset(ids)


def room_of(shape: Shape, chance: random.Random) -> Room:
    """The machine with CPUs held by pods: whole cores by most, single CPUs by some."""
    cores = _cores(shape)
    held: set[int] = set()
    busy = chance.choice([0, 0.1, 0.3, 0.6, 0.9])
    for core in cores:
        if chance.random() < busy:
            held |= core if chance.random() < 0.7 else {chance.choice(sorted(core))}
    per_node = shape.caches * shape.cores
    return Room(
        nodes=tuple(
            NodeRoom(id=node, usable=usable, free=usable - held)
            for node, usable in enumerate(_joined(cores, per_node))
        ),
        cores=tuple(cores),
        caches=tuple(_joined(cores, shape.cores)),
    )


def _cores(shape: Shape) -> list[CpuSet]:
    number = shape.cpus // shape.threads
    return [frozenset(range(core, shape.cpus, number)) for core in range(number)]


def _joined(cores: list[CpuSet], each: int) -> list[CpuSet]:
    return [
        frozenset[int]().union(*cores[first : first + each])
        for first in range(0, len(cores), each)
    ]


def timed(
    decide: Callable[[Wish, Room, NodeIds], object], cases: list[tuple[Wish, Room, NodeIds]]
) -> tuple[int, list[float]]:
    """How many decisions found something, and what each took, ascending, in milliseconds."""
    found, times = 0, list[float]()
    gc.collect()
    for case in cases:
        start = time.thread_time()
        try:
            decide(*case)
            found += 1
        except NoRoomError:
            pass
        times.append((time.thread_time() - start) * 1000)
    return found, sorted(times)


if __name__ == "__main__":
    raise SystemExit(main())
