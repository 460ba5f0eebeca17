"""Binding between passes: a cgroup that appears or is written to is seen to at once, and so is a
pod of which the API server tells something new.

It goes by what the last pass knew of the machine, and looks at the cgroups of the pods concerned
alone. Whatever else a change means is left to the pass that follows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from numa_agent.agent import binding
from numa_agent.agent.binding import Cpusets, Memory, Planned
from numa_agent.agent.decisions import with_pods
from numa_agent.agent.reading import Reading
from numa_agent.agent.watching import News, Seen, Watching
from numa_agent.core.assignment import Assignment
from numa_agent.core.cgroups import PodGroups, Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Mems, PodTarget, Step, desired, has_run, parted, steps
from numa_agent.core.drift import Drift
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.report import Write
from numa_agent.core.verifying import EVERY, EVERY_TOLD, Looks

AT_ONCE = 64
"""Pods looked at in one go besides those that are new: a new one never waits long for the rest."""


def _no_news() -> None:
    return None


class Binder:
    """Keeps what the last pass planned, and binds what changes until the next one.

    Nothing is written when kubelet's state isn't what the pass went by: what it gave out since
    mustn't be touched.
    """

    def __init__(
        self,
        cpusets: Cpusets,
        watching: Watching,
        drift: Drift,
        clock: Callable[[], float],
        state: Callable[[], Reading[CpuManagerState | None]],
        news: News = _no_news,
        memory: Memory | None = None,
    ) -> None:
        """Take the hierarchy, what tells of changes in it, and what reads kubelet's state.

        `news` gives, without asking anybody, the pods where they are followed, and the field
        managers that are trusted with them. `memory` is the one that the passes have.
        """
        self._cpusets = cpusets
        self._watching = watching
        self._drift = drift
        self._clock = clock
        self._state = state
        self._news = news
        self._memory = memory or Memory()
        self._looks = Looks()
        self._waiting: set[str] = set()
        self._planned: Planned | None = None
        self._pods: dict[str, Pod] = {}
        self._heard: Sequence[Pod] | None = None
        self._state_heard: tuple[CpuManagerState | None, ...] = ()
        self._again = False
        self._observed: dict[str, PodGroups] = {}
        self._uids: dict[str, str] = {}
        self._parents: frozenset[str] = frozenset()

    def know(self, planned: Planned | None) -> None:
        """Take in what a pass saw and planned; None, where nothing may be bound, stops it."""
        self._planned = planned
        self._waiting, self._again = set(), False
        if planned is None:
            # kubelet's state may be why, so it is followed from the first pass on.
            self._follow()
            self._look_at_state()
            return
        self._heard, self._state_heard = planned.inputs.pods, (planned.inputs.kubelet,)
        self._pods = {pod.uid: pod for pod in planned.inputs.pods if not pod.finished}
        before, self._observed, self._uids = self._observed, {}, {}
        for uid, groups in planned.inputs.observed.items():
            self._see(uid, groups, before.get(uid))
        self._looks.keep(self._observed.keys())
        self._follow()
        self._look_at_state()
        told = self._watching.degraded is None
        self._looks.all_seen(self._clock(), EVERY_TOLD if told else EVERY)

    def due(self) -> float | None:
        """The seconds until a container is to be looked at, None while there is none."""
        if self._again:
            return 0.0
        if self._planned is None:
            return None
        return 0.0 if self._waiting else self._looks.next(self._clock())

    def work(self) -> Seen:
        """Bind the pods in whose cgroups something happened, and those whose look is due."""
        planned, stale = self._planned, self._watching.stale() or self._again
        self._again = False
        if planned is None:
            # Whether CPUs may be given out again is for a pass to say.
            return Seen(unknown=self._are_others() or stale)
        told, another_pass = self._told(planned)
        changed = self._watching.changed()
        came = frozenset[str]()
        if not changed.isdisjoint(self._parents):
            came, unknown = self._came()
            another_pass = another_pass or unknown
        uids = {self._uids[path] for path in changed if path in self._uids}
        uids |= {*self._looks.due(self._clock()), *self._waiting}
        first = came | told
        later = sorted(uids - first)
        uids, self._waiting = {*first, *later[:AT_ONCE]}, set(later[AT_ONCE:])
        if stale or (uids and self._moved_on(planned)):
            # The pass looks at all of them.
            self._waiting = set()
            return Seen(unknown=True)
        if not uids:
            return Seen(unknown=another_pass)
        return self._seen_to(uids, came, told, another_pass=another_pass)

    def _seen_to(
        self, uids: set[str], came: frozenset[str], told: frozenset[str], *, another_pass: bool
    ) -> Seen:
        failures: list[str] = []
        concerned = [self._pods[uid] for uid in sorted(uids) if uid in self._pods]
        groups = binding.observe(self._cpusets, concerned, failures)
        came |= self._made_anew(groups)
        appeared = [self._see(uid, each, self._observed.get(uid)) for uid, each in groups.items()]
        writes, conditions = self._bind(groups.keys(), came, told)
        if any(appeared):
            self._follow()
        return Seen(
            writes=writes,
            unknown=another_pass or any(map(self._has_unnamed, groups)),
            conditions=conditions,
            failures=tuple(failures),
        )

    def _told(self, planned: Planned) -> tuple[frozenset[str], bool]:
        """The pods that are new or have changed, and whether anything of the pods has.

        What is planned goes by them from now on.
        """
        news = self._news()
        if news is None or news[0] == planned.inputs.pods:
            return frozenset(), False
        pods, trusted = news
        self._heard = pods
        known = {pod.uid: pod for pod in planned.inputs.pods}
        self._pods = {pod.uid: pod for pod in pods if not pod.finished}
        self._planned = replace(planned, inputs=with_pods(planned.inputs, pods, trusted))
        changed = (uid for uid, pod in self._pods.items() if known.get(uid) != pod)
        return frozenset(changed), True

    def _are_others(self) -> bool:
        """Whether the pods are others than were heard of last: the first ones may come late."""
        news = self._news()
        if news is None or news[0] == self._heard:
            return False
        self._heard = news[0]
        return True

    def _look_at_state(self) -> None:
        """Ask for a pass where kubelet's state is another than the last one went by.

        What happened before it was followed is told by nobody.
        """
        reading = self._state()
        if reading.fresh and reading.values != self._state_heard:
            self._state_heard, self._again = reading.values, True

    def _moved_on(self, planned: Planned) -> bool:
        """Whether kubelet's state is another than the pass went by, or can't be read."""
        reading = self._state()
        return not reading.fresh or reading.values != (planned.inputs.kubelet,)

    def _came(self) -> tuple[frozenset[str], bool]:
        """The pods that had no cgroup and have one now, and whether unknown ones have."""
        there = self._watching.pods()
        if there:
            self._forget({uid for uid, pod in self._pods.items() if pod.cgroup_uid not in there})
        known = {pod.cgroup_uid: uid for uid, pod in self._pods.items()}
        ended = {pod.cgroup_uid for pod in self._planned.inputs.pods} if self._planned else set()
        came = frozenset(known[each] for each in there & known.keys()) - self._observed.keys()
        return came, bool(there - known.keys() - ended)

    def _made_anew(self, groups: Mapping[str, PodGroups]) -> frozenset[str]:
        """The pods whose cgroup is another one of its name, where that takes a write (v2).

        Nothing in it was there before, and it has no set: what was written is the old one's, and
        nobody changed it.
        """
        anew = frozenset(
            uid
            for uid, each in groups.items()
            if (before := self._observed.get(uid)) is not None
            and before.containers
            and not (each.version is Version.V1 or each.group.cpus)
            and {one.id for one in before.containers}.isdisjoint(one.id for one in each.containers)
        )
        for file in binding.files(groups[uid] for uid in anew):
            self._drift.reset(file)
        return anew

    def _forget(self, gone: set[str]) -> None:
        """Take pods for new ones when their cgroups come again."""
        known = gone & self._observed.keys()
        for uid in known:
            del self._observed[uid]
        if known:
            self._uids = {path: uid for path, uid in self._uids.items() if uid not in known}

    def _has_unnamed(self, uid: str) -> bool:
        """Whether a container of a pod, besides its sandbox, is none that its status names.

        It matters where the assignment tells containers apart.
        """
        planned, pod = self._planned, self._pods[uid]
        said = None if planned is None else planned.inputs.decisions.get(uid)
        if not isinstance(said, Assignment) or not said.containers:
            return False
        named = {each.id for each in pod.containers}
        return sum(each.id not in named for each in self._observed[uid].containers) > 1

    def _see(self, uid: str, groups: PodGroups, before: PodGroups | None) -> bool:
        """Remember a pod's cgroups; whether there is one that wasn't there before."""
        known = {each.id for each in before.containers} if before else set()
        appeared = any(each.id not in known for each in groups.containers)
        if appeared:
            self._looks.started(self._clock(), uid)
        self._observed[uid] = groups
        self._uids[groups.group.path] = uid
        for each in groups.containers:
            self._uids[each.group.path] = uid
        return appeared or before is None

    def _bind(
        self, uids: Iterable[str], came: frozenset[str], told: frozenset[str]
    ) -> tuple[tuple[Write, ...], tuple[Condition, ...]]:
        """Write what these pods' cgroups lack; decided anew where a pod came or changed.

        Memory nodes are written of those alone and of pods in which nothing has run: another's
        pages would move.
        """
        planned = self._planned
        if planned is None:
            return (), ()
        before = planned.desired.assigned
        inputs = replace(planned.inputs, observed=dict(self._observed), before=before)
        wanted = desired(inputs, planned.options) if came or told else planned.desired
        self._planned = replace(planned, inputs=inputs, desired=wanted)
        # What is in force by now is no news to the next pass.
        self._memory.assigned = wanted.assigned
        # Where pages may move under running tasks, that is the pass's to pace.
        with_mems = came if planned.options.mems is Mems.MIGRATE else came | told
        concerned = frozenset(uids)
        with_mems |= {uid for uid in concerned if self._is_unborn(uid)}
        own = tuple(
            (target, self._steps(target, keep_mems=target.pod.uid in with_mems))
            for target in wanted.targets
            if target.pod.uid in concerned
        )
        now = replace(self._planned, steps=own)
        return binding.write(self._cpusets, now, self._drift, self._clock())

    def _is_unborn(self, uid: str) -> bool:
        """Whether nothing but a sandbox has run in a pod's own directory (v2).

        Its sets may be lost once more by then: systemd takes the controller from slices that don't
        need it, and the sets with it (https://github.com/kubernetes/kubernetes/issues/122955).
        """
        pod, groups = self._pods.get(uid), self._observed[uid]
        return pod is not None and groups.version is Version.V2 and not has_run(pod, groups)

    def _steps(self, target: PodTarget, *, keep_mems: bool) -> tuple[Step, ...]:
        in_place, moves = parted(steps(target, self._observed[target.pod.uid]))
        return (*in_place, *moves) if keep_mems else in_place

    def _follow(self) -> None:
        self._parents = frozenset(self._watching.parents())
        self._watching.follow((*self._parents, *self._uids))
