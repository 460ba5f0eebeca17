"""Binding between passes: a cgroup that appears or is written to is seen to at once.

It goes by what the last pass knew of the machine and its pods, and looks at the cgroups of the
pods concerned alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from numa_agent.agent import binding
from numa_agent.agent.binding import Cpusets, Planned
from numa_agent.agent.mover import Mover
from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpusets import Options, desired, steps
from numa_agent.core.drift import Drift
from numa_agent.core.pods import Pod
from numa_agent.core.report import Write
from numa_agent.core.verifying import Looks


class Watching(Protocol):
    """What tells of changes in cgroups; paths are those below the cpuset hierarchy's mount."""

    def follow(self, paths: Iterable[str]) -> None:
        """Tell of these cgroups from now on and of no others; parents of pods are among them."""

    def changed(self) -> frozenset[str]:
        """The cgroups followed in which something happened since it was asked last."""

    def parents(self) -> tuple[str, ...]:
        """The cgroups in which pods' cgroups appear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was done between passes, and whether a pod came that the last pass didn't know."""

    writes: tuple[Write, ...] = ()
    unknown: bool = False


class Binder:
    """Keeps what the last pass planned, and binds what changes until the next one."""

    def __init__(
        self,
        cpusets: Cpusets,
        watching: Watching,
        drift: Drift,
        options: Options,
        clock: Callable[[], float],
        mover: Mover | None = None,
    ) -> None:
        """Take the hierarchy, what tells of changes in it, and the memory of who changes sets."""
        self._cpusets = cpusets
        self._watching = watching
        self._drift = drift
        self._options = options
        self._clock = clock
        self._move = None if mover is None else mover.offer
        self._looks = Looks()
        self._planned: Planned | None = None
        self._pods: dict[str, Pod] = {}
        self._observed: dict[str, PodGroups] = {}
        self._uids: dict[str, str] = {}
        self._parents: frozenset[str] = frozenset()

    def know(self, planned: Planned | None) -> None:
        """Take in what a pass saw and planned; None, where nothing may be bound, stops it."""
        self._planned = planned
        if planned is None:
            return
        self._pods = {pod.uid: pod for pod in planned.inputs.pods if not pod.finished}
        self._observed = {}
        self._uids = {}
        for uid, groups in planned.inputs.observed.items():
            self._see(uid, groups)
        self._looks.keep(self._observed.keys())
        self._follow()

    def due(self) -> float | None:
        """The seconds until a container is to be looked at, None while there is none."""
        return self._looks.next(self._clock()) if self._planned else None

    def work(self) -> Seen:
        """Bind the pods in whose cgroups something happened, and those whose look is due."""
        if self._planned is None:
            return Seen()
        changed = self._watching.changed()
        uids = {self._uids[path] for path in changed if path in self._uids}
        uids.update(self._looks.due(self._clock()))
        came = set() if changed.isdisjoint(self._parents) else self._came()
        unknown = not came and not changed.isdisjoint(self._parents)
        uids |= came
        if not uids:
            return Seen(unknown=unknown)
        concerned = [self._pods[uid] for uid in sorted(uids) if uid in self._pods]
        groups = binding.observe(self._cpusets, concerned, [])
        appeared = [self._see(uid, each) for uid, each in groups.items()]
        writes = self._bind(self._planned, groups.keys(), anew=bool(came))
        if any(appeared):
            self._follow()
        return Seen(writes=writes, unknown=unknown)

    def _came(self) -> set[str]:
        """The pods that had no cgroup and have one now."""
        missing = [pod for uid, pod in self._pods.items() if uid not in self._observed]
        return set(binding.observe(self._cpusets, missing, []))

    def _see(self, uid: str, groups: PodGroups) -> bool:
        """Remember a pod's cgroups; whether there is one that wasn't there before."""
        before = self._observed.get(uid)
        known = {each.id for each in before.containers} if before else set()
        appeared = any(each.id not in known for each in groups.containers)
        if appeared:
            self._looks.started(self._clock(), uid)
        self._observed[uid] = groups
        self._uids[groups.group.path] = uid
        for each in groups.containers:
            self._uids[each.group.path] = uid
        return appeared or before is None

    def _bind(self, planned: Planned, uids: Iterable[str], *, anew: bool) -> tuple[Write, ...]:
        """Write what these pods' cgroups lack; decided anew where a pod came."""
        before = planned.desired.assigned
        inputs = replace(planned.inputs, observed=dict(self._observed), before=before)
        wanted = desired(inputs, self._options) if anew else planned.desired
        concerned = frozenset(uids)
        self._planned = replace(planned, inputs=inputs, desired=wanted)
        now = replace(
            self._planned,
            steps=tuple(
                (target, steps(target, self._observed[target.pod.uid]))
                for target in wanted.targets
                if target.pod.uid in concerned
            ),
        )
        writes, _ = binding.write(self._cpusets, now, self._drift, self._clock(), self._move)
        return writes

    def _follow(self) -> None:
        self._parents = frozenset(self._watching.parents())
        self._watching.follow((*self._parents, *self._uids))
