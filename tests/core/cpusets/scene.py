"""Pods' cgroups and decisions for tests, on a machine of eight CPUs in two NUMA nodes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.cgroups import ContainerGroups, Group, PodGroups, Version
from numa_agent.core.cpusets import Desired, Inputs, Mems, Options, PodTarget, Refusal, desired
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from tests.machine_tree import TWO_NODES, container_id, cpus, uid

QOS = "kubepods/burstable"
GIB = 1 << 30

SANDBOX = 99
"""The number of a sandbox in these tests."""


def path(number: int, container: int | None = None, nested: str = "") -> str:
    """The path of a pod's cgroup, or of a container's in it, or of one inside that."""
    own = f"{QOS}/pod{uid(number)}"
    if container is None:
        return own
    return f"{own}/{container_id(container)}{nested}"


def group(where: str, held: str, effective: str, mems: str, effective_mems: str) -> Group:
    return Group(
        path=where,
        cpus=cpus(held),
        effective_cpus=cpus(effective),
        mems=cpus(mems),
        effective_mems=cpus(effective_mems),
        populated=True,
    )


def v2(
    number: int,
    held: str = "",
    *,
    containers: Mapping[int, str] | None = None,
    nested: Mapping[str, str] | None = None,
    above: str = "0-7",
    mems: str = "",
    above_mems: str = "0-1",
) -> PodGroups:
    """A pod's cgroups on v2: `containers` and those `nested` in them by number and path."""

    def force(configured: str, around: str) -> str:
        inside = cpus(configured) & cpus(around)
        return ",".join(map(str, sorted(inside))) or around

    own = force(held, above)
    memory = force(mems, above_mems)
    found = {number: ""} if containers is None else containers
    return PodGroups(
        version=Version.V2,
        above=(
            group("", "", "0-7", "", "0-1"),
            group("kubepods", "", above, "", above_mems),
            group(QOS, "", above, "", above_mems),
        ),
        group=group(path(number), held, own, mems, memory),
        containers=tuple(
            ContainerGroups(
                id=container_id(each),
                group=group(path(number, each), text, force(text, own), "", memory),
                nested=tuple(
                    group(
                        path(number, each, inner),
                        inside,
                        force(inside, force(text, own)),
                        "",
                        memory,
                    )
                    for inner, inside in (nested or {}).items()
                ),
            )
            for each, text in found.items()
        ),
    )


def v1(
    number: int,
    containers: Mapping[int, str] | None = None,
    *,
    nested: Mapping[str, str] | None = None,
    held: str = "0-7",
    mems: Mapping[int, str] | None = None,
) -> PodGroups:
    """A pod's cgroups on v1, where every level has a list of its own."""
    found = {number: held} if containers is None else containers
    return PodGroups(
        version=Version.V1,
        above=(group(QOS, "0-7", "0-7", "0-1", "0-1"),),
        group=group(path(number), held, held, "0-1", "0-1"),
        containers=tuple(
            ContainerGroups(
                id=container_id(each),
                group=group(path(number, each), text, text, *2 * [(mems or {}).get(each, "0-1")]),
                nested=tuple(
                    group(path(number, each, inner), inside, inside, "0-1", "0-1")
                    for inner, inside in (nested or {}).items()
                ),
            )
            for each, text in found.items()
        ),
    )


def own(text: str, mems: str = "", **containers: str) -> Assignment:
    """CPUs of a pod's own, and those of its containers by name where they differ."""
    return Assignment(
        source="the scheduler",
        pod=Placement(cpus=cpus(text), mems=cpus(mems)),
        containers={name: Placement(cpus=cpus(each)) for name, each in containers.items()},
    )


def on_nodes(text: str, mems: str = "") -> Assignment:
    """NUMA nodes whose shared CPUs a pod is bound to."""
    return Assignment(source="the scheduler", pod=Placement(nodes=cpus(text), mems=cpus(mems)))


def bad(message: str = "the scheduler: no list", code: str = "malformed") -> AssignmentError:
    return AssignmentError(message, code=code)


def static(shared: str, **given: str) -> CpuManagerState:
    """kubelet's static policy: what it shares, and what it gave to pods by `p<number>`."""
    return CpuManagerState(
        policy="static",
        shared=cpus(shared),
        entries={uid(int(name[1:])): {"c": cpus(text)} for name, text in given.items()},
    )


NO_MEMS = Options(mems=Mems.OFF)


def wanted(
    *pods: Pod,
    said: Mapping[int, Assignment | AssignmentError] | None = None,
    seen: Mapping[int, PodGroups] | None = None,
    options: Options = NO_MEMS,
    **facts: Any,
) -> Desired:
    """What is wanted for pods, with decisions and cgroups by their numbers."""
    inputs = Inputs(
        pods=pods,
        decisions={uid(number): each for number, each in (said or {}).items()},
        observed={uid(number): each for number, each in (seen or {}).items()},
        topology=facts.pop("topology", TWO_NODES),
        **facts,
    )
    return desired(inputs, options)


def target(answer: Desired, number: int) -> PodTarget | None:
    return next((each for each in answer.targets if each.pod.uid == uid(number)), None)


def given(answer: Desired) -> dict[str, str]:
    """The CPUs wanted for each pod by its name, as a list; "-" where it is left as it is."""
    return {
        each.pod.name: "-" if each.cpus is None else ",".join(map(str, sorted(each.cpus)))
        for each in answer.targets
    }


def refusal(answer: Desired) -> Refusal:
    (only,) = answer.refusals
    return only


def codes(answer: Desired) -> list[str]:
    return [each.code for each in answer.conditions]


def asking(pod: Pod, memory: int, limit: int | None = None, **kinds: int) -> Pod:
    """The pod with one container's request and limit in bytes."""
    names = [each.name for each in pod.containers] or ["c"]
    demand = Demand(
        container=names[0],
        role=Role.APP,
        requests={
            "memory": memory,
            **{kind.replace("_", "-"): size for kind, size in kinds.items()},
        },
        limits={} if limit is None else {"memory": limit},
    )
    return replace(pod, demands=Demands(containers=(demand,)))
