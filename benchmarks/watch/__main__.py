"""Time from a system call in a followed directory to the event in the thread that waits for it.

    python -m benchmarks.watch [--count N] [--followed N,N] [FOLDER ...]

One thread waits, another makes a directory and lets the first fall asleep again
before the next one. The clock starts before the system call. A FOLDER may be a cgroup; without one
a temporary folder is used. Idle is the processor time and the wake-ups of the waiting thread while
nothing happens.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from numa_agent.host.watch import Role, Watch

PAUSE = 0.002
"""Seconds between two acts, in which the waiting thread goes to sleep."""
BOUND = 30.0


class Waiter:
    """A thread that notes when each batch of events came."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._came = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.moments: list[float] = []
        self._thread.start()

    def _run(self) -> None:
        while not self._watch.closed:
            events = self._watch.events(None)
            moment = time.perf_counter()
            if events:
                self.moments.append(moment)
                self._came.set()

    def time(self, act: Callable[[], None]) -> float:
        """Give the microseconds from an act to its first event."""
        self._came.clear()
        self.moments.clear()
        started = time.perf_counter()
        act()
        if not self._came.wait(BOUND):
            raise SystemExit("no event came")
        taken = self.moments[0] - started
        time.sleep(PAUSE)
        return taken * 1e6

    def idle(self, seconds: float) -> tuple[float, int]:
        """Give the processor microseconds and the wake-ups of so many quiet seconds."""
        before = self._usage()
        time.sleep(seconds)
        after = self._usage()
        return (after[0] - before[0]) / 1e3, after[1] - before[1]

    def _usage(self) -> tuple[int, int]:
        task = Path("/proc/self/task") / str(self._thread.native_id)
        status = (task / "status").read_text().partition("nonvoluntary")[0]
        return int((task / "schedstat").read_text().split()[0]), int(status.rpartition(":")[2])


@contextmanager
def folders(given: list[Path]) -> Iterator[list[Path]]:
    """Yield the folders given, or a temporary one."""
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        yield [Path(folder)]


def measure(folder: Path, followed: int, count: int) -> None:
    """Print one row."""
    root = folder / "watched"
    root.mkdir()
    pods = [root / f"pod{number}" for number in range(followed)]
    try:
        with closing(Watch()) as watch:
            watch.follow(root, Role.CGROUP)
            for pod in pods:
                pod.mkdir()
                watch.follow(pod, Role.CGROUP)
            while watch.events(0.05):
                pass
            waiter = Waiter(watch)
            time.sleep(PAUSE)
            made = [waiter.time((root / f"new{number}").mkdir) for number in range(count)]
            used, woken = waiter.idle(1.0)
        row = f"{folder!s:<32}{followed:>9}{len(made):>7}"
        percentiles = statistics.quantiles(made, n=100)
        figures = (percentiles[49], percentiles[98], max(made))
        print(row + "".join(f"{figure:>10.0f}" for figure in figures) + f"{used:>10.1f}{woken:>7}")
    finally:
        for path in (*root.glob("new*"), *(pod for pod in pods if pod.exists()), root):
            path.rmdir()


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--followed", default="10,100,1000")
    parser.add_argument("folder", nargs="*", type=Path)
    options = parser.parse_args()
    print(
        f"{'folder':<32}{'followed':>9}{'mkdirs':>7}{'p50 us':>10}{'p99 us':>10}{'max us':>10}"
        f"{'idle us/s':>10}{'wakes':>7}"
    )
    with folders(options.folder) as roots:
        for folder in roots:
            for followed in map(int, options.followed.split(",")):
                measure(folder, followed, options.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
