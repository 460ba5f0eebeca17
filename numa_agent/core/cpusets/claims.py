"""Who has which CPUs for its own, where several want one.

kubelet's static policy comes first, then pods that have their CPUs already, by the kernel or the
pass before, then those that started first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets.alone import kubelet_gave
from numa_agent.core.cpusets.holders import Holders, followed, in_force
from numa_agent.core.cpusets.refusals import RESERVED_UNKNOWN, Fault, cpu_fault, node_fault
from numa_agent.core.cpusets.values import Inputs, LeftAlone, Options, Refusal
from numa_agent.core.pods import Pod

_KUBELET = ("kubelet-exclusive", "kubelet-static")
"""Why a pod is left alone although somebody else than kubelet decided for it."""


@dataclass(kw_only=True)
class Claims:
    """What became of the assignments, by pod uid.

    `followed` are those that are, `kept` the CPUs in force of pods whose assignment isn't.
    """

    followed: dict[str, Assignment] = field(default_factory=dict)
    kept: dict[str, CpuSet] = field(default_factory=dict)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)

    @property
    def assigned(self) -> dict[str, CpuSet]:
        """The CPUs that are a pod's own."""
        followed = {uid: said.cpus for uid, said in self.followed.items() if said.cpus}
        return followed | self.kept

    def say(self, code: str, pod: Pod, message: str) -> None:
        """Add a condition of a pod."""
        self.conditions.append(
            Condition(code=code, subject=pod.full_name, message=f"pod {pod.full_name}: {message}")
        )


def settle(
    pods: Iterable[Pod], inputs: Inputs, options: Options, alone: Mapping[str, LeftAlone]
) -> Claims:
    """Decide about every assignment of these pods, none of which has finished.

    A pod that is left alone holds what was decided for it, where that can be, and isn't refused.
    """
    live = list(pods)
    follow = followed(live, inputs)
    older = in_force(live, inputs, follow)
    while True:
        claims = _round(live, inputs, options, alone, follow, older)
        moved = older.keys() & claims.followed.keys()
        if not moved:
            return claims
        # What those leave is free for whoever was given it.
        older = {uid: cpus for uid, cpus in older.items() if uid not in moved}


def _round(
    live: Iterable[Pod],
    inputs: Inputs,
    options: Options,
    alone: Mapping[str, LeftAlone],
    follow: frozenset[str],
    older: Mapping[str, CpuSet],
) -> Claims:
    """Decide in the order of claims, where pods hold what they have in force of an `older` one."""
    claims = Claims()
    holders = Holders(live, inputs)
    for uid, cpus in older.items():
        holders.hold(uid, cpus)
    first = follow | _assigned_before(inputs)
    for pod in sorted(live, key=lambda pod: (pod.uid not in first, pod.started or "~", pod.uid)):
        said, why_alone = inputs.decisions.get(pod.uid), alone.get(pod.uid)
        if said is None:
            continue
        kubelet_s = _beside_kubelet(pod, said, inputs, why_alone)
        fault = kubelet_s or _fault(pod, said, inputs, options, holders)
        stays = pod.uid in follow and kubelet_s is None
        if fault is not None and stays and isinstance(said, Assignment):
            # It runs there: moving it away would help nobody but a pod that was there first.
            taken = _taken(pod, said, holders)
            if taken is None and why_alone is None and fault[0] != RESERVED_UNKNOWN:
                claims.say("degraded", pod, f"it stays bound as it is: {fault[1]}")
            fault = taken
        if fault is None and isinstance(said, Assignment):
            holders.hold(pod.uid, said.cpus)
            claims.followed[pod.uid] = said
            mixed = _mixed(said, inputs)
            if mixed is not None:
                claims.say("isolated-mixed", pod, mixed)
            continue
        if pod.uid in older:
            claims.kept[pod.uid] = older[pod.uid]
        if fault is not None and (why_alone is None or why_alone.code in _KUBELET):
            claims.refusals[pod.uid] = Refusal(pod=pod, code=fault[0], message=fault[1])
    return claims


def _assigned_before(inputs: Inputs) -> frozenset[str]:
    """The uids of the pods whose own CPUs are those of the pass before."""
    before = inputs.before or {}
    return frozenset(
        uid
        for uid, said in inputs.decisions.items()
        if isinstance(said, Assignment) and said.cpus and said.cpus == before.get(uid)
    )


def _beside_kubelet(
    pod: Pod, said: Assignment | AssignmentError, inputs: Inputs, alone: LeftAlone | None
) -> Fault | None:
    """Why an assignment to one of kubelet's pods can't be followed."""
    if alone is None or alone.code not in _KUBELET or not isinstance(said, Assignment):
        return None
    if not said.binds_cpus:
        return None
    gives = _gives(said) if said.cpus else f"{said.source} gives it NUMA nodes to share"
    given = kubelet_gave(pod, inputs.kubelet)
    if given:
        keeps = f"kubelet's static CPU manager gave it {render(given)} and keeps them"
        return alone.code, f"{gives}, but {keeps}"
    return alone.code, f"{gives}, but {alone.message}"


def _fault(
    pod: Pod,
    said: Assignment | AssignmentError,
    inputs: Inputs,
    options: Options,
    holders: Holders,
) -> Fault | None:
    """The code and the sentence that say why an assignment can't be followed."""
    if isinstance(said, AssignmentError):
        return said.code, str(said)
    return _machine_s(pod, said, inputs, options) or _taken(pod, said, holders)


def _machine_s(pod: Pod, said: Assignment, inputs: Inputs, options: Options) -> Fault | None:
    fault = cpu_fault(pod, said, inputs, options) if said.cpus else None
    if fault is not None:
        return fault[0], f"{_gives(said)}, of which {fault[1]}"
    fault = node_fault(pod, said, inputs)
    return None if fault is None else (fault[0], f"{said.source}: {fault[1]}")


def _taken(pod: Pod, said: Assignment, holders: Holders) -> Fault | None:
    taken = holders.taken(pod.uid, said.cpus)
    return None if taken is None else ("cpus-taken", f"{_gives(said)}, of which {taken}")


def _mixed(said: Assignment, inputs: Inputs) -> str | None:
    isolated = said.cpus & (inputs.topology.isolated or frozenset())
    if not isolated or isolated == said.cpus:
        return None
    what = f"{render(isolated)} are isolated, and no task is balanced over those"
    return f"{_gives(said)}, of which {what}"


def _gives(said: Assignment) -> str:
    return f"{said.source} gives CPUs {render(said.cpus)}"
