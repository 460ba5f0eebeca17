"""Measuring the live machine: its matrix, and a command near, far and unbound."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numa_agent.config import Config, ConfigError
from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import (
    Allowed,
    Failure,
    Matrix,
    Placement,
    Trial,
    placements,
    plan_matrix,
)
from numa_agent.core.topology import Topology
from numa_agent.host.cpuinfo import read_cpu_info
from numa_agent.host.measuring import (
    Ended,
    Runner,
    measure_matrix,
    placed,
    read_allowed,
    risen,
    spilled_so_far,
)
from numa_agent.host.recorded import is_recorded
from numa_agent.host.sysfs import read_topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that is measured, and what this process may have of it."""

    topology: Topology
    cpu_model: str | None
    allowed: Allowed


def machine(config: Config) -> Machine:
    """The live machine. Raises ConfigError for another, SourceError where it can't be read."""
    if is_recorded(config.host_root) or not config.live:
        raise ConfigError(
            f"{config.host_root} isn't the live machine (liveRoot: {config.live_root}), and only"
            " that can be measured"
        )
    topology = read_topology(config.host_root)
    info = read_cpu_info(config.host_root)
    return Machine(
        topology=topology,
        cpu_model=None if info is None else info.model,
        allowed=read_allowed(config.host_root, [node.id for node in topology.nodes]),
    )


def measured(
    machine: Machine, rounds: int, seconds: float, cuda_library: str | None = None
) -> Matrix:
    """The machine's matrix. Raises SourceError where nothing can be measured."""
    plan = plan_matrix(machine.topology, machine.allowed)
    if not plan.readers or not plan.targets:
        why = "; ".join(plan.left_out) or "the machine's map has no NUMA node"
        raise SourceError(f"nothing can be measured: {why}")
    return measure_matrix(plan, rounds, seconds, cuda_library=cuda_library)


def places(machine: Machine, near: int | None, far: int | None) -> tuple[Placement, ...]:
    """Near, far and unbound. Raises ConfigError where there is no such pair of nodes."""
    try:
        return placements(machine.topology, machine.allowed, near, far)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def tried(
    command: Sequence[str],
    chosen: Sequence[Placement],
    runs: int,
    runner: Runner,
    say: Callable[[str], None],
) -> Trial:
    """The command in each place in turn, so many times, after a run that warms up caches.

    The turn begins with another place each time, so that none is always the first. The first run
    that fails is the last. Raises SourceError where the command can't be started or placed.
    """
    seconds: dict[str, list[float]] = {place.name: [] for place in chosen}
    spilled: dict[str, list[int | None]] = {place.name: [] for place in chosen}
    failure = None
    for place in chosen:
        # A command that may take an hour isn't begun where it can't be placed.
        with placed(place.cpus, place.mem):
            pass
    with runner.passing_signals():
        for run, place in _turns(chosen, runs):
            say(f"run {run} of {runs}, {place.name}" if run else "a run to warm up, unbound")
            before = spilled_so_far(place.mem)
            ended = _run(runner, place)
            spilled[place.name].append(risen(before, spilled_so_far(place.mem)))
            if ended.exit_code != 0:
                failure = Failure(
                    placement=place.name,
                    run=run,
                    exit_code=ended.exit_code,
                    signal=ended.signal,
                    timed_out=ended.timed_out,
                )
                break
            if run:
                seconds[place.name].append(ended.seconds)
    return Trial(
        command=tuple(command),
        placements=tuple(chosen),
        seconds={name: tuple(times) for name, times in seconds.items()},
        failure=failure,
        spilled={name: _most(counts) for name, counts in spilled.items()},
    )


def _most(counts: Sequence[int | None]) -> int | None:
    return max((count for count in counts if count is not None), default=None)


def _turns(chosen: Sequence[Placement], runs: int) -> Sequence[tuple[int, Placement]]:
    turns = [(0, chosen[-1])]
    for run in range(runs):
        first = run % len(chosen)
        turns += [(run + 1, place) for place in (*chosen[first:], *chosen[:first])]
    return turns


def _run(runner: Runner, place: Placement) -> Ended:
    with placed(place.cpus, place.mem):
        began = time.perf_counter()
        runner.start()
    return runner.wait(began)
