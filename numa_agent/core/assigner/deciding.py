"""What the assigner decides in one pass: who keeps what, who gets what, and who gets nothing.

It never takes what a scheduler or kubelet gave out; where one of them gives out later what a pod
has from us, that pod moves.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from numa_agent.core.assigner.asking import Asking, asking
from numa_agent.core.assigner.beside import Beside, beside
from numa_agent.core.assigner.choosing import choose
from numa_agent.core.assigner.finding import found_in_force
from numa_agent.core.assigner.holdings import room_left, taken
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.assigner.sharing_out import parts, resized
from numa_agent.core.assigner.situation import (
    DEVICE_SECONDS,
    Mode,
    Outcome,
    Setting,
    Situation,
)
from numa_agent.core.assigner.values import Choice, NoRoomError, Policy, Room
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pods import Pod


def decide(situation: Situation, setting: Setting, before: Mapping[str, Kept]) -> Outcome:
    """Decide for every pod that asks; the first that came is served first.

    A decision that holds isn't touched by any that comes later.
    """
    decider = _Decider(situation, setting, before)
    decider.keep_untold()
    for pod in decider.live:
        decider.keep(pod)
    if situation.settled:
        decider.adopt()
        for pod in decider.live:
            decider.place(pod)
    return decider.outcome


class _Decider:
    def __init__(self, situation: Situation, setting: Setting, before: Mapping[str, Kept]) -> None:
        self._now = situation
        self._setting = setting
        self._before = before
        self.live = [pod for pod in situation.inputs.pods if not pod.finished]
        self.outcome = Outcome()
        self._fresh: set[str] = set()

    def keep_untold(self) -> None:
        """Keep what pods have that nobody tells of now, where not all are told of."""
        if not self._now.told:
            named = {pod.uid for pod in self._now.inputs.pods}
            self.outcome.kept |= {
                uid: kept for uid, kept in self._before.items() if uid not in named
            }

    def keep(self, pod: Pod) -> None:
        """Keep what was decided for a pod, unless it has it from somebody else by now."""
        kept = self._before.get(pod.uid)
        if kept is None:
            return
        said = self._now.inputs.decisions.get(pod.uid)
        if isinstance(said, Assignment):
            if said.cpus != kept.cpus:
                self.outcome.say("assigner-yields", pod, f"{said.source} decides now")
            return
        if self._kubelet_s(pod):
            self.outcome.say("assigner-yields", pod, "kubelet's static CPU manager decides now")
            return
        self.outcome.kept[pod.uid] = kept

    def adopt(self) -> None:
        """Where no file tells what was decided, let pods keep what the kernel holds them to."""
        inputs = self._now.inputs
        if not self._now.lost or inputs.reserved is None or self._setting.mode is Mode.OFF:
            return
        found = found_in_force(self.live, inputs, taken(self._now))
        for pod in self.live:
            cpus = found.get(pod.uid, frozenset())
            if not cpus or pod.uid in self._now.alone or pod.uid in inputs.decisions:
                continue
            with suppress(AssignmentError):
                asked = self._asked(pod)
                if asked is not None and len(cpus) == asked.wish.cpus and cpus <= self._free():
                    self._take(pod, asked, cpus)

    def place(self, pod: Pod) -> None:
        """Find a place for a pod that asks and has none, or whose place isn't right any more."""
        if pod.uid in self._now.alone or pod.uid in self._now.inputs.decisions:
            return
        kept = self.outcome.kept.get(pod.uid)
        try:
            asked = self._asked(pod)
        except AssignmentError as error:
            self._unplaced(pod, error.code, str(error))
            return
        if asked is None:
            # Whoever takes the words away unbinds the pod; an admin who turns this off doesn't.
            if self._setting.mode is not Mode.OFF:
                self.outcome.kept.pop(pod.uid, None)
            return
        if kept is None:
            self._place_new(pod, asked)
        elif theirs := kept.cpus & taken(self._now):
            del self.outcome.kept[pod.uid]
            self._move(pod, asked, kept, f"CPUs {render(theirs)} are another's by now")
        elif len(kept.cpus) != asked.wish.cpus:
            self._resize(pod, asked, kept)

    def _asked(self, pod: Pod) -> Asking | None:
        inputs = self._now.inputs
        return asking(
            pod,
            kinds=[kind.name for kind in inputs.topology.cpu_kinds],
            labels=self._now.labels,
            everyone=self._setting.mode is Mode.ALWAYS,
            kubelet_static=inputs.kubelet_static,
        )

    def _place_new(self, pod: Pod, asked: Asking) -> None:
        if self._setting.mode is Mode.OFF:
            return
        if self._now.inputs.reserved is None:
            why = "neither the Node nor kubelet's settings say so far which CPUs are reserved"
            self._unplaced(pod, "reserved-unknown", why)
            return
        known = self._now.known.get(pod.uid, 0.0)
        left = self._setting.grace - known
        if left > 0 and self._setting.mode is Mode.FALLBACK:
            self.outcome.wait(left)
            return
        there = beside(pod, self._now.holders)
        if there.waits_for and known < DEVICE_SECONDS:
            self.outcome.wait(min(1.0, DEVICE_SECONDS - known))
            return
        self._find(pod, asked, there)

    def _find(self, pod: Pod, asked: Asking, there: Beside) -> bool:
        wish = replace(asked.wish, places=there.places)
        try:
            there.check(wish.policy)
            choice = choose(wish, self._room())
        except NoRoomError as error:
            self._unplaced(pod, error.code, str(error))
            return False
        self._keep(pod, asked, choice)
        return True

    def _move(self, pod: Pod, asked: Asking, kept: Kept, why: str) -> None:
        moved = self._find(pod, asked, beside(pod, self._now.holders))
        to = _what(self.outcome.kept[pod.uid]) if moved else "what all share"
        self.outcome.say("assigner-yields", pod, f"{why}: it moves from {_what(kept)} to {to}")

    def _resize(self, pod: Pod, asked: Asking, kept: Kept) -> None:
        """Give a pod that was resized in place more or fewer CPUs, where it is if that can be.

        https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
        """
        try:
            choice = resized(asked.wish, self._room(without=pod.uid), kept)
        except NoRoomError as error:
            self._unplaced(pod, error.code, f"it keeps {_what(kept)}: {error}")
            return
        del self.outcome.kept[pod.uid]
        self._keep(pod, asked, choice)
        now = self.outcome.kept[pod.uid]
        self.outcome.say(
            "assigner-moves", pod, f"it was resized: from {_what(kept)} to {_what(now)}"
        )

    def _take(self, pod: Pod, asked: Asking, cpus: CpuSet) -> None:
        nodes = self._now.inputs.topology.nodes_of(cpus)
        self._keep(pod, asked, Choice(nodes=nodes, cpus=cpus), told=False)
        self.outcome.say("assigner-adopted", pod, f"it keeps CPUs {render(cpus)}, as found")

    def _keep(self, pod: Pod, asked: Asking, choice: Choice, *, told: bool = True) -> None:
        kept = Kept(
            pod=pod.full_name,
            nodes=choice.nodes,
            cpus=choice.cpus,
            containers=parts(asked, choice, self._room()),
            sharing=asked.sharing,
            single=asked.wish.policy is Policy.SINGLE,
            apart=asked.wish.apart,
            asked=asked.source,
            at=self._now.now,
        )
        self.outcome.kept[pod.uid] = kept
        self._fresh.add(pod.uid)
        if told:
            by = f", as {kept.asked} asks" if kept.asked else ""
            self.outcome.say("assigner-assigned", pod, f"it gets {_what(kept)}{by}")

    def _unplaced(self, pod: Pod, code: str, message: str) -> None:
        self.outcome.unplaced[pod.uid] = (code, message)
        self.outcome.say("assigner-unplaced", pod, f"{code}: {message}")

    def _kubelet_s(self, pod: Pod) -> bool:
        state = self._now.inputs.kubelet
        return state is not None and pod.cgroup_uid in state.by_pod

    def _free(self) -> CpuSet:
        return frozenset[int]().union(*(node.free for node in self._room().nodes))

    def _room(self, without: str | None = None) -> Room:
        """What can be had, where a pod `without` its CPUs could have them again."""
        kept = {uid: each for uid, each in self.outcome.kept.items() if uid != without}
        return room_left(self._now, kept, fresh=self._fresh)


def _what(kept: Kept) -> str:
    nodes = (
        f"NUMA node {render(kept.nodes)}"
        if len(kept.nodes) == 1
        else f"NUMA nodes {render(kept.nodes)}"
    )
    return f"CPUs {render(kept.cpus)} of {nodes}" if kept.cpus else f"what is shared in {nodes}"
