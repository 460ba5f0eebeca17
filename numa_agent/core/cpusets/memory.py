"""The memory nodes of a pod, and whether they can be set now.

A pod that is held to nodes without enough memory is killed while the machine has some; and where
cpuset.mems changes under running tasks, v2 moves their pages before the write returns:
https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset
"""

from collections.abc import Iterable, Mapping

from numa_agent.core import quantity
from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cgroups import MemSet, PodGroups, Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets.not_set import NO_NEED, is_fault
from numa_agent.core.cpusets.observed import has_run
from numa_agent.core.cpusets.sides import around
from numa_agent.core.cpusets.values import Inputs, Mems, Options
from numa_agent.core.pods import Pod


class Memory:
    """Hands out the machine's free memory to the pods of one pass, in their order."""

    def __init__(self, inputs: Inputs, options: Options, conditions: list[Condition]) -> None:
        self._inputs = inputs
        self._when = options.mems
        self._conditions = conditions
        self._free = dict(inputs.free_memory)
        self._promised = {pod.uid: self._promise(pod) for pod in inputs.pods}

    def _promise(self, pod: Pod) -> Mapping[int, int]:
        """Set aside what a pod that is held to some nodes may still come to use of them."""
        groups = self._inputs.observed.get(pod.uid)
        nodes = frozenset[int]() if groups is None or pod.finished else _held(groups)
        if groups is None or not nodes or _everything(nodes, groups):
            return {}
        return self._set_aside(nodes, max(0, _need(pod) - (groups.memory_used or 0)))

    def nodes(self, pod: Pod, said: Assignment, names: Iterable[str]) -> Mapping[str, MemSet]:
        """The memory nodes of a pod's containers by name, none where they aren't to be set.

        A container without decided ones has those of its own CPUs' nodes. Containers that have
        none at all keep what is there, and so aren't named.
        """
        groups = self._inputs.observed.get(pod.uid)
        if self._when is Mems.OFF or groups is None:
            return {}
        found = {name: self._usable(pod, said.of(name), groups) for name in names}
        wanted = {name: mems for name, mems in found.items() if mems}
        if not wanted:
            return {}
        why = self._obstacle(pod, groups, wanted, every=len(wanted) == len(found))
        if why is not None:
            message = f"memory nodes {_all(wanted)} aren't set: {why}"
            if is_fault(said, self._inputs.own.get(pod.uid), why):
                self._say("mems-not-set", pod, message)
            else:
                near = "the kernel takes it near its CPUs while it can"
                self._say("mems-untold", pod, f"{message}; {near}")
            return {}
        if groups.version is Version.V2 and self._when is Mems.WITH_CPUS:
            # A container's own directory is there when its tasks are.
            return dict.fromkeys(wanted, frozenset().union(*wanted.values()))
        return wanted

    def _usable(self, pod: Pod, placement: Placement, groups: PodGroups) -> MemSet:
        """The nodes with memory among those decided, or among those of a container's CPUs."""
        near = self._inputs.topology.nodes_of(placement.cpus) | placement.nodes
        decided = placement.mems or self._inputs.topology.nodes_of(placement.cpus)
        with_memory = frozenset(
            node.id
            for node in self._inputs.topology.nodes
            if node.id in decided and node.memory_bytes
        )
        outer = around(groups, "mems")
        usable = with_memory if outer is None else with_memory & outer
        if placement.mems and near and not near & placement.mems:
            where = f"CPUs of nodes {render(near)}, memory of nodes {render(decided)}"
            self._say("mems-away-from-cpus", pod, f"it was given {where}")
        if usable != decided:
            left = render(decided - usable)
            self._say(
                "mems-dropped", pod, f"nodes {left} have no memory for it, or it isn't known"
            )
        return usable

    def _obstacle(
        self, pod: Pod, groups: PodGroups, wanted: Mapping[str, MemSet], *, every: bool
    ) -> str | None:
        """Why they can't be set now, None where they can or are set already."""
        together = _all(wanted)
        nodes = frozenset[int]().union(*wanted.values())
        if self._in_place(pod, groups, wanted, nodes) or _everything(nodes, groups):
            return None
        if self._when is Mems.WITH_CPUS:
            if groups.version is Version.V2 and not every:
                return "only some of its containers have any, and the pod's directory is for all"
            if not _need(pod):
                return NO_NEED
            if groups.version is Version.V2 and has_run(pod, groups):
                return "it runs already, and its pages would move (mems: migrate allows that)"
            if groups.version is Version.V1 and not _as_made(groups, nodes):
                return "somebody else has set others"
        return self._no_room(pod, nodes, together)

    def _in_place(
        self, pod: Pod, groups: PodGroups, wanted: Mapping[str, MemSet], nodes: MemSet
    ) -> bool:
        if groups.version is Version.V2:
            return groups.group.mems == nodes
        names = {each.id: each.name for each in pod.containers}
        return all(
            each.group.mems == wanted.get(names.get(each.id, ""), nodes)
            for each in groups.containers
        )

    def _no_room(self, pod: Pod, nodes: MemSet, together: str) -> str | None:
        """Why the nodes can't hold what the pod may use; what they can is then set aside."""
        need = _need(pod)
        if not need:
            return NO_NEED
        for node, promised in self._promised.pop(pod.uid, {}).items():
            self._free[node] = (self._free[node] or 0) + promised
        free = [self._free.get(node) for node in sorted(nodes)]
        if None in free:
            return f"the free memory of nodes {together} isn't known"
        if sum(each for each in free if each is not None) < need:
            have = sum(each for each in free if each is not None)
            return f"it may use {need} bytes, and {have} are free there for it"
        pages = self._no_pages(nodes, pod.demands.effective())
        if pages is None:
            self._set_aside(nodes, need)
        return pages

    def _no_pages(self, nodes: MemSet, asked: Mapping[str, int]) -> str | None:
        for kind, size in sorted(asked.items()):
            if not kind.startswith("hugepages-"):
                continue
            free = sum(
                (pool.free or 0) * pool.size_kib * 1024
                for node in self._inputs.topology.nodes
                if node.id in nodes
                for pool in node.hugepages
                if kind == f"hugepages-{quantity.binary(pool.size_kib * 1024)}"
            )
            if free < size:
                return f"it asks for {size} bytes of {kind}, and {free} are free there"
        return None

    def _set_aside(self, nodes: MemSet, need: int) -> Mapping[int, int]:
        """Take what is needed from the nodes' free memory; what was taken of each."""
        taken: dict[int, int] = {}
        for node in sorted(nodes):
            have = self._free.get(node) or 0
            if have:
                taken[node] = min(have, need)
                self._free[node] = have - taken[node]
                need -= taken[node]
        return taken

    def _say(self, code: str, pod: Pod, message: str) -> None:
        said = Condition(
            code=code, subject=pod.full_name, message=f"pod {pod.full_name}: {message}"
        )
        if said not in self._conditions:
            self._conditions.append(said)


def _need(pod: Pod) -> int:
    """The bytes of memory that a pod may use, or asks for; 0 where neither is told."""
    return max(pod.demands.memory_limit or 0, pod.demands.effective().get("memory", 0))


def _held(groups: PodGroups) -> MemSet:
    """The memory nodes that a pod is held to by a set of its own, none where it has none."""
    own = (
        (groups.group,)
        if groups.version is Version.V2
        else tuple(each.group for each in groups.containers)
    )
    return frozenset[int]().union(*(each.mems or frozenset() for each in own))


def _all(wanted: Mapping[str, MemSet]) -> str:
    return render(frozenset[int]().union(*wanted.values()))


def _everything(nodes: MemSet, groups: PodGroups) -> bool:
    """Whether they keep nothing out."""
    outer = around(groups, "mems")
    return outer is not None and nodes >= outer


def _as_made(groups: PodGroups, nodes: MemSet) -> bool:
    """Whether each container has what the runtime copied from the pod, or ours already."""
    return all(
        each.group.mems in (groups.group.mems, frozenset()) or (each.group.mems or nodes) <= nodes
        for each in groups.containers
    )
