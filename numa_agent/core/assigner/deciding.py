"""What the assigner decides in one pass: who keeps what, who gets what, and who gets nothing.

It never takes what a scheduler or kubelet gave out; where one of them gives out later what a pod
has from us, that pod moves.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from numa_agent.core.assigner.asking import Asking
from numa_agent.core.assigner.beside import Beside, beside
from numa_agent.core.assigner.books import Books, in_words
from numa_agent.core.assigner.finding import found_in_force
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.assigner.sharing_out import in_place, resized
from numa_agent.core.assigner.situation import (
    DEVICE_SECONDS,
    Mode,
    Outcome,
    Setting,
    Situation,
)
from numa_agent.core.assigner.values import Choice, NoRoomError, Policy
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pods import Pod


def decide(situation: Situation, setting: Setting, before: Mapping[str, Kept]) -> Outcome:
    """Decide for every pod that asks; the first that came is served first.

    A decision that holds isn't touched by any that comes later.
    """
    decider = _Decider(situation, setting, before)
    decider.keep_unnamed()
    for pod in decider.live:
        decider.keep(pod)
    if situation.lost:
        # What isn't taken up now, the same pass gives to those that share.
        decider.adopt()
    if situation.settled:
        for pod in decider.live:
            decider.place(pod)
    return decider.outcome


class _Decider(Books):
    def keep_unnamed(self) -> None:
        """Keep what pods have that nobody tells of now: where not all are told of, and of those
        that have gone all but for their processes."""
        named = {pod.uid for pod in self.now.inputs.pods}
        self.outcome.kept |= {
            uid: kept
            for uid, kept in self.before.items()
            if uid not in named and (not self.now.told or uid in self.now.ending)
        }

    def keep(self, pod: Pod) -> None:
        """Keep what was decided for a pod, unless it has it from somebody else by now."""
        kept = self.before.get(pod.uid)
        if kept is None:
            return
        said = self.now.inputs.decisions.get(pod.uid)
        if isinstance(said, Assignment):
            if said.cpus != kept.cpus:
                self.outcome.say("assigner-yields", pod, f"{said.source} decides now")
            return
        if self.is_kubelet_s(pod):
            self.outcome.say("assigner-yields", pod, "kubelet's static CPU manager decides now")
            return
        self.outcome.kept[pod.uid] = kept

    def adopt(self) -> None:
        """Where nothing tells what was decided, let pods keep what the kernel holds them to."""
        if self.setting.mode is Mode.OFF:
            return
        asked = dict(self._asking())
        found = found_in_force(self.live, self.now.inputs, self.taken, asked)
        free = self.usable - self.taken
        free = free.difference(*(kept.cpus for kept in self.outcome.kept.values()))
        for pod in self.live:
            wanted, cpus = asked.get(pod.uid), found.get(pod.uid, frozenset())
            if wanted is None or len(cpus) != wanted.wish.cpus or not cpus or not cpus <= free:
                continue
            nodes = self.now.inputs.topology.nodes_of(cpus)
            if wanted.wish.policy is not Policy.SINGLE or len(nodes) == 1:
                self._take(pod, wanted, cpus)
                free -= cpus

    def _asking(self) -> Iterator[tuple[str, Asking]]:
        """What pods ask for that have nothing from anybody, by uid."""
        for pod in self.live:
            if pod.uid in self.outcome.kept or self.is_another_s(pod):
                continue
            with suppress(AssignmentError):
                asked = self.asked(pod)
                if asked is not None:
                    yield pod.uid, asked

    def place(self, pod: Pod) -> None:
        """Find a place for a pod that asks and has none, or whose place isn't right any more."""
        if self.is_another_s(pod):
            return
        kept = self.outcome.kept.get(pod.uid)
        try:
            asked = self.asked(pod, kept)
        except AssignmentError as error:
            keeps = "" if kept is None else f"it keeps {in_words(kept)}: "
            self.refuse(pod, error.code, f"{keeps}{error}")
            return
        if asked is None:
            # Whoever takes the words away unbinds the pod; an admin who turns this off doesn't.
            if kept is not None and self.setting.mode is not Mode.OFF:
                self.drop(pod)
            return
        if kept is None:
            self._place_new(pod, asked)
        elif theirs := kept.cpus & self.taken:
            why = f"CPUs {render(theirs)} are another's by now"
            self.outcome.say("assigner-yields", pod, self._move(pod, asked, kept, why))
        elif lost := self.lost(pod, kept):
            why = f"CPUs {render(lost)} can't be given out any more"
            self.outcome.say("assigner-moves", pod, self._move(pod, asked, kept, why))
        elif not in_place(asked, kept):
            self._resize(pod, asked, kept)

    def _place_new(self, pod: Pod, asked: Asking) -> None:
        if self.setting.mode is Mode.OFF:
            return
        if self.now.inputs.reserved is None:
            why = "neither the Node nor kubelet's settings say so far which CPUs are reserved"
            self.refuse(pod, "reserved-unknown", why)
            return
        known = self.now.known.get(pod.uid, 0.0)
        left = self.setting.grace - known
        if left > 0 and self.setting.mode is Mode.FALLBACK:
            self.outcome.wait(left)
            return
        there = beside(pod, self.now.holders)
        silent = self.now.silent
        untold = known if silent is None else min(known, silent)
        if there.waits_for and untold < DEVICE_SECONDS:
            self.outcome.wait(min(1.0, DEVICE_SECONDS - untold))
            return
        self._find(pod, asked, there)

    def _find(self, pod: Pod, asked: Asking, there: Beside) -> bool:
        wish = replace(asked.wish, places=there.places)
        try:
            there.check(wish.policy)
            choice = self.choose(wish)
        except NoRoomError as error:
            self.refuse(pod, error.code, str(error))
            return False
        self.put(pod, asked, choice)
        return True

    def _move(self, pod: Pod, asked: Asking, kept: Kept, why: str) -> str:
        """Find another place for a pod; from where it moves to where, and why."""
        self.drop(pod)
        moved = self._find(pod, asked, self.beside(pod, kept))
        to = in_words(self.outcome.kept[pod.uid]) if moved else "what all share"
        return f"{why}: it moves from {in_words(kept)} to {to}"

    def _resize(self, pod: Pod, asked: Asking, kept: Kept) -> None:
        """Give a pod that was resized in place more or fewer CPUs, where it is if that can be.

        https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
        """
        wish = replace(asked.wish, places=self.beside(pod, kept).places)
        try:
            choice = resized(wish, self.room(without=pod.uid), kept)
        except NoRoomError as error:
            self.refuse(pod, error.code, f"it keeps {in_words(kept)}: {error}")
            return
        self.drop(pod)
        self.put(pod, asked, choice, told=choice.cpus != kept.cpus)
        how = f"from {in_words(kept)} to {in_words(self.outcome.kept[pod.uid])}"
        if self.now.inputs.kubelet_static:
            why = "kubelet's static CPU manager gives CPUs out now"
            self.outcome.say("assigner-yields", pod, f"{why}: {how}")
        else:
            self.outcome.say("assigner-moves", pod, f"it was resized: {how}")

    def _take(self, pod: Pod, asked: Asking, cpus: CpuSet) -> None:
        nodes = self.now.inputs.topology.nodes_of(cpus)
        self.put(pod, asked, Choice(nodes=nodes, cpus=cpus), told=False)
        self.outcome.say("assigner-adopted", pod, f"it keeps CPUs {render(cpus)}, as found")
