"""Everything a pass reads, and the view of the node that it makes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from numa_agent.agent.decisions import with_pods
from numa_agent.agent.reading import Kept, Reading
from numa_agent.core.accounting import NodeAccount, Sources, account, reserved_cpus, unaccountable
from numa_agent.core.conditions import Condition
from numa_agent.core.cpuinfo import CpuInfo
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Desired, Inputs
from numa_agent.core.grants import PodResources
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState
from numa_agent.core.kubelet_running import running
from numa_agent.core.node import Node
from numa_agent.core.pods import PodsRead
from numa_agent.core.topology import Topology
from numa_agent.core.view import View

_UNREAD = Node(name="", uid="")
"""A Node that says nothing of its resources."""

SettingsRead = tuple[KubeletSettings, tuple[str, ...]]
"""kubelet's settings, and sentences that name the members that can't be read."""


def _nothing_spilled(_: Iterable[int]) -> Mapping[int, int]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSources:
    """What a pass reads; None of a source's value means that the machine hasn't got it.

    `free_memory` and `spilled` give bytes by NUMA node: what is free, and what a node could not
    give to those who wanted it.
    """

    topology: Callable[[], Topology]
    node: Kept[Node]
    pods: Kept[PodsRead]
    settings: Kept[SettingsRead | None]
    cpu_state: Kept[CpuManagerState | None]
    memory_state: Kept[MemoryManagerState | None]
    granted: Kept[PodResources | None]
    cpu_info: Kept[CpuInfo | None]
    free_memory: Callable[[Iterable[int]], Mapping[int, int | None]] = dict.fromkeys
    spilled: Callable[[Iterable[int]], Mapping[int, int]] = _nothing_spilled
    trusted_managers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What the sources gave in one pass."""

    topology: Topology
    cpu_state: Reading[CpuManagerState | None]
    memory_state: Reading[MemoryManagerState | None]
    granted: Reading[PodResources | None]
    settings: Reading[SettingsRead | None]
    pods: Reading[PodsRead]
    node: Reading[Node]
    cpu_info: Reading[CpuInfo | None]

    @property
    def all(self) -> tuple[Reading[object], ...]:
        """Every reading, in a fixed order."""
        of_kubelet = (self.cpu_state, self.memory_state, self.granted, self.settings)
        return (*of_kubelet, self.pods, self.node, self.cpu_info)

    @property
    def failures(self) -> list[str]:
        """Why sources failed."""
        return [reading.error for reading in self.all if reading.error is not None]

    @property
    def exclusive(self) -> Mapping[str, CpuSet]:
        """The CPUs of kubelet's static policy by the uid that it knows a pod by."""
        state = self.cpu_state.values[0]
        return {} if state is None else state.by_pod

    def inputs(self, trusted_managers: tuple[str, ...] = ()) -> Inputs | None:
        """What binding starts from, None where pods or kubelet's CPUs were never known."""
        if not self.pods.values or not self.cpu_state.values:
            return None
        known = Inputs(
            pods=(),
            decisions={},
            topology=self.topology,
            kubelet=self.cpu_state.values[0],
            reserved=self._reserved(),
        )
        return with_pods(known, self.pods.values[0].pods, trusted_managers)

    def _reserved(self) -> CpuSet | None:
        """The CPUs that are kept for the system, None where nobody says.

        kubelet itself names them, or its settings do; a number of them is the Node's to say.
        """
        told = _accounted(self)
        offer = None if told.granted is None else told.granted.offer
        named = told.settings is not None and told.settings.reserved_cpus is not None
        counted = self.node.values and self.settings.values
        if counted or named or (offer is not None and offer.cpus):
            return reserved_cpus(told, [])
        return None


