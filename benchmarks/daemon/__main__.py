"""What the running agent costs a node with 8 GPUs and 110 pods, beside a publisher that polls.

    python -m benchmarks.daemon [--pods N] [--idle SECONDS] [--changes N] [--events N] [--churn S]

Both are processes of their own at one real API server which writes down every request. The
machine is a folder, its kubelet a gRPC server, its kernel a file system: see machine.py. One table
comes out of one run. The figures are of this computer; `target` is what the project promises.
A part whose number is 0 is left out.
"""

import argparse
import compileall
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numa_agent
from benchmarks.daemon import figures, memory
from benchmarks.daemon.process import mapped
from benchmarks.daemon.scene import Naive, Scene
from benchmarks.daemon.table import Table
from tests.apiserver.control_plane import missing


def main() -> int:
    """Run the benchmark and print its table."""
    options = _options()
    # As in the image: modules that are compiled at the start take twice its time, and 12 MiB.
    compileall.compile_dir(Path(numa_agent.__file__).parent, quiet=1)
    if not options.imports:
        reason = missing()
        if reason is not None:
            sys.exit(reason)
        with ExitStack() as stack:
            measure(stack, options)
    print("\n".join(_imports()))
    return 0


def measure(stack: ExitStack, options: argparse.Namespace) -> None:
    """Take every figure that is asked for."""
    scene = Scene(stack, options.pods, by_kubeconfig=options.kubeconfig)
    table = Table(f"{options.pods} pods")
    figures.start(scene, table)
    naive = Naive(scene.plane.kubeconfig)
    stack.callback(naive.close)
    time.sleep(figures.SETTLING_SECONDS)
    if options.idle:
        figures.idle(scene, naive, table, options.idle)
    if options.changes:
        figures.binding(scene, table, options.changes)
    if options.events:
        figures.events(scene, table, options.events)
    if options.churn:
        figures.churn(scene, table, options.churn)
    print("\nRSS by what is mapped, MiB:")
    for name, size in sorted(mapped(scene.agent.pid).items(), key=lambda each: -each[1])[:12]:
        print(f"  {name:<50}{size:>7.1f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--idle", type=float, default=600.0, help="seconds without any change")
    parser.add_argument("--changes", type=int, default=100, help="assignments that are timed")
    parser.add_argument("--events", type=int, default=1000, help="changes of pods")
    parser.add_argument("--churn", type=float, default=60.0, help="seconds of pods' whole lives")
    parser.add_argument(
        "--kubeconfig", action="store_true", help="sign in by a kubeconfig, not as a pod does"
    )
    parser.add_argument("--imports", action="store_true", help="where memory goes, and no more")
    return parser.parse_args()


def _imports() -> Iterator[str]:
    yield "\nRSS of a process that imports, step by step, MiB:"
    for name, total, more in memory.steps():
        yield f"  {name:<50}{total:>7.1f}{more:>+7.1f}"


if __name__ == "__main__":
    sys.exit(main())
