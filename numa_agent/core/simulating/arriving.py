"""Pods that arrive at a machine, one after the other.

The scheduler's part is whether the node has what a pod requests in sum, kubelet's which devices it
gets, the assigner's which CPUs and NUMA nodes: its own decision, as in a pass.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner import Kept, Mode, Outcome, Setting, Situation, asking, decide
from numa_agent.core.assigner.asking import memory_of
from numa_agent.core.assigner.beside import Beside, beside
from numa_agent.core.assigner.holdings import room_left
from numa_agent.core.assigner.values import NodeIds
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import claimed
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Pod
from numa_agent.core.simulating.admitting import Budget
from numa_agent.core.simulating.comparing import is_beside
from numa_agent.core.simulating.granting import Grants
from numa_agent.core.simulating.values import Fate, Placed, Start

_LONG_AGO = 1e9
"""Seconds since a pod was first seen: nobody is waited for."""


class Arriving:
    """The machine with what pods that have arrived hold by now.

    `situation` is what the assigner knows, `kept` what it has decided.
    """

    def __init__(self, start: Start) -> None:
        """Take the machine as it is."""
        topology = start.situation.inputs.topology
        self.situation = start.situation
        self.kept: Mapping[str, Kept] = start.kept
        self._start = start
        self._grants = Grants(topology, start.node, start.granted, start.gpus)
        self._budget = Budget(start.node, start.situation.inputs.pods)
        self._mode = Mode.FALLBACK if start.mode is Mode.OFF else start.mode

    def arrive(self, pod: Pod) -> Placed:
        """What becomes of the next pod."""
        why = self._budget.lacking(pod) or self._grants.lacking(pod)
        if why is not None:
            return Placed(pod=pod, fate=Fate.WAITING, code="no-room", why=why)
        self._budget.take(pod)
        devices = self._grants.grant(pod, wanted_cpus=self._wanted(pod), free_cpus=self._free())
        now = self._with(pod)
        outcome = decide(now, Setting(mode=self._mode), self.kept)
        placed = self._told(pod, devices, now, outcome)
        self.kept = outcome.kept
        if placed.fate is Fate.PLACED:
            self.situation = replace(now, accounts=self._accounts(now, pod))
        else:
            # What it shares is nobody's own, and its devices are kubelet's to tell of.
            self.situation = replace(self.situation, holders=now.holders)
        return placed

    def _free(self) -> Mapping[int, int]:
        room = room_left(self.situation, self.kept)
        return {node.id: len(node.free) for node in room.nodes}

    def _wanted(self, pod: Pod) -> int | None:
        """The CPUs that the plugin is told of a pod that asks."""
        try:
            asked = asking(pod)
        except AssignmentError:
            return None
        return None if asked is None else asked.wish.room

    def _with(self, pod: Pod) -> Situation:
        """What the assigner knows once kubelet has a pod."""
        now, said = self.situation, self._start.said.get(pod.uid)
        decisions = {**now.inputs.decisions, **({} if said is None else {pod.uid: said})}
        inputs = replace(now.inputs, pods=[*now.inputs.pods, pod], decisions=decisions)
        theirs, alone = claimed(inputs)
        return replace(
            now,
            inputs=inputs,
            # Of pods that run, the look at the machine knows more: what is in force.
            theirs={**theirs, **now.theirs},
            alone=alone | now.alone,
            holders=Holders(inputs.topology, self._grants.answer, "there is no podresources"),
            known={each.uid: _LONG_AGO for each in inputs.pods},
        )

    def _accounts(self, now: Situation, pod: Pod) -> Callable[[], Sequence[NodeAccount]]:
        """The accounts, less the memory of a pod with CPUs of its own."""
        accounts, kept = now.accounts(), self.kept.get(pod.uid)
        if kept is not None and kept.cpus:
            accounts = [_less(each, memory_of(pod), kept.nodes) for each in accounts]
        return lambda: accounts

    def _told(
        self, pod: Pod, devices: tuple[str, ...], now: Situation, outcome: Outcome
    ) -> Placed:
        """What became of a pod that the node has, which has these devices."""
        there = beside(pod, now.holders)
        placed = Placed(
            pod=pod,
            fate=Fate.SHARES,
            devices=devices,
            device_nodes=frozenset[int]().union(*there.places),
        )
        said = now.inputs.decisions.get(pod.uid)
        kept = outcome.kept.get(pod.uid)
        if isinstance(said, AssignmentError):
            return replace(placed, fate=Fate.UNPLACED, code=said.code, why=str(said), beside=False)
        if isinstance(said, Assignment):
            return _decided(placed, said, now, there)
        if kept is not None:
            return _placed(placed, kept.cpus, kept.nodes, now, there)
        if pod.uid in outcome.unplaced:
            code, why = outcome.unplaced[pod.uid]
            return replace(placed, fate=Fate.UNPLACED, code=code, why=why, beside=False)
        return placed


def _placed(placed: Placed, cpus: CpuSet, nodes: NodeIds, now: Situation, there: Beside) -> Placed:
    topology = now.inputs.topology
    runs_on = topology.nodes_of(cpus) or nodes
    good = is_beside(topology, runs_on, len(cpus), there)
    return replace(placed, fate=Fate.PLACED, cpus=cpus, nodes=nodes, beside=good)


def _decided(placed: Placed, said: Assignment, now: Situation, there: Beside) -> Placed:
    """What a scheduler's words on the pod come to."""
    cpus = now.theirs.get(placed.pod.uid, frozenset())
    nodes = now.inputs.topology.nodes_of(cpus) | said.pod.nodes
    if not nodes:
        why = f"{said.source} gives CPUs that it can't have: held, reserved or not there"
        return replace(placed, fate=Fate.UNPLACED, code="refused", why=why, beside=False)
    return _placed(replace(placed, why=said.source), cpus, nodes, now, there)


def _less(account: NodeAccount, memory: Mapping[str, int], nodes: NodeIds) -> NodeAccount:
    """An account without what a pod that is on these nodes has of a node's memory."""
    if account.node.id not in nodes:
        return account
    resources = {
        name: replace(each, available=max(0, each.available - -(-memory[name] // len(nodes))))
        if name in memory
        else each
        for name, each in account.resources.items()
    }
    return replace(account, resources=resources)
