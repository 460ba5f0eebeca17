"""What one pass of deciding starts from and has decided so far, and what can still be had."""

from collections.abc import Mapping

from numa_agent.core.assigner.asking import Asking, asking
from numa_agent.core.assigner.beside import Beside, beside
from numa_agent.core.assigner.choosing import choose
from numa_agent.core.assigner.holdings import room_left, taken, usable
from numa_agent.core.assigner.kept import Kept
from numa_agent.core.assigner.sharing_out import parts
from numa_agent.core.assigner.situation import Mode, Outcome, Setting, Situation
from numa_agent.core.assigner.values import Choice, NoRoomError, Policy, Room, Wish
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets.observed import follows
from numa_agent.core.pods import Pod


class Books:
    """Who has what in one pass; `live` are the pods in the order in which they are served."""

    def __init__(self, situation: Situation, setting: Setting, before: Mapping[str, Kept]) -> None:
        self.now = situation
        self.setting = setting
        self.before = before
        self.live = [pod for pod in situation.inputs.pods if not pod.finished]
        self.outcome = Outcome()
        self._fresh: set[str] = set()
        self.taken = taken(situation)
        self.usable = usable(situation)
        self._made: Room | None = None
        self._refused: list[tuple[Wish, NoRoomError]] = []

    def is_another_s(self, pod: Pod) -> bool:
        """Whether somebody else decides for a pod, or binds it."""
        return pod.uid in self.now.alone or pod.uid in self.now.inputs.decisions

    def lost(self, pod: Pod, kept: Kept) -> CpuSet:
        """The CPUs of a pod that nobody can be held to now, none while the kernel holds it so.

        Binding refuses those, and would for ever.
        """
        inputs = self.now.inputs
        if inputs.reserved is None or not self.usable:
            return frozenset()
        groups, said = inputs.observed.get(pod.uid), kept.assignment(inputs.topology)
        if groups is not None and follows(pod, groups, said, inputs.topology.online):
            return frozenset()
        return kept.cpus - self.usable

    def asked(self, pod: Pod, kept: Kept | None = None) -> Asking | None:
        """What a pod asks for; one that got CPUs without its asking has that still."""
        unasked = kept is not None and not kept.asked
        inputs = self.now.inputs
        return asking(
            pod,
            kinds=[kind.name for kind in inputs.topology.cpu_kinds],
            labels=self.now.labels,
            everyone=unasked or self.setting.mode is Mode.ALWAYS,
            kubelet_static=inputs.kubelet_static,
        )

    def choose(self, wish: Wish) -> Choice:
        """Where a wish is granted; of many alike, one is refused and the others are as well."""
        for refused, error in self._refused:
            if refused == wish:
                raise error.with_traceback(None)
        try:
            return choose(wish, self.room())
        except NoRoomError as error:
            self._refused.append((wish, error.with_traceback(None)))
            raise

    def beside(self, pod: Pod, kept: Kept) -> Beside:
        """A pod's devices; while nobody tells them, they are on the nodes that it was put on."""
        there = beside(pod, self.now.holders)
        if there.waits_for is None:
            return there
        return Beside(places=tuple(frozenset({node}) for node in sorted(kept.nodes)))

    def put(self, pod: Pod, asked: Asking, choice: Choice, *, told: bool = True) -> None:
        """Write down what a pod gets, and say so where it is to be `told`."""
        kept = Kept(
            pod=pod.full_name,
            nodes=choice.nodes,
            cpus=choice.cpus,
            containers=parts(asked, choice, self.room()),
            sharing=asked.sharing,
            single=asked.wish.policy is Policy.SINGLE,
            apart=asked.wish.apart,
            asked=asked.source,
            at=self.now.now,
        )
        self.outcome.kept[pod.uid] = kept
        self._made, self._refused = None, []
        self._fresh.add(pod.uid)
        if told:
            by = f", as {kept.asked} asks" if kept.asked else ""
            self.outcome.say("assigner-assigned", pod, f"it gets {in_words(kept)}{by}")

    def drop(self, pod: Pod) -> None:
        """Strike out what a pod has."""
        self._made, self._refused = None, []
        del self.outcome.kept[pod.uid]

    def refuse(self, pod: Pod, code: str, message: str) -> None:
        """Say why a pod doesn't get what it asks for."""
        self.outcome.unplaced[pod.uid] = (code, message)
        self.outcome.say("assigner-unplaced", pod, f"{code}: {message}")

    def is_kubelet_s(self, pod: Pod) -> bool:
        """Whether kubelet's static policy gave a pod CPUs."""
        state = self.now.inputs.kubelet
        return state is not None and pod.cgroup_uid in state.by_pod

    def room(self, without: str | None = None) -> Room:
        """What can be had, where a pod `without` its CPUs could have them again."""
        if without is not None:
            kept = {uid: each for uid, each in self.outcome.kept.items() if uid != without}
            return room_left(self.now, kept, fresh=self._fresh)
        if self._made is None:
            self._made = room_left(self.now, self.outcome.kept, fresh=self._fresh)
        return self._made


def in_words(kept: Kept) -> str:
    """What a pod has, in a sentence."""
    nodes = (
        f"NUMA node {render(kept.nodes)}"
        if len(kept.nodes) == 1
        else f"NUMA nodes {render(kept.nodes)}"
    )
    return f"CPUs {render(kept.cpus)} of {nodes}" if kept.cpus else f"what is shared in {nodes}"
