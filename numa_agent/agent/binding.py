"""Binding in a pass: see what cgroups hold, decide, write step by step.

A pod's faults are its own: its remaining steps rely on the one that failed, those of others don't.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from numa_agent.core.cgroups import File, PodGroups, TasksAllowed, Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import Desired, Inputs, Options, PodTarget, Step, desired, steps
from numa_agent.core.drift import Do, Drift, Evidence, Suspect, likely_writer
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.pods import Pod
from numa_agent.core.report import Write


class Cpusets(Protocol):
    """The machine's cpuset hierarchy."""

    def find(self, pod: Pod) -> PodGroups | None:
        """A pod's cgroups as they are now, None when it has none."""

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


def observe(cpusets: Cpusets, pods: Iterable[Pod], failures: list[str]) -> Mapping[str, PodGroups]:
    """The cgroups of the pods that have some, by uid."""
    found: dict[str, PodGroups] = {}
    for pod in pods:
        if pod.finished:
            continue
        try:
            groups = cpusets.find(pod)
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
) -> tuple[tuple[Write, ...], tuple[Condition, ...]]:
    """Take the steps; what became of each, and which files somebody else keeps writing.

    A cgroup that has gone is no fault and no write. A pod's memory nodes are given to `move`, in
    their order, where there is one: the kernel moves pages while they are written.
    """
    writes: list[Write] = []
    conditions: list[Condition] = []
    for target, planned_steps in planned.steps:
        own = planned_steps
        if move is not None:
            own = tuple(step for step in planned_steps if step.file != "mems")
            move(tuple(step for step in planned_steps if step.file == "mems"))
        held_back = list(_held_back(target, own, planned.inputs, drift, now))
        conditions += held_back
        if not held_back:
            writes += _written(cpusets, own, drift)
    return tuple(writes), tuple(conditions)


def _written(cpusets: Cpusets, own: Iterable[Step], drift: Drift) -> Iterator[Write]:
    left = list(own)
    while left:
        step = left.pop(0)
        try:
            cpusets.write(step.path, step.file, step.after)
        except GoneError:
            # One container that has gone leaves the others' steps legal.
            drift.refused(_file(step))
            continue
        except SourceError as error:
            # What isn't written isn't ours, so that nobody is taken for its changer later.
            for unwritten in (step, *left):
                drift.refused(_file(unwritten))
            yield Write(step=step, error=str(error))
            return
        yield Write(step=step, error=None)


def _held_back(
    target: PodTarget, own: Iterable[Step], inputs: Inputs, drift: Drift, now: float
) -> Iterator[Condition]:
    """Why a pod's steps aren't taken now: somebody else keeps changing a file of them."""
    seen: dict[str, frozenset[int]] = {}
    wanted: dict[str, frozenset[int]] = {}
    for step in own:
        seen.setdefault(_file(step), step.before)
        wanted[_file(step)] = step.after
    for file, after in wanted.items():
        who_wrote = partial(_suspect, after, _evidence(file, target.pod, inputs))
        action = drift.observe(now, file, after, seen[file], who_wrote)
        if action.do in {Do.WAIT, Do.CONFLICT}:
            who = target.pod.full_name
            why = action.suspect.because if action.suspect else "somebody changed it"
            ends = "it is left so" if action.do is Do.CONFLICT else "it is written again later"
            yield Condition(
                code=f"drift-{action.do.value}",
                subject=who,
                message=f"pod {who}: {file} shall be {render(after)}, but {why}; {ends}",
            )


def suspect(wanted: CpuSet, held: CpuSet, file: str, pod: Pod, inputs: Inputs) -> Suspect:
    """Who likely wrote `held` into a file where `wanted` should be."""
    return likely_writer(wanted, held, _evidence(file, pod, inputs))


def _suspect(wanted: frozenset[int], evidence: Evidence, held: frozenset[int]) -> Suspect:
    return likely_writer(wanted, held, evidence)


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


def _file(step: Step) -> str:
    return f"{step.path}/cpuset.{step.file}"


def _evidence(file: str, pod: Pod, inputs: Inputs) -> Evidence:
    state = inputs.kubelet if inputs.kubelet_static else None
    return Evidence(
        online=inputs.topology.online,
        shared=None if state is None else state.shared,
        exclusive=None if state is None else state.by_pod.get(pod.cgroup_uid),
        systemd=".slice" in file,
    )


def with_observed(inputs: Inputs, observed: Mapping[str, PodGroups]) -> Inputs:
    """The same inputs with what cgroups hold."""
    return replace(inputs, observed=observed)
