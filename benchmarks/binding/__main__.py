"""Time binding on a folder of cgroups, or on this computer's own hierarchy.

    python -m benchmarks.binding [--containers N ...] [--rounds N] [--real | --vm v1|v2]

For each number of containers, one a pod: a whole idle pass over them; how long it takes from a
new assignment, as the pod watch hands it over, until the set in force is read back; and how long a
changed set stays changed, from the foreign write to the moment when ours is back. A poller that
looks at every container each 10 s, as koordlet's reconciler does, is timed in the same run,
its sleep counted and not slept. With --real the cgroups are this computer's, made and removed
again below a `kubepods` of their own; with --vm they are those of a machine in QEMU (without KVM
its CPUs are emulated, many times slower); else they are plain files, laid out as cgroup v2.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from numa_agent.agent import Binder, Kept, Planned
from numa_agent.agent import binding as passes
from numa_agent.core.cgroups import Version
from numa_agent.core.cpusets import Inputs, Options
from numa_agent.core.decision import decide
from numa_agent.core.drift import Drift
from numa_agent.core.drift.drift import Fight
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.topology import Topology
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.sysfs import read_topology
from numa_agent.wiring.watching import CgroupWatch
from tests.machine_tree import pod

POLL_SECONDS = 10.0
FOLDER = "kubepods"
CONTAINER_NAME = 64
"""Characters of a container's directory: nothing is below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Milliseconds for one number of containers."""

    containers: int
    idle_pass: float
    writes: int
    assigned: list[float]
    repaired: list[float]
    polled: list[float]


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--containers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--real", action="store_true", help="on this computer's own cgroups")
    parser.add_argument("--vm", choices=("v1", "v2"), help="in a guest with these cgroups")
    arguments = parser.parse_args()
    if arguments.vm:
        return _in_guest(arguments)
    rows = [_measure(count, arguments.rounds, arguments.real) for count in arguments.containers]
    print(
        f"{'containers':>10}{'idle pass ms':>14}{'writes':>8}{'assigned p50 ms':>17}"
        f"{'p99 ms':>9}{'repair p50 ms':>15}{'p99 ms':>9}{'polling p50 ms':>16}{'p99 ms':>9}"
    )
    for row in rows:
        print(
            f"{row.containers:>10}{row.idle_pass:>14.1f}{row.writes:>8}"
            f"{_at(row.assigned, 50):>17.2f}{_at(row.assigned, 99):>9.2f}"
            f"{_at(row.repaired, 50):>15.2f}{_at(row.repaired, 99):>9.2f}"
            f"{_at(row.polled, 50):>16.0f}{_at(row.polled, 99):>9.0f}"
        )
    return 0


def _in_guest(arguments: argparse.Namespace) -> int:
    """This benchmark in a machine of two nodes of four CPUs each."""
    from tests.vm.guest import CHECKOUT, run
    from tests.vm.kernel import ready
    from tests.vm.machine import Machine, Node

    kernel = ready(CHECKOUT / ".cache" / "vm")
    machine = Machine(nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8))), cgroup=arguments.vm)
    own = ["--containers", *map(str, arguments.containers), "--rounds", str(arguments.rounds)]
    command = [sys.executable, "-m", "benchmarks.binding", "--real", *own]
    result = run(kernel, machine, command, timeout=1800)
    print(result.stdout, result.stderr, sep="", end="")
    return result.exit_code


