"""Which CPUs and memory nodes every container shall have."""

from collections.abc import Mapping

from numa_agent.core.assignment import Assignment, NodeSet
from numa_agent.core.cgroups import MemSet, Version
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets.alone import left_alone
from numa_agent.core.cpusets.claims import Claims, settle
from numa_agent.core.cpusets.memory import Memory
from numa_agent.core.cpusets.shares import Shares
from numa_agent.core.cpusets.sides import around
from numa_agent.core.cpusets.values import (
    ContainerTarget,
    Desired,
    Inputs,
    Options,
    PodTarget,
)
from numa_agent.core.pods import Pod

_SHARED = Assignment(source="nobody")


def desired(inputs: Inputs, options: Options | None = None) -> Desired:
    """What is wanted for every pod that hasn't finished, by rules that depend on nothing else.

    A pod's own CPUs are for all its containers, unless its assignment says otherwise: init ones,
    sidecars, ephemeral ones and the sandbox. All others share what is left. An assignment that
    can't be followed is refused whole; what is in force of an older one then stays.
    """
    options = options or Options()
    live = [pod for pod in inputs.pods if not pod.finished]
    theirs = {
        pod.uid: why for pod in live if (why := left_alone(pod, inputs, options)) is not None
    }
    claims = settle(live, inputs, options, theirs)
    conditions = list(claims.conditions)
    decider = _Decider(inputs, options, claims, conditions)
    found = [decider.target(pod) for pod in live if pod.uid not in theirs]
    return Desired(
        targets=tuple(target for target in found if target is not None),
        assigned=claims.assigned,
        refusals=tuple(claims.refusals[pod.uid] for pod in live if pod.uid in claims.refusals),
        left_alone=tuple(
            theirs[pod.uid] for pod in live if pod.uid in theirs.keys() - claims.refusals.keys()
        ),
        conditions=tuple(sorted(set(conditions))),
    )


