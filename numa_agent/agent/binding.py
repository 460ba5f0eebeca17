"""Binding in a pass: see what cgroups hold, decide, write step by step.

A pod's faults are its own: those of its remaining steps that rely on the one that failed aren't
taken, and those of others are.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from numa_agent.agent.fights import Move, standing_now, unwritten
from numa_agent.core.cgroups import File, PodGroups, TasksAllowed, Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import (
    Desired,
    Inputs,
    Options,
    PodTarget,
    Step,
    beside,
    desired,
    parted,
    steps,
)
from numa_agent.core.drift import Drift
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.pods import Pod
from numa_agent.core.report import Write


class Cpusets(Protocol):
    """The machine's cpuset hierarchy."""

    def finder(self) -> Callable[[Pod], PodGroups | None]:
        """What finds pods' cgroups as they are now, None for a pod that has none.

        It is used at once; what is above the pods' may be read once for all of them.
        """

    def write(self, path: str, file: File, ids: frozenset[int]) -> None:
        """Write a set into one cgroup's file. GoneError when it isn't there, else SourceError."""

    def tasks_allowed(self, path: str) -> TasksAllowed:
        """Where each task of one cgroup may run. GoneError when it isn't there."""

    def quota(self, path: str) -> float | None:
        """The CPUs' worth of time that a cgroup may use, None where it isn't bounded or told."""

    def memory(self, path: str, leaves: Sequence[str] = ()) -> MemoryUse | None:
        """Where the memory of one cgroup is, by the page tables of the processes in `leaves` where
        it has no account; None where neither is seen."""

    def open_devices(self, path: str, leaves: Sequence[str]) -> frozenset[str]:
        """The names below /dev of devices that a cgroup may use alone or has open in `leaves`."""

    def check_writable(self) -> None:
        """Raise SourceError where no cgroup can be written at all; nothing is written to ask."""

    def lift_quota(self, path: str) -> None:
        """Let a cgroup use all the time of its CPUs. Raises SourceError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is wanted, what is there, and the writes from one to the other, pod by pod."""

    inputs: Inputs
    options: Options
    desired: Desired
    steps: tuple[tuple[PodTarget, tuple[Step, ...]], ...]


@dataclass(slots=True)
class Memory:
    """What a pass leaves to the next, and binding between passes to both: who was assigned what.

    `assigned` is by pod uid, None before the first pass.
    """

    assigned: Mapping[str, CpuSet] | None = None


def observe(cpusets: Cpusets, pods: Iterable[Pod], failures: list[str]) -> Mapping[str, PodGroups]:
    """The cgroups of the pods that have some, by uid."""
    found: dict[str, PodGroups] = {}
    find: Callable[[Pod], PodGroups | None] | None = None
    for pod in pods:
        if pod.finished:
            continue
        try:
            find = find or cpusets.finder()
            groups = find(pod)
        except GoneError:
            continue
        except SourceError as error:
            # Without a hierarchy, every pod fails in the same words.
            if str(error) not in failures:
                failures.append(str(error))
            continue
        if groups is not None:
            found[pod.uid] = groups
    return found


def plan(inputs: Inputs, options: Options) -> Planned:
    """What is to be written of what was observed."""
    wanted = desired(inputs, options)
    own = tuple(
        (target, steps(target, inputs.observed[target.pod.uid]))
        for target in wanted.targets
        if target.pod.uid in inputs.observed
    )
    return Planned(
        inputs=inputs, options=options, desired=wanted, steps=(*own, *_released(inputs))
    )


def _released(inputs: Inputs) -> Iterator[tuple[PodTarget, tuple[Step, ...]]]:
    """kubelet's exclusive pods whose own directory holds less than kubelet gave them.

    That is a set of ours, from before kubelet gave the pod CPUs.
    """
    given = {} if inputs.kubelet is None else inputs.kubelet.by_pod
    for pod in inputs.pods:
        groups = inputs.observed.get(pod.uid)
        cpus = given.get(pod.cgroup_uid)
        if groups is None or cpus is None or groups.version is not Version.V2:
            continue
        held = groups.group.cpus
        if held and not cpus & inputs.topology.online <= held:
            around = groups.above[-1].effective_cpus if groups.above else None
            reason = f"kubelet gave it CPUs {render(cpus)}, which its directory lacks"
            target = PodTarget(
                pod=pod, cpus=around or held | cpus, mems=None, reason=reason, pod_level_only=True
            )
            yield target, steps(target, groups)


def write(
    cpusets: Cpusets,
    planned: Planned,
    drift: Drift,
    now: float,
    move: Callable[[tuple[Step, ...]], None] | None = None,
    asked: Collection[Move] = (),
) -> tuple[tuple[Write, ...], tuple[Condition, ...]]:
    """Take the steps; what became of each, and which files somebody else keeps writing.

    A cgroup that has gone is no fault and no write. What moves a pod's pages is given to `move`,
    in its order, where there is one: it counts as written. `asked` are moves that were given
    before and may not have been made yet.
    """
    writes: list[Write] = []
    conditions: list[Condition] = []
    for target, own in planned.steps:
        taken, fights = standing_now(target, own, planned.inputs, drift, now, asked)
        conditions += fights
        if move is not None:
            moves = set(parted(own)[1])
            move(tuple(step for step in taken if step in moves))
            taken = tuple(step for step in taken if step not in moves)
        writes += _written(cpusets, taken, drift)
    return tuple(writes), tuple(conditions)


def _written(cpusets: Cpusets, own: tuple[Step, ...], drift: Drift) -> Iterator[Write]:
    left = own
    while left:
        step, left = left[0], left[1:]
        try:
            cpusets.write(step.path, step.file, step.after)
        except GoneError:
            # One container that has gone leaves the others' steps legal.
            unwritten(drift, (step,))
            continue
        except SourceError as error:
            # What isn't written isn't ours, so that nobody is taken for its changer later.
            others = beside(step, left, own)
            unwritten(drift, (step, *(each for each in left if each not in others)))
            left = others
            yield Write(step=step, error=str(error))
            continue
        yield Write(step=step, error=None)


def files(observed: Iterable[PodGroups]) -> frozenset[str]:
    """The cpuset files of pods' cgroups, as drift knows them."""
    return frozenset(
        f"{group.path}/cpuset.{file}"
        for groups in observed
        for group in (
            groups.group,
            *(each.group for each in groups.containers),
            *(nested for each in groups.containers for nested in each.nested),
        )
        for file in ("cpus", "mems")
    )
