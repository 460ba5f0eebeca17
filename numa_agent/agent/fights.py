"""Files of a pod that somebody else keeps writing: which are left as they are now, and why."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import FileOf, Inputs, PodTarget, Step, parted, standing
from numa_agent.core.drift import Action, Do, Drift, Evidence, Suspect, likely_writer
from numa_agent.core.pods import Pod

Move = tuple[str, frozenset[int]]
"""A cgroup's path and the memory nodes that are to be written there."""


def move_of(step: Step) -> Move:
    """What a step that moves pages leads to."""
    return step.path, step.after


def standing_now(
    target: PodTarget,
    own: Sequence[Step],
    inputs: Inputs,
    drift: Drift,
    now: float,
    asked: Collection[Move] = (),
) -> tuple[tuple[Step, ...], tuple[Condition, ...]]:
    """A pod's steps that are taken now, and which of its files somebody else keeps changing.

    What isn't taken doesn't count as written. Moves that were `asked` for before aren't looked at:
    that the file doesn't hold the nodes yet is nobody's doing.
    """
    judged = tuple(_judged(target, own, inputs, drift, now, asked))
    stuck = {file for file, action, _ in judged if action.do in {Do.WAIT, Do.CONFLICT}}
    taken, left = standing(own, stuck)
    unwritten(drift, (step for step in left if (step.path, step.file) not in stuck))
    return taken, tuple(
        _condition(target.pod, file, after, action)
        for file, action, after in judged
        if file in stuck
    )


def unwritten(drift: Drift, steps: Iterable[Step]) -> None:
    """Let steps that weren't taken not count as written: nobody is taken for their changer."""
    for step in steps:
        drift.refused(_path((step.path, step.file)))


def _judged(
    target: PodTarget,
    own: Sequence[Step],
    inputs: Inputs,
    drift: Drift,
    now: float,
    asked: Collection[Move],
) -> Iterator[tuple[FileOf, Action, frozenset[int]]]:
    """What is to be done about each file, and what is wanted of it.

    Memory nodes that only say what is in force are written whenever CPUs next to them are.
    """
    early, late = parted(own)
    seen: dict[FileOf, frozenset[int]] = {}
    for step in own:
        seen.setdefault((step.path, step.file), step.before)
    waiting = {(step.path, step.file) for step in late if move_of(step) in asked}
    wanted = {
        (step.path, step.file): step.after
        for step in (*(each for each in early if each.file == "cpus"), *late)
    }
    for file, after in wanted.items():
        if file not in waiting:
            suspect = partial(_suspect, after, _evidence(file, target.pod, inputs))
            yield file, drift.observe(now, _path(file), after, seen[file], suspect), after


def _condition(pod: Pod, file: FileOf, after: frozenset[int], action: Action) -> Condition:
    who = pod.full_name
    why = action.suspect.because if action.suspect else "somebody changed it"
    ends = "it is left so" if action.do is Do.CONFLICT else "it is written again later"
    return Condition(
        code=f"drift-{action.do.value}",
        subject=who,
        message=f"pod {who}: {_path(file)} shall be {render(after)}, but {why}; {ends}",
    )


def writer_of(
    file: FileOf, held: frozenset[int], wanted: frozenset[int], pod: Pod, inputs: Inputs
) -> Suspect:
    """Who likely wrote `held` into a file where `wanted` should be."""
    return likely_writer(wanted, held, _evidence(file, pod, inputs))


def _suspect(wanted: frozenset[int], evidence: Evidence, held: frozenset[int]) -> Suspect:
    return likely_writer(wanted, held, evidence)


def _path(file: FileOf) -> str:
    """The file as drift knows it."""
    path, kind = file
    return f"{path}/cpuset.{kind}"


def _evidence(file: FileOf, pod: Pod, inputs: Inputs) -> Evidence:
    state = inputs.kubelet if inputs.kubelet_static else None
    return Evidence(
        online=inputs.topology.online,
        shared=None if state is None else state.shared,
        exclusive=None if state is None else state.by_pod.get(pod.cgroup_uid),
        systemd=".slice" in file[0],
    )
