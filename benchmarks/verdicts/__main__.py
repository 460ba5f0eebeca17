"""Time what it costs to verify containers, on this computer's own cgroups (v1) and processes.

    python -m benchmarks.verdicts [--containers N ...] [--tasks N] [--rounds N]

For each number of containers with so many processes each: what proving takes in a pass (a cgroup's
account of memory, its tasks' masks), what `numa-agent verify` takes (page tables and open files as
well where that is all there is), and, beside it, what reading the page tables of every process
takes, as numastat(8) does. Nothing is bound. It needs root.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from numa_agent.agent import Planned, binding, prove
from numa_agent.agent.measuring import Around
from numa_agent.core.cpusets import Inputs, Options
from numa_agent.core.holding import Holders
from numa_agent.core.memory_use import parse_numa_maps
from numa_agent.core.pods import Pod
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.sysfs import read_topology
from tests.machine_tree import pod

FOLDER = "kubepods"
MOUNTS = ("cpuset", "memory")


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--containers", type=int, nargs="+", default=[10, 110])
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    print(
        f"{'containers':>10}{'tasks':>7}{'in a pass ms':>14}{'verify ms':>11}{'numa_maps ms':>14}"
    )
    for count in arguments.containers:
        pods = [pod(number) for number in range(1, count + 1)]
        with _running(pods, arguments.tasks) as processes:
            planned = _planned(pods)
            row = (
                _median(partial(_proved, planned, closely=False), arguments.rounds),
                _median(partial(_proved, planned, closely=True), arguments.rounds),
                _median(partial(_maps, processes), arguments.rounds),
            )
        print(f"{count:>14}{len(processes):>14}" + "".join(f"{each:>14.1f}" for each in row))
    return 0


def _planned(pods: list[Pod]) -> Planned:
    tree = CpusetTree(Path("/"))
    observed = binding.observe(tree, pods, [])
    topology = read_topology(Path("/"))
    inputs = Inputs(pods=pods, decisions={}, topology=topology, observed=observed)
    return binding.plan(inputs, Options())


def _proved(planned: Planned, *, closely: bool) -> None:
    around = Around(
        holders=Holders(planned.inputs.topology, None, "nobody was asked"), closely=closely
    )
    proofs = prove(CpusetTree(Path("/")), planned, around, (), [], everyone=True)
    assert all(proof.verdict.effective is not None for proof in proofs)
    assert all(proof.verdict.memory is not None for proof in proofs)


def _maps(processes: list[int]) -> None:
    for process in processes:
        parse_numa_maps(Path(f"/proc/{process}/numa_maps").read_bytes().splitlines())


def _median(call: Callable[[], None], rounds: int) -> float:
    """Milliseconds that it takes."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


@contextmanager
def _running(pods: list[Pod], tasks: int) -> Iterator[list[int]]:
    """A cgroup for each pod and its container in both hierarchies, and processes in it."""
    paths = [f"{FOLDER}/pod{each.uid}/{each.containers[0].id}" for each in pods]
    folders = [Path("/sys/fs/cgroup") / mount / path for path in paths for mount in MOUNTS]
    children: list[subprocess.Popen[bytes]] = []
    try:
        for folder in folders:
            _make(folder)
        for path in paths:
            for _ in range(tasks):
                child = subprocess.Popen(["sleep", "600"])
                children.append(child)
                for mount in MOUNTS:
                    procs = Path("/sys/fs/cgroup") / mount / path / "cgroup.procs"
                    procs.write_text(str(child.pid))
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait(10)
        for folder in folders:
            folder.rmdir()
            folder.parent.rmdir()
        for mount in MOUNTS:
            (Path("/sys/fs/cgroup") / mount / FOLDER).rmdir()


def _make(folder: Path) -> None:
    for made in (folder.parents[1], folder.parent, folder):
        made.mkdir(exist_ok=True)
        for name in ("cpuset.mems", "cpuset.cpus"):
            above = made.parent / name
            if above.exists():
                (made / name).write_text(above.read_text())


if __name__ == "__main__":
    sys.exit(main())
