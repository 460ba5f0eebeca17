"""What helps: for each thing that is wrong, what to do and the command for it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from string import Template

from numa_agent.core.explaining.placed_here import helps
from numa_agent.core.explaining.story import Case, Todo
from numa_agent.core.report import Proof
from numa_agent.core.verdict import Reason

_SPEC = (
    """scheduling.koordinator.sh/numa-topology-spec: '{"numaTopologyPolicy": "SingleNUMANode"}'"""
)
_RESTART = "kubectl delete pod -n $namespace $pod"

_REWRITE = Todo(
    what="stop whoever writes its cpuset; the agent writes it again, unless they fight",
    command="numa-agent plan --node-name $node",
)
_REFUSED = Todo(
    what="correct what was decided (docs/assignment.md), or let the scheduler decide anew",
    command=_RESTART,
)
_OPTED_OUT = Todo(
    what="let the agent bind it again",
    command="kubectl annotate pod -n $namespace $pod numa-agent.io/bind-",
)
_PENDING = Todo(
    what="see that the agent runs on this node: its next pass makes these writes",
    command="kubectl get pods -A -o wide -l app.kubernetes.io/name=numa-agent"
    " --field-selector spec.nodeName=$node",
)


BY_CAUSE = {
    "foreign-writer": _REWRITE,
    "cloned-into-cgroup": Todo(
        what="restart the pod with runc, or run Linux 6.1 or later: this kernel lets it out",
        command=_RESTART,
    ),
    "as-decided": Todo(
        what="it is as it was decided; to have one node, ask for it in the pod's template",
        command=_SPEC,
    ),
    "refused": _REFUSED,
    "nobody-decided": Todo(
        what="have CPUs decided: ask for one node in the pod's template, and see that a scheduler"
        " which knows NUMA places it",
        command=_SPEC,
    ),
    "ancestor-limit": Todo(
        what="give the cgroup above its CPUs: a unit's AllowedCPUs or another agent took some",
        command="systemctl show -p AllowedCPUs kubepods.slice",
    ),
    "cpus-offline": Todo(
        what="bring the CPUs back online, or have the pod scheduled anew",
        command="cat /sys/devices/system/cpu/offline",
    ),
    "user-mask": Todo(
        what="find who set the mask: the program itself, or CPUAffinity= of the runtime's unit",
        command="systemctl show -p CPUAffinity containerd crio",
    ),
    "late-binding": Todo(
        what="restart the pod: its memory is then taken where its CPUs are; or have pages moved"
        " (`mems: migrate`)",
        command=_RESTART,
    ),
    "mems-not-bound": Todo(
        what="restart the pod, so that it is bound before it takes memory; keep `mems: with-cpus`",
        command=_RESTART,
    ),
    "memory-spilled": Todo(
        what="make room on its node: see who has memory there, move one of them, restart this pod",
        command="numa-agent verify --node-name $node",
    ),
    "kubelet-policy": Todo(
        what="let kubelet give devices of one node (topologyManagerPolicy: single-numa-node), or"
        " have the scheduler decide CPUs beside the devices that it got",
        command="numa-agent topology --node-name $node",
    ),
    "chosen-apart": Todo(
        what="have the scheduler decide CPUs and devices together",
        command="numa-agent render",
    ),
    "no-memory-there": Todo(
        what="have CPUs decided in a node that has memory, or see why this one has none: DIMMs,"
        " firmware",
        command="numa-agent doctor --node-name $node",
    ),
    "not-in-podresources": Todo(
        what="no podresources tells this: see which devices its annotations or claims name, and"
        " what it has open (`numa-agent verify` as root on the node: docs/verdicts.md)",
        command="kubectl get pod -n $namespace $pod -o yaml",
    ),
    "no-locality": Todo(
        what="tell where the device is in a file of localityOverrides (docs/configuration.md)",
        command="numa-agent topology --locality-overrides FILE",
    ),
}

BY_CODE = {
    "cpus-outside": _REWRITE,
    "cpus-unseen": Todo(
        what="see whether its processes run: the kernel moves them out when all CPUs of a v1"
        " cgroup go offline; restart it then",
        command=_RESTART,
    ),
    "memory-unseen": Todo(
        what="enable the memory controller for its cgroup, with hugepages the hugetlb one too (v2,"
        " Linux 5.17), on a kernel with CONFIG_NUMA; where hugepages were moved, restart it",
        command="cat /sys/fs/cgroup/cgroup.subtree_control",
    ),
    "memory-place-unknown": Todo(
        what="see what that node is: one that is new, without distances, or a GPU's own memory,"
        " which NVML tells",
        command="numa-agent topology --node-name $node",
    ),
    "devices-unseen": Todo(
        what="let the agent ask kubelet: mount its pod-resources folder, see `podresources`",
        command="ls -l /var/lib/kubelet/pod-resources/kubelet.sock",
    ),
    "cpu-quota": Todo(
        what="let it use its CPUs all the time: set `cpuQuota: lift`, or drop its CPU limit",
        command="numa-agent config --show",
    ),
    "devices-remote": BY_CAUSE["chosen-apart"],
    "devices-split": BY_CAUSE["chosen-apart"],
}


def advice(case: Case) -> Iterator[Todo]:
    """What helps this pod, each thing once."""
    names = {"node": case.node_name, "namespace": case.pod.namespace, "pod": case.pod.name}
    found = [*_of_decisions(case), *helps(case), *_of_proofs(case)]
    if case.pod.cgroup_uid != case.pod.uid:
        # Deleting the mirror of a static pod restarts nothing.
        found = [_of_static(each) for each in found]
    yield from dict.fromkeys(_named(each, names) for each in found)


def _of_static(todo: Todo) -> Todo:
    if todo.command != _RESTART:
        return todo
    return Todo(what=f"{todo.what} (a static pod: move its file out of kubelet's folder and back)")


def _named(todo: Todo, names: Mapping[str, str]) -> Todo:
    what = todo.what
    if todo.command == _RESTART:
        what += " (its controller makes a new pod; one without a controller is gone)"
    return replace(todo, what=what, command=Template(todo.command).substitute(names))


def _of_decisions(case: Case) -> Iterator[Todo]:
    uid = case.pod.uid
    if any(refusal.pod.uid == uid for refusal in case.wanted.refusals):
        yield _REFUSED
    if any(each.pod.uid == uid and each.code == "opted-out" for each in case.wanted.left_alone):
        yield _OPTED_OUT
    if case.steps:
        yield _PENDING


def _of_proofs(case: Case) -> Iterator[Todo]:
    for proof in case.proofs:
        for reason in proof.verdict.reasons:
            todo = _of_reason(reason, proof)
            if todo is not None and not (case.steps and todo is _REWRITE):
                yield todo


def _of_reason(reason: Reason, proof: Proof) -> Todo | None:
    code = None if reason.cause is None else reason.cause.code
    if code == "nobody-decided" and not (proof.asked.wishes or proof.verdict.devices):
        # Who never asked for anything, and holds nothing that has a place, needs nothing.
        return None
    return BY_CAUSE[code] if code in BY_CAUSE else BY_CODE.get(reason.code)
