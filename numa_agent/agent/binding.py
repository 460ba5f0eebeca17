"""Binding in a pass: see what cgroups hold, decide, write step by step, look again.

A pod's faults are its own: its remaining steps rely on the one that failed, those of others don't.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from numa_agent.core.cgroups import ContainerGroups, File, Group, PodGroups
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import Desired, Inputs, Options, PodTarget, Step, desired, steps
from numa_agent.core.drift import Do, Drift, Evidence, Suspect, likely_writer
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.pods import Container, Pod
from numa_agent.core.report import Proof, Write
from numa_agent.core.verdict import judge


class Cpusets(Protocol):
    """The machine's cpuset hierarchy."""

    def find(self, pod: Pod) -> PodGroups | None:
        """A pod's cgroups as they are now, None when it has none."""

    def write(self, path: str, file: File, ids: frozenset[int]) -> None:
        """Write a set into one cgroup's file. GoneError when it isn't there, else SourceError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is wanted, what is there, and the writes from one to the other, pod by pod."""

    inputs: Inputs
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
    return Planned(
        inputs=inputs,
        desired=wanted,
        steps=tuple(
            (target, steps(target, inputs.observed[target.pod.uid]))
            for target in wanted.targets
            if target.pod.uid in inputs.observed
        ),
    )


def write(
    cpusets: Cpusets, planned: Planned, drift: Drift, now: float
) -> tuple[tuple[Write, ...], tuple[Condition, ...]]:
    """Take the steps; what became of each, and which files somebody else keeps writing.

    A cgroup that has gone is no fault and no write.
    """
    writes: list[Write] = []
    conditions: list[Condition] = []
    for target, own in planned.steps:
        held_back = list(_held_back(target, own, planned.inputs, drift, now))
        conditions += held_back
        if not held_back:
            writes += _written(cpusets, own, drift)
    return tuple(writes), tuple(conditions)


def _written(cpusets: Cpusets, own: Iterable[Step], drift: Drift) -> Iterator[Write]:
    for step in own:
        try:
            cpusets.write(step.path, step.file, step.after)
        except GoneError:
            return
        except SourceError as error:
            drift.refused(_file(step))
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
        suspect = partial(_suspect, after, _evidence(file, target.pod, inputs))
        action = drift.observe(now, file, after, seen[file], suspect)
        if action.do in {Do.WAIT, Do.CONFLICT}:
            who = target.pod.full_name
            why = action.suspect.because if action.suspect else "somebody changed it"
            ends = "it is left so" if action.do is Do.CONFLICT else "it is written again later"
            yield Condition(
                code=f"drift-{action.do.value}",
                subject=who,
                message=f"pod {who}: {file} shall be {render(after)}, but {why}; {ends}",
            )


def _suspect(wanted: frozenset[int], evidence: Evidence, held: frozenset[int]) -> Suspect:
    return likely_writer(wanted, held, evidence)


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


def prove(
    cpusets: Cpusets, planned: Planned, writes: Iterable[Write], failures: list[str]
) -> tuple[Proof, ...]:
    """The verdict on each running container with CPUs of its own, looked at after the writes."""
    written = {write.step.pod for write in writes}
    changed = [each for each in planned.inputs.pods if each.full_name in written]
    observed = {**planned.inputs.observed, **observe(cpusets, changed, failures)}
    topology = planned.inputs.topology
    return tuple(
        Proof(
            pod=target.pod,
            container=container,
            verdict=judge(
                cpus,
                _in_force(observed.get(target.pod.uid), container),
                topology,
            ),
        )
        for target in planned.desired.targets
        if target.exclusive
        for container in target.pod.containers
        if container.running
        and container.id is not None
        and (cpus := _decided(target, container.id)) is not None
    )


def _decided(target: PodTarget, container_id: str) -> CpuSet | None:
    own = target.containers.get(container_id)
    return target.cpus if own is None or own.cpus is None else own.cpus


def _in_force(groups: PodGroups | None, container: Container) -> CpuSet | None:
    """The CPUs that a container's processes may use: those of every group that has some."""
    if groups is None:
        return None
    own = next((each for each in groups.containers if each.id == container.id), None)
    if own is None:
        return None
    leaves = _populated(own)
    sets = [group.effective_cpus for group in leaves]
    known = [each for each in sets if each is not None]
    return frozenset[int]().union(*known) if len(known) == len(sets) else None


def _populated(container: ContainerGroups) -> list[Group]:
    """The groups in which processes may be: the innermost ones, or the container's own."""
    parents = {group.path.rpartition("/")[0] for group in container.nested}
    inner = [
        group
        for group in container.nested
        if group.path not in parents and group.populated is not False
    ]
    return inner or [container.group]


def with_observed(inputs: Inputs, observed: Mapping[str, PodGroups]) -> Inputs:
    """The same inputs with what cgroups hold."""
    return replace(inputs, observed=observed)
