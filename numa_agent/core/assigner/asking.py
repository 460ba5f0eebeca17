"""What a pod asks of the assigner, by its annotations and what its containers request.

The annotations are ACK's and Koordinator's:
https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/enable-numa-topology-aware-scheduling
and https://koordinator.sh/docs/user-manuals/fine-grained-cpu-orchestration.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from numa_agent.core.assigner.amounts import as_a_whole, own_cpus, shared_of, shared_out
from numa_agent.core.assigner.amounts import memory_of as memory_of
from numa_agent.core.assigner.values import Apart, Policy, Threads, Wish
from numa_agent.core.assignment import AssignmentError, understand
from numa_agent.core.pod_keys import CPU_KIND, RESOURCE_SPEC, SCHEDULER, TOPOLOGY_SPECS
from numa_agent.core.pods import Pod, QosClass
from numa_agent.core.quoting import meant, shown
from numa_agent.core.schedulers.ack_assignment import SWITCHED_ON, topology_specs
from numa_agent.core.schedulers.koordinator.assignment import Qos, qos
from numa_agent.core.strict_json import Value

BIND_POLICY = "node.koordinator.sh/cpu-bind-policy"
"""The Node's label that says which threads of cores its pods get."""

_BINDING = {
    "": Threads.WHOLE_CORES,
    "Default": Threads.WHOLE_CORES,
    "FullPCPUs": Threads.WHOLE_CORES,
    "ConstrainedBurst": Threads.WHOLE_CORES,
    "SpreadByPCPUs": Threads.SPREAD,
}
_APART = {
    "": Apart.NOBODY,
    "None": Apart.NOBODY,
    "PCPULevel": Apart.CORES,
    "NUMANodeLevel": Apart.NODES,
}
_BY_NODE = {"FullPCPUsOnly": Threads.ONLY_WHOLE_CORES, "SpreadByPCPUs": Threads.SPREAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A pod's wish, but for where its devices are, and how its CPUs are shared out.

    `containers` are the CPUs of its own of each container that gets some, in the pod's order;
    `sharing` are those that stay and get none, which share what is nobody's own on its nodes.
    `inside` are those that share what is left of the pod's own CPUs, where it has those as a
    whole. `source` is the annotation that asks, "" where none does.
    """

    wish: Wish
    source: str
    containers: Mapping[str, int] = field(default_factory=dict)
    sharing: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


def may_ask(pod: Pod, *, everyone: bool = False) -> bool:
    """Whether a pod may ask for anything, told at a glance."""
    if pod.finished:
        return False
    return everyone or any(key in pod.annotations for key in (SCHEDULER, *TOPOLOGY_SPECS))


def asking(
    pod: Pod,
    *,
    kinds: Collection[str] | None = None,
    labels: Mapping[str, str] | None = None,
    everyone: bool = False,
    kubelet_static: bool = False,
) -> Asking | None:
    """What a pod asks for, None where it asks for nothing.

    `kinds` are the names of the machine's kinds of CPUs, None where any name is taken, `labels`
    are the Node's. With `everyone` a
    pod that says nothing asks too, if it is Guaranteed and has whole CPUs: for the best that there
    is. Under kubelet's static policy nobody gets CPUs of its own from us: that is kubelet's to do.
    Raises AssignmentError where its words can't be understood.
    """
    spec = _spec(pod)
    if spec is None:
        if not everyone or pod.qos is not QosClass.GUARANTEED:
            return None
        spec = _Spec(policy=Policy.BEST_EFFORT, exclusive=False, source="")
    shared = kubelet_static or qos(pod.labels) in (Qos.LS, Qos.BE)
    own, sharing = shared_out(pod, shared=shared)
    cpus = own_cpus(pod, own, shared=shared)
    if everyone and not spec.source and not cpus:
        return None
    whole = cpus and cpus == as_a_whole(pod)
    sharing, inside = ((), sharing) if whole else (sharing, ())
    threads, apart = _binding(pod)
    wish = Wish(
        policy=spec.policy,
        exclusive=spec.exclusive,
        cpus=cpus,
        shared_millis=shared_of(pod, sharing),
        memory=memory_of(pod),
        threads=_BY_NODE.get((labels or {}).get(BIND_POLICY, ""), threads),
        apart=apart,
        kind=_kind(pod, kinds),
    )
    return Asking(wish=wish, source=spec.source, containers=own, sharing=sharing, inside=inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spec:
    policy: Policy
    exclusive: bool
    source: str


def _spec(pod: Pod) -> _Spec | None:
    """How strictly the pod asks; None where it doesn't."""
    found = [
        _Spec(
            policy=Policy(each.policy),
            exclusive=each.exclusive != "Preferred",
            source=each.source,
        )
        for each in topology_specs(pod.annotations)
        if each.policy is not None
    ]
    if found:
        _check_alike(found)
        return found[0]
    switch = pod.annotations.get(SCHEDULER)
    if switch is None:
        return None
    if switch not in SWITCHED_ON:
        raise AssignmentError(
            f"{SCHEDULER} {shown(switch)}: {meant(switch, SWITCHED_ON)}; leave the annotation out"
            " to ask for nothing"
        )
    # It asks for CPUs beside its devices and says nothing of how strictly.
    return _Spec(policy=Policy.BEST_EFFORT, exclusive=False, source=SCHEDULER)


def _check_alike(found: list[_Spec]) -> None:
    first = found[0]
    for other in found[1:]:
        if (other.policy, other.exclusive) != (first.policy, first.exclusive):
            raise AssignmentError(
                f"{first.source} and {other.source} ask for different things: remove one",
                code="conflicting",
            )


def _binding(pod: Pod) -> tuple[Threads, Apart]:
    text = pod.annotations.get(RESOURCE_SPEC)
    return (
        (Threads.WHOLE_CORES, Apart.NOBODY)
        if text is None
        else understand(RESOURCE_SPEC, text, _resource_spec)
    )


def _resource_spec(value: Value) -> tuple[Threads, Apart]:
    required = _word(value, "requiredCPUBindPolicy", _BINDING)
    preferred = _word(value, "preferredCPUBindPolicy", _BINDING)
    threads = _BINDING[required or preferred]
    if required == "FullPCPUs":
        threads = Threads.ONLY_WHOLE_CORES
    return threads, _APART[_word(value, "preferredCPUExclusivePolicy", _APART)]


def _word(value: Value, name: str, known: Mapping[str, object]) -> str:
    member = value.member(name)
    word = "" if member is None else member.text()
    if member is not None and word not in known:
        raise member.fault(f"{shown(word)} isn't known; {meant(word, tuple(known)[1:])}")
    return word


def _kind(pod: Pod, kinds: Collection[str] | None) -> str | None:
    kind = pod.annotations.get(CPU_KIND)
    if kind is None or kinds is None or kind in kinds:
        return kind
    there = ", ".join(kinds) or "CPUs of one kind only"
    raise AssignmentError(f"{CPU_KIND} {shown(kind)}: this machine has {there}")