class _Decider:
    """Makes the targets of one pass."""

    def __init__(
        self, inputs: Inputs, options: Options, claims: Claims, conditions: list[Condition]
    ) -> None:
        self._inputs = inputs
        self._options = options
        self._claims = claims
        self._shares = Shares(inputs, options, claims.assigned)
        self._conditions = conditions
        self._memory = Memory(inputs, options, conditions)

    def target(self, pod: Pod) -> PodTarget | None:
        """A pod's target, None where nothing is wanted of it."""
        kept = self._claims.kept.get(pod.uid)
        if kept is not None:
            return self._as_it_is(pod, kept)
        said = self._claims.followed.get(pod.uid, _SHARED)
        names = _names(pod, said)
        cpus = {name: self._cpus(pod, said, name) for name in names}
        mems = self._memory.nodes(pod, said, names)
        if not any(cpus.values()) and not mems:
            return None
        return self._put_together(pod, said, cpus, mems)

    def _cpus(self, pod: Pod, said: Assignment, name: str) -> CpuSet | None:
        """A container's CPUs, None where it keeps what it has."""
        placement = said.of(name)
        if placement.cpus:
            return placement.cpus
        if not placement.nodes and not self._options.share:
            return None
        free = self._free(pod, placement.nodes)
        if free:
            return free
        where, then = "", "it keeps what it has"
        if placement.nodes:
            # What it has there is others' own by now.
            free = self._free(pod, NodeSet())
            where = f" in NUMA nodes {render(placement.nodes)}"
            then = "it shares those of the others" if free else then
        self._say("shared-cpus-empty", pod, f"no CPU is left to share{where}; {then}")
        return free or None

    def _free(self, pod: Pod, nodes: NodeSet) -> CpuSet:
        """The shared CPUs that it can have, of these NUMA nodes or of all where none are given."""
        free = self._shares.of(pod.uid, nodes)
        groups = self._inputs.observed.get(pod.uid)
        outer = None if groups is None else around(groups, "cpus")
        return free if outer is None else free & outer

    def _put_together(
        self,
        pod: Pod,
        said: Assignment,
        cpus: Mapping[str, CpuSet | None],
        mems: Mapping[str, MemSet],
    ) -> PodTarget:
        whole = _union(list(cpus.values()))
        nodes = _union([mems.get(name) for name in cpus]) if mems else None
        containers = {
            each.id: ContainerTarget(
                name=each.name,
                cpus=cpus[each.name] if cpus[each.name] != whole else None,
                mems=mems.get(each.name) if mems.get(each.name) != nodes else None,
                reason=_reason(said, each.name),
            )
            for each in pod.containers
            if each.id is not None
            and (cpus[each.name] != whole or mems.get(each.name, nodes) != nodes)
        }
        if containers and self._inputs.kubelet_static:
            message = "its containers share all its CPUs: kubelet writes their directories"
            self._say("containers-left-to-kubelet", pod, message)
        return PodTarget(
            pod=pod,
            cpus=whole,
            mems=nodes,
            reason=_reason(said, None),
            containers={} if self._inputs.kubelet_static else containers,
            exclusive=bool(said.cpus),
            pod_level_only=self._inputs.kubelet_static,
        )

    def _as_it_is(self, pod: Pod, kept: CpuSet) -> PodTarget | None:
        """The target of a pod that keeps its binding: containers that come get it as well.

        On v1 one that has all CPUs has just come, unless pods that share are left with all.
        """
        groups = self._inputs.observed[pod.uid]
        whole = groups.group.cpus == kept
        if not whole and not (groups.version is Version.V1 and self._options.share):
            return None
        reason = "it keeps the CPUs that it was bound to"
        names = {each.id: each.name for each in pod.containers}
        return PodTarget(
            pod=pod,
            cpus=kept,
            mems=None,
            reason=reason,
            containers={
                each.id: ContainerTarget(
                    name=names.get(each.id, each.id),
                    cpus=each.group.cpus,
                    mems=None,
                    reason=reason,
                )
                for each in groups.containers
                if each.group.cpus and each.group.cpus < kept
            },
            exclusive=True,
            pod_level_only=self._inputs.kubelet_static,
        )

    def _say(self, code: str, pod: Pod, message: str) -> None:
        self._conditions.append(
            Condition(code=code, subject=pod.full_name, message=f"pod {pod.full_name}: {message}")
        )


def _names(pod: Pod, said: Assignment) -> list[str]:
    """The names of the pod's containers, and "" where something is decided for unnamed ones."""
    names = dict.fromkeys(demand.container for demand in pod.demands.containers)
    names |= dict.fromkeys(each.name for each in pod.containers)
    names |= dict.fromkeys(said.containers)
    if said.pod.binds_cpus or not names:
        # For those to come: a sandbox, an ephemeral container.
        names[""] = None
    return list(names)


def _union(sets: list[frozenset[int] | None]) -> frozenset[int] | None:
    """What the pod needs for all its containers, None where one of them is left as it is."""
    known = [each for each in sets if each is not None]
    return frozenset[int]().union(*known) if len(known) == len(sets) else None


def _reason(said: Assignment, name: str | None) -> str:
    placement = said.pod if name is None else said.of(name)
    own = said.cpus if name is None else placement.cpus
    if own:
        return f"{said.source} gives it CPUs {render(own)}"
    if placement.nodes:
        return f"{said.source} gives it what is shared in NUMA nodes {render(placement.nodes)}"
    return "it shares the CPUs that are nobody's own"


def claimed(
    inputs: Inputs, options: Options | None = None
) -> tuple[Mapping[str, CpuSet], frozenset[str]]:
    """Whose own CPUs are which by the decisions alone, and the uids of pods that are others' to
    bind."""
    options = options or Options()
    live = [pod for pod in inputs.pods if not pod.finished]
    theirs = {
        pod.uid: why for pod in live if (why := left_alone(pod, inputs, options)) is not None
    }
    return settle(live, inputs, options, theirs).assigned, frozenset(theirs)
