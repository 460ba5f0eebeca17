"""What came of a command's trial, for people."""

from collections.abc import Iterator
from shlex import join

from numa_agent.cli.measure_text import times
from numa_agent.cli.report_text import table
from numa_agent.core import cpulist
from numa_agent.core.measuring import Failure, Gain, Placement, Ratio, Trial, gain, spread


def trial_lines(trial: Trial) -> Iterator[str]:
    """The command's times, and what may be said of them."""
    yield join(trial.command)
    yield ""
    head = ("", "CPUS", "MEMORY", "SECONDS (LOWEST-HIGHEST)", "RUNS", "TIMES NEAR (95 %)")
    rows: list[tuple[str, ...]] = [head]
    rows += [_row(trial, place) for place in trial.placements]
    yield from table(rows)
    yield ""
    for place in trial.placements:
        yield from _spilled(place, trial.spilled.get(place.name))
    if trial.failure is not None:
        yield _failure(trial.failure)
        return
    yield _said(trial.ratio("far"), "far", len(trial.seconds["near"]))
    unbound = trial.ratio("unbound")
    if gain(unbound) is not Gain.TOO_FEW:
        yield _said(unbound, "unbound", len(trial.seconds["near"]))
    cpus = {len(place.cpus) for place in trial.placements}
    if len(cpus) > 1:
        yield f"near and far have {min(cpus)} CPUs, unbound has {max(cpus)}"


def _spilled(place: Placement, count: int | None) -> Iterator[str]:
    """That a place's memory may not have been where it says."""
    if place.mem is not None and count is None:
        yield (
            f"note: whether {place.name}'s memory was all on node {place.mem} can't be told: the"
            " kernel doesn't count what spills (sysctl vm.numa_stat)"
        )
    elif count:
        yield (
            f"note: {place.name}'s memory may not have been all on node {place.mem}: {count} times"
            " in a run the kernel took other memory for somebody who wanted that. Make room there"
            " (drain it, drop its page cache), or choose another node with --near"
        )


def _row(trial: Trial, place: Placement) -> tuple[str, ...]:
    seconds = trial.seconds.get(place.name, ())
    found = spread(seconds) if seconds else None
    compared = None if place.name == "near" else trial.ratio(place.name)
    return (
        place.name,
        cpulist.render(place.cpus),
        "any" if place.mem is None else f"node {place.mem}",
        "?" if found is None else f"{found.median:.3f} ({found.low:.3f}-{found.high:.3f})",
        str(len(seconds)),
        "" if compared is None else times(compared),
    )


def _said(found: Ratio | None, name: str, runs: int) -> str:
    match gain(found):
        case Gain.FASTER if found is not None:
            return f"near is quicker than {name}, which takes {times(found)} times as long"
        case Gain.SLOWER if found is not None:
            return f"near is slower than {name}, which takes {times(found)} times as long"
        case Gain.NONE if found is not None:
            return (
                f"no gain here: {name} takes {times(found)} times as long as near, which"
                " chance or less than 1 % explains"
            )
    return f"{runs} runs of each are too few to tell a difference from chance: give --runs 5"


def _failure(failure: Failure) -> str:
    how = f"exit code {failure.exit_code}"
    if failure.timed_out:
        how = "no end in the time that --timeout gives; it was stopped"
    elif failure.signal is not None:
        how = f"signal {failure.signal}"
        if failure.signal == 9:
            how += " (the kernel sends it too, where a limit's memory or the machine's is used up)"
    where = f"{failure.placement} in run {failure.run}" if failure.run else "while warming up"
    return f"the command failed {where}: {how}; nothing is said of it"