def _at(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _measure(count: int, rounds: int, real: bool) -> Row:
    topology = read_topology(Path("/"))
    last = str(max(topology.online))
    pods = [pod(number, last if number == 1 else None) for number in range(1, count + 1)]
    with ExitStack() as stack:
        root, mount = stack.enter_context(_cgroups(pods, topology, real))
        tree, woken = CpusetTree(root), Event()
        watch = CgroupWatch(CpusetTree(root), root / "var/lib/kubelet", woken.set)
        stack.callback(watch.close)
        drift = Drift(random.random, Fight(cap=1 << 30, first=0.0, most=0.0))
        state: Kept[CpuManagerState | None] = Kept("cpu-manager-state", lambda: None)
        told: list[tuple[Pod, ...]] = []
        news = lambda: (told[-1], ()) if told else None  # noqa: E731
        binder = Binder(tree, watch, drift, time.monotonic, state.read, news)
        passes.write(tree, _planned(tree, pods, topology), drift, time.monotonic())
        start = time.perf_counter()
        planned = _planned(tree, pods, topology)
        idle = time.perf_counter() - start
        binder.know(planned)
        binder.work()
        own = _paths(pods[0])[tree.mount().version is Version.V1]
        file = mount / own / "cpuset.cpus"
        wanted = file.read_text()
        repaired = [_repaired(file, wanted, woken, binder) for _ in range(rounds)]
        in_force = "cpuset.cpus.effective" if _real_v2(tree, real) else "cpuset.cpus"
        assigned = [
            _assigned(pods, (last, "0")[number % 2], mount / own / in_force, told, binder)
            for number in range(1, rounds + 1)
        ]
        moments = [index / 20 for index in range(20)]
        polled = [_polled(tree, pods, topology, moment) for moment in moments]
    return Row(
        containers=count,
        idle_pass=idle * 1000,
        writes=sum(len(own) for _, own in planned.steps),
        assigned=assigned,
        repaired=repaired,
        polled=polled,
    )


@contextmanager
def _cgroups(pods: list[Pod], topology: Topology, real: bool) -> Iterator[tuple[Path, Path]]:
    """A host root and its hierarchy's mount, with a cgroup for each pod and its container."""
    every = f"0-{max(topology.online)}"
    if real:
        root = Path("/")
        mount = CpusetTree(root).mount()
        base = Path(mount.path)
        made = [base / FOLDER, *(base / path for each in pods for path in _paths(each))]
        try:
            for folder in made:
                folder.mkdir()
                if mount.version is Version.V2 and len(folder.name) < CONTAINER_NAME:
                    (folder / "cgroup.subtree_control").write_text("+cpuset")
                if mount.version is Version.V1:
                    (folder / "cpuset.mems").write_text("0\n")
                    (folder / "cpuset.cpus").write_text(every + "\n")
            yield root, base
        finally:
            for folder in reversed(made):
                if folder.is_dir():
                    folder.rmdir()
        return
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary) / "sys/fs/cgroup"
        base.mkdir(parents=True)
        (base / "cgroup.controllers").write_text("cpuset\n")
        for path in ("", FOLDER, *(path for each in pods for path in _paths(each))):
            (base / path).mkdir(exist_ok=True)
            (base / path / "cpuset.cpus").write_text("\n")
            (base / path / "cpuset.cpus.effective").write_text(every + "\n")
            (base / path / "cpuset.mems").write_text("\n")
            (base / path / "cpuset.mems.effective").write_text("0\n")
            (base / path / "cgroup.procs").write_text("")
        yield Path(temporary), base


def _paths(pod_of: Pod) -> tuple[str, str]:
    own = f"{FOLDER}/pod{pod_of.uid}"
    return own, f"{own}/{pod_of.containers[0].id}"


def _planned(tree: CpusetTree, pods: list[Pod], topology: Topology) -> Planned:
    decisions = {each.uid: said for each in pods if (said := decide(each)) is not None}
    observed = passes.observe(tree, pods, [])
    inputs = Inputs(pods=pods, decisions=decisions, topology=topology, observed=observed)
    return passes.plan(inputs, Options())


def _repaired(file: Path, wanted: str, woken: Event, binder: Binder) -> float:
    """Milliseconds from a foreign write until the set is back."""
    start = time.perf_counter()
    file.write_text("0\n")
    while file.read_text() != wanted:
        if not woken.wait(5):
            sys.exit("nothing told of the write")
        woken.clear()
        binder.work()
    return (time.perf_counter() - start) * 1000


def _real_v2(tree: CpusetTree, real: bool) -> bool:
    return real and tree.mount().version is Version.V2


def _assigned(
    pods: list[Pod], cpuset: str, effective: Path, told: list[tuple[Pod, ...]], binder: Binder
) -> float:
    """Milliseconds from the news of another assignment until its set is read back in force."""
    fresh = tuple(pod(1, cpuset) if each.uid == pods[0].uid else each for each in pods)
    start = time.perf_counter()
    told.append(fresh)
    binder.work()
    if effective.read_text().strip() != cpuset:
        sys.exit(f"{effective} isn't {cpuset}")
    return (time.perf_counter() - start) * 1000


def _polled(tree: CpusetTree, pods: list[Pod], topology: Topology, moment: float) -> float:
    """Milliseconds that a change made at this part of the period waits, and the look itself."""
    start = time.perf_counter()
    _planned(tree, pods, topology)
    return (POLL_SECONDS * (1 - moment) + time.perf_counter() - start) * 1000


if __name__ == "__main__":
    sys.exit(main())
