"""Pods that arrive at a machine, one after the other.

The scheduler's part is whether the node has what a pod requests in sum, kubelet's which devices it
gets, the assigner's which CPUs and NUMA nodes: its own decision, as in a pass.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from numa_agent.core.assigner import (
    Asking,
    Kept,
    Mode,
    Setting,
    Situation,
    asking,
    decide,
    may_ask,
)
from numa_agent.core.assigner.beside import Beside, beside
from numa_agent.core.assigner.choosing import fewest_ever, free_for
from numa_agent.core.assigner.holdings import room_left
from numa_agent.core.assigner.values import NodeIds, Policy, Wish
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import claimed, desired
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Pod
from numa_agent.core.simulating.admitting import Budget
from numa_agent.core.simulating.comparing import is_beside
from numa_agent.core.simulating.granting import Grants
from numa_agent.core.simulating.memory import Memory
from numa_agent.core.simulating.values import Fate, Placed, Start

_LONG_AGO = 1e9
"""Seconds since a pod was first seen: nobody is waited for."""

_IN_USE = "nodes-in-use"
"""The one refusal that pods which come later may put an end to: they change who uses a node."""

_MOST_PASSES = 20
"""Until nothing changes any more: each places a pod at least."""


class Arriving:
    """The machine with what pods that have arrived hold by now.

    `situation` is what the assigner knows, `kept` what it has decided.
    """

    def __init__(self, start: Start) -> None:
        """Take the machine as it is."""
        inputs = start.situation.inputs
        self.situation = start.situation
        self.kept: Mapping[str, Kept] = start.kept
        self._start = start
        self._grants = Grants(inputs.topology, start.node, start.granted, start.gpus)
        self._budget = Budget(start.node, inputs.pods)
        self._memory = Memory(start.situation, start.kept)
        self._room = room_left(start.situation, start.kept)
        self._mode = Mode.FALLBACK if start.mode is Mode.OFF else start.mode
        self._devices: dict[str, tuple[str, ...]] = {}
        self._unplaced: dict[str, tuple[str, str]] = {}
        self._waiting: dict[str, str] = {}

    def arrive(self, pod: Pod) -> None:
        """Let the next pod come."""
        why = self._budget.lacking(pod) or self._grants.lacking(pod)
        if why is not None:
            self._waiting[pod.uid] = why
            return
        self._budget.take(pod)
        self._devices[pod.uid] = self._grants.grant(pod, *self._told_plugin(pod))
        before = self.situation
        self._decide(self._with(pod))
        code, _ = self._unplaced.get(pod.uid, (_IN_USE, ""))
        if code != _IN_USE:
            # Nothing becomes free here, so that no later pass has anything for it, unless nodes
            # come to be used by others. What it shares is nobody's own.
            self.situation = replace(before, holders=self.situation.holders)

    def settle(self) -> None:
        """Let passes go by without a pod that comes, as long as they change anything."""
        for _ in range(_MOST_PASSES):
            before = self.kept
            self._decide(self.situation)
            if self.kept == before:
                return

    def told(self, pod: Pod) -> Placed:
        """What has become of a pod that came."""
        if pod.uid in self._waiting:
            why = self._waiting[pod.uid]
            return Placed(pod=pod, fate=Fate.WAITING, code="no-room", why=why)
        now = self.situation
        there = beside(pod, now.holders)
        placed = Placed(
            pod=pod,
            fate=Fate.SHARES,
            devices=self._devices[pod.uid],
            device_nodes=frozenset[int]().union(*there.places),
        )
        refused = self._refused(pod) or self._unplaced.get(pod.uid)
        if refused is not None:
            code, why = refused
            return replace(placed, fate=Fate.UNPLACED, code=code, why=why, beside=False)
        said, kept = now.inputs.decisions.get(pod.uid), self.kept.get(pod.uid)
        if isinstance(said, Assignment):
            return self._decided(placed, said, there)
        return placed if kept is None else self._placed(placed, kept.cpus, kept.nodes, there)

    def asked(self, pod: Pod) -> Asking | None:
        """What a pod asks for, None where it is nothing or can't be understood."""
        inputs = self._start.situation.inputs
        with suppress(AssignmentError):
            return asking(
                pod,
                kinds=[kind.name for kind in inputs.topology.cpu_kinds],
                labels=self._start.situation.labels,
                everyone=self._mode is Mode.ALWAYS,
                kubelet_static=inputs.kubelet_static,
            )
        return None

    def fewest(self, pod: Pod, cpus: int) -> int | None:
        """On how few NUMA nodes a pod with so many CPUs could ever be, None: on none."""
        asked = self.asked(pod)
        wish = Wish(policy=Policy.BEST_EFFORT, cpus=cpus) if asked is None else asked.wish
        return fewest_ever(wish, self._room)

    def _told_plugin(self, pod: Pod) -> tuple[int | None, Mapping[int, int]]:
        """What the plugin is told beside the daemon of a pod that asks: how many CPUs it wants,
        and how many of each node it may have."""
        asked = None
        with suppress(AssignmentError):
            asked = asking(pod)
        if asked is None:
            return None, {}
        return asked.wish.room, free_for(asked.wish, room_left(self.situation, self.kept))

    def _with(self, pod: Pod) -> Situation:
        """What the assigner knows once kubelet has a pod."""
        now, said = self.situation, self._start.said.get(pod.uid)
        decisions = {**now.inputs.decisions, **({} if said is None else {pod.uid: said})}
        inputs = replace(now.inputs, pods=[*now.inputs.pods, pod], decisions=decisions)
        theirs, alone = claimed(inputs, self._start.options)
        return replace(
            now,
            inputs=inputs,
            # Of pods that run, the look at the machine knows more: what is in force.
            theirs={**theirs, **now.theirs},
            alone=alone | now.alone,
            holders=Holders(inputs.topology, self._grants.answer, "there is no podresources"),
            known={each.uid: _LONG_AGO for each in inputs.pods},
        )

    def _decide(self, now: Situation) -> None:
        """One pass of the assigner."""
        outcome = decide(now, Setting(mode=self._mode), self.kept)
        here = {pod.uid for pod in now.inputs.pods}
        gone = {uid: why for uid, why in self._unplaced.items() if uid not in here}
        self._unplaced = gone | outcome.unplaced
        accounts = self._memory.beside(now, outcome.kept)
        self.situation = replace(now, accounts=lambda: accounts)
        self.kept = outcome.kept

    def _refused(self, pod: Pod) -> tuple[str, str] | None:
        """Why a scheduler's words on a pod aren't followed, or nobody's are: as in a pass."""
        now = self.situation
        if pod.uid not in now.inputs.decisions and not (pod.uid in now.alone and may_ask(pod)):
            return None
        wanted = desired(now.inputs, self._start.options)
        told = {each.pod.uid: (each.code, each.message) for each in wanted.refusals}
        told |= {each.pod.uid: (each.code, each.message) for each in wanted.left_alone}
        return told.get(pod.uid)

    def _placed(self, placed: Placed, cpus: CpuSet, nodes: NodeIds, there: Beside) -> Placed:
        runs_on = self.situation.inputs.topology.nodes_of(cpus) or nodes
        good = is_beside(runs_on, there, self.fewest(placed.pod, len(cpus)))
        return replace(placed, fate=Fate.PLACED, cpus=cpus, nodes=nodes, beside=good)

    def _decided(self, placed: Placed, said: Assignment, there: Beside) -> Placed:
        """What a scheduler's words on the pod come to."""
        now = self.situation
        cpus = now.theirs.get(placed.pod.uid, frozenset())
        named = (said.pod.nodes, *(each.nodes for each in said.containers.values()))
        nodes = now.inputs.topology.nodes_of(cpus).union(*named)
        told = replace(placed, why=said.source)
        return self._placed(told, cpus, nodes, there) if nodes else told
