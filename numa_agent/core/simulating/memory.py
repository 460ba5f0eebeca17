"""What is left of NUMA nodes' memory beside pods that came."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner import Kept, Situation
from numa_agent.core.assigner.asking import memory_of
from numa_agent.core.assigner.values import NodeIds
from numa_agent.core.assignment import Assignment
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.pods import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A pod with CPUs of its own."""

    pod: Pod
    cpus: CpuSet


class Memory:
    """The accounts as they are once pods have CPUs: those with some count on these CPUs' nodes.

    They do so in turn, as accounting.held_memory counts them once they run.
    """

    def __init__(self, situation: Situation, kept: Mapping[str, Kept]) -> None:
        """Take the machine as it is; what its pods hold already is in its accounts."""
        self._start = situation
        self._old = frozenset(
            pod.uid for pod in situation.inputs.pods if _cpus(pod, situation, kept)
        )
        self._held: tuple[_Held, ...] = ()
        self._accounts: Sequence[NodeAccount] | None = None

    def beside(self, now: Situation, kept: Mapping[str, Kept]) -> Sequence[NodeAccount]:
        """The accounts with what pods have by now."""
        pods = (pod for pod in now.inputs.pods if pod.uid not in self._old)
        held = tuple(_Held(pod=pod, cpus=cpus) for pod in pods if (cpus := _cpus(pod, now, kept)))
        known = len(self._held)
        if self._accounts is None or held[:known] != self._held:
            self._accounts, known = self._start.accounts(), 0
        self._accounts = _less(self._accounts, held[known:], now)
        self._held = held
        return self._accounts


def _cpus(pod: Pod, now: Situation, kept: Mapping[str, Kept]) -> CpuSet:
    """A pod's own CPUs, by a scheduler's word or by ours."""
    said = now.inputs.decisions.get(pod.uid)
    has = said if isinstance(said, Assignment) else kept.get(pod.uid)
    return frozenset() if has is None else has.cpus


def _less(
    accounts: Sequence[NodeAccount], held: Iterable[_Held], now: Situation
) -> Sequence[NodeAccount]:
    for each in held:
        nodes = now.inputs.topology.nodes_of(each.cpus)
        accounts = _without(accounts, memory_of(each.pod), nodes)
    return accounts


def _without(
    accounts: Sequence[NodeAccount], memory: Mapping[str, int], nodes: NodeIds
) -> Sequence[NodeAccount]:
    left, found = dict(memory), list[NodeAccount]()
    for account in accounts:
        resources = dict(account.resources)
        for name in left.keys() & resources.keys() if account.node.id in nodes else ():
            amount = resources[name]
            part = min(left[name], amount.available)
            left[name] -= part
            resources[name] = replace(amount, available=amount.available - part)
        found.append(replace(account, resources=resources))
    return found
