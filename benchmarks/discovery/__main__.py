"""Compare discovery with lstopo and lscpu on the same trees, taking turns in one run.

    python -m benchmarks.discovery [--rounds N] [MACHINE ...]

Without machines: this computer and the three largest trees of the corpus. Each round runs every
tool once, so that a slow moment of the computer hits all of them. Figures are medians.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from numa_agent.host.sysfs import read_topology

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "machines.tar.xz"
LARGEST = ("nto-bare-metal-master", "nri-ta-4-socket-server-nosnc", "nri-sample2")

Timer = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Row:
    """Median seconds of each tool on one machine, by the tool's name; None where it fails."""

    machine: str
    seconds: dict[str, float | None]


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("machines", nargs="*", type=Path, help="folders with sys/ and proc/")
    arguments = parser.parse_args()
    for tool in ("lstopo-no-graphics", "lscpu"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} isn't installed: apt-get install hwloc-nox util-linux")
    with tempfile.TemporaryDirectory() as folder:
        machines = arguments.machines or [Path("/"), *_corpus(Path(folder))]
        rows = [_measure(machine, arguments.rounds) for machine in machines]
    print("\n".join(_table(rows)))
    return 0


def _corpus(folder: Path) -> Sequence[Path]:
    if not CORPUS.is_file():
        print(f"the corpus isn't there ({CORPUS}): this computer only", file=sys.stderr)
        return ()
    with tarfile.open(CORPUS) as archive:
        members = [m for m in archive if m.name.split("/")[0] in LARGEST]
        archive.extractall(folder, members, filter="tar")
    return [folder / name for name in LARGEST]


def _measure(machine: Path, rounds: int) -> Row:
    tools = _tools(machine)
    works = {tool: timer for tool, timer in tools.items() if _works(timer)}
    taken: dict[str, list[float]] = {tool: [] for tool in works}
    for _ in range(rounds):
        for tool, timer in works.items():
            taken[tool].append(timer())
    name = "this computer" if machine == Path("/") else machine.name
    medians = {tool: statistics.median(times) for tool, times in taken.items()}
    return Row(name, {tool: medians.get(tool) for tool in tools})


def _works(timer: Timer) -> bool:
    try:
        timer()
    except subprocess.CalledProcessError:
        return False
    return True


def _tools(machine: Path) -> dict[str, Timer]:
    live = machine == Path("/")
    fsroot = {} if live else {"HWLOC_FSROOT": str(machine), "HWLOC_COMPONENTS": "linux,stop"}
    sysroot = [] if live else ["--sysroot", str(machine)]
    ours = [sys.executable, "-m", "numa_agent", "topology", "--host-root", str(machine)]
    return {
        "in-process": lambda: _timed(lambda: read_topology(machine)),
        "command": _command([*ours, "-o", "json"], {}),
        "lstopo": _command(["lstopo-no-graphics", "--of", "xml", "-"], fsroot),
        "lscpu": _command(["lscpu", *sysroot], {}),
    }


def _command(words: Sequence[str], extra: dict[str, str]) -> Timer:
    environment = {**os.environ, **extra}

    def run() -> None:
        subprocess.run(words, env=environment, check=True, capture_output=True, timeout=60)

    return lambda: _timed(run)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _table(rows: Sequence[Row]) -> list[str]:
    lines = [
        f"{'median ms':<30}{'in-process':>11}{'command':>9}{'lstopo':>8}{'lscpu':>7}"
        f"{'in-process/lstopo':>19}{'command/lstopo':>16}"
    ]
    for row in rows:
        seconds = row.seconds
        cells = "".join(
            f"{_milliseconds(seconds[name]):>{width}}"
            for name, width in (("in-process", 11), ("command", 9), ("lstopo", 8), ("lscpu", 7))
        )
        ratios = "".join(
            f"{_ratio(seconds[name], seconds['lstopo']):>{width}}"
            for name, width in (("in-process", 19), ("command", 16))
        )
        lines.append(f"{row.machine:<30}{cells}{ratios}")
    return lines


def _milliseconds(seconds: float | None) -> str:
    return "fails" if seconds is None else f"{seconds * 1000:.1f}"


def _ratio(ours: float | None, theirs: float | None) -> str:
    return "-" if ours is None or theirs is None else f"{ours / theirs:.2f}"


if __name__ == "__main__":
    sys.exit(main())