def read_all(sources: NodeSources) -> Readings:
    """Read every source once. Raises SourceError only without a map."""
    # kubelet's state comes before the pods: a pod that starts in between is then not taken for one
    # that has gone. What it granted comes after them: a pod that the fingerprint names must not
    # have its devices counted as available.
    return Readings(
        topology=sources.topology(),
        cpu_state=sources.cpu_state.read(),
        memory_state=sources.memory_state.read(),
        settings=sources.settings.read(),
        pods=sources.pods.read(),
        granted=sources.granted.read(),
        node=sources.node.read(),
        cpu_info=sources.cpu_info.read(),
    )


def view_of(now: Readings, wanted: Desired | None, failures: list[str]) -> View | None:
    """What a scheduler may be told, None (and why, in `failures`) where that would be wrong.

    Without the pods, say, `available` would be wrong, and a wrong object is worse than an old one.
    """
    if wanted is None or not all(reading.values for reading in now.all):
        return None
    unknown = _unknown(now)
    if unknown is not None:
        failures.append(f"nothing is published: {unknown}")
        return None
    return _view(now, wanted)


def _unknown(now: Readings) -> str | None:
    """Why the numbers would be wrong, None where they are right."""
    for reading in (now.cpu_state, now.memory_state, now.granted):
        # Pods that came since hold what an old answer doesn't tell.
        if now.pods.fresh and not reading.fresh:
            return f"{reading.source} is {reading.age_seconds:.0f} s old and the pods are of now"
    if now.pods.values[0].left_out:
        return "a pod can't be read, so what is free is unknown"
    granted = now.granted.values[0]
    if granted is not None and granted.problems:
        return f"what kubelet gave out can't be read: {granted.problems[0]}"
    missing = unaccountable(now.topology)
    return None if missing is None else f"{missing} (the map's warnings say more)"


def accounts_of(
    now: Readings, assigned: Mapping[str, CpuSet], *, partly: bool = False
) -> tuple[NodeAccount, ...]:
    """The accounts of the nodes with CPUs, none where no true ones can be given.

    Those that go by a part of the sources are better than none for who chooses a node: a pod's
    memory then fits what is known of it. Nothing is published by such.
    """
    needed = (now.pods, now.cpu_state) if partly else now.all
    if not all(reading.values for reading in needed) or unaccountable(now.topology) is not None:
        return ()
    return account(_accounted(now, assigned)).nodes


def _accounted(now: Readings, assigned: Mapping[str, CpuSet] | None = None) -> Sources:
    read, _ = (now.settings.values[0] if now.settings.values else None) or (None, ())
    cpu_state = now.cpu_state.values[0]
    memory_state = now.memory_state.values[0] if now.memory_state.values else None
    settings, _ = running(read, cpu_state, memory_state)
    return Sources(
        topology=now.topology,
        node=now.node.values[0] if now.node.values else _UNREAD,
        settings=None if read is None else settings,
        pods=now.pods.values[0].pods,
        granted=now.granted.values[0] if now.granted.values else None,
        cpu_state=cpu_state,
        memory_state=memory_state,
        assigned=assigned or {},
    )


def _view(now: Readings, wanted: Desired) -> View:
    node, pods = now.node.values[0], now.pods.values[0].pods
    read, problems = now.settings.values[0] or (None, ())
    settings, differing = running(read, now.cpu_state.values[0], now.memory_state.values[0])
    accounts = account(_accounted(now, wanted.assigned))
    return View(
        node=node,
        topology=now.topology,
        accounts=accounts.nodes,
        settings=settings,
        settings_known=read is not None,
        pods=pods,
        reserved=accounts.reserved,
        assigned=wanted.assigned,
        kubelet_exclusive=now.exclusive,
        cpu_info=now.cpu_info.values[0],
        conditions=(*accounts.conditions, *differing, *_unread(problems)),
    )


def _unread(problems: Iterable[str]) -> tuple[Condition, ...]:
    return tuple(
        Condition(code="kubelet-setting-unread", subject="kubelet", message=problem)
        for problem in problems
    )
