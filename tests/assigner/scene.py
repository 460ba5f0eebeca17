"""Pods that ask, and a machine of two NUMA nodes, each of four cores with two threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner import Kept, Mode, Outcome, Setting, Situation, decide
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import Inputs, claimed
from numa_agent.core.devices import DeviceKind, NodeSource
from numa_agent.core.grants import ContainerGrant, DeviceGrant, PodResources
from numa_agent.core.holding import Holders
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.topology import Topology
from tests.core.cpusets.scene import v1 as on_v1
from tests.core.cpusets.scene import v2 as on_v2
from tests.core.test_koordinator_device import UNTOLD
from tests.machine_tree import cpus, machine, numa_node, pci_device, pod, uid
from tests.serve.reports import gpu

SPEC = "scheduling.alibabacloud.com/numa-topology-spec"
GIB = 1 << 30

_GPUS = tuple(
    pci_device(
        f"0000:0{number}:00.0",
        kind=DeviceKind.GPU,
        node=number // 2,
        nodes=(number // 2,),
        node_source=NodeSource.SYSFS,
    )
    for number in range(4)
)

SIXTEEN = replace(
    machine(
        numa_node(0, "0-3,8-11", distances={0: 10, 1: 21}),
        numa_node(1, "4-7,12-15", distances={0: 21, 1: 10}),
    ),
    cores=tuple(frozenset({core, core + 8}) for core in range(8)),
    pci_devices=_GPUS,
    gpus=tuple(
        replace(
            gpu(str(each.address), each), nvml=replace(UNTOLD, uuid=f"GPU-{number}", minor=number)
        )
        for number, each in enumerate(_GPUS)
    ),
)
"""CPUs 0-3 and 8-11 on node 0 with GPUs 0 and 1, the rest on node 1 with GPUs 2 and 3."""


def asks(
    number: int,
    count: int | None = 4,
    policy: str | None = "SingleNUMANode",
    *,
    exclusive: str | None = "Preferred",
    gpus: int = 0,
    annotations: Mapping[str, str] | None = None,
    demands: Sequence[Demand] | None = None,
    **more: Any,
) -> Pod:
    """A pod of one container that asks for whole CPUs, and by ACK's annotations for a policy."""
    said = {}
    if policy is not None:
        own = {"numaTopologyPolicy": policy}
        if exclusive is not None:
            own["singleNUMANodeExclusive"] = exclusive
        said = {"cpuset-scheduler": "required", SPEC: str(own).replace("'", '"')}
    amounts = {} if count is None else {"cpu": count * 1000}
    amounts |= {"aliyun.com/gpu": gpus} if gpus else {}
    demand = Demand(container=f"c{number}", role=Role.APP, requests=amounts, limits=amounts)
    return replace(
        pod(number, annotations=said | dict(annotations or {})),
        demands=Demands(containers=tuple(demands or (demand,))),
        **more,
    )


def demand(name: str, cpu: int, limit: int | None = None, role: Role = Role.APP) -> Demand:
    """A container's CPU time in thousandths; the limit is the request unless it is given."""
    most = cpu if limit is None else limit
    return Demand(
        container=name,
        role=role,
        requests={"cpu": cpu} if cpu else {},
        limits={"cpu": most} if most else {},
    )


def granted(**gpus: Sequence[str]) -> PodResources:
    """kubelet's answer: GPUs by the pods' names."""
    return PodResources(
        pods=frozenset(("shop", name) for name in gpus),
        containers=tuple(
            ContainerGrant(
                namespace="shop",
                pod=name,
                container=f"c{name.removeprefix('p')}",
                cpus=frozenset(),
                devices=(DeviceGrant(resource="aliyun.com/gpu", ids=tuple(ids), nodes=()),),
                memory=(),
                dynamic=(),
            )
            for name, ids in gpus.items()
            if ids
        ),
        offer=None,
    )


@dataclass
class Scene:
    """What passes know, and what they decided so far."""

    topology: Topology = SIXTEEN
    reserved: CpuSet | None = frozenset({0, 8})
    setting: Setting = field(default_factory=Setting)
    kept: Mapping[str, Kept] = field(default_factory=dict)
    said: dict[int, Assignment | AssignmentError] = field(default_factory=dict)
    seen: dict[int, PodGroups] = field(default_factory=dict)
    kubelet: CpuManagerState | None = None
    answer: PodResources | None = None
    accounts: Sequence[NodeAccount] = ()
    known: float = 100.0
    now: float = 1_800_000_000.0

    def take(self, *pods: Pod, **facts: Any) -> Outcome:
        """Decide for pods as a pass does."""
        inputs = Inputs(
            pods=pods,
            decisions={uid(number): each for number, each in self.said.items()},
            observed={uid(number): each for number, each in self.seen.items()},
            topology=self.topology,
            kubelet=self.kubelet,
            reserved=self.reserved,
        )
        theirs, alone = claimed(inputs)
        outcome = decide(
            Situation(
                inputs=inputs,
                theirs=theirs,
                alone=alone,
                accounts=lambda: self.accounts,
                holders=Holders(self.topology, self.answer, "kubelet isn't there"),
                known={each.uid: self.known for each in pods},
                now=self.now,
                **facts,
            ),
            self.setting,
            self.kept,
        )
        self.kept = outcome.kept
        return outcome

    def has(self, number: int) -> str:
        """The CPUs that a pod has from the assigner, as a list."""
        found = self.kept.get(uid(number))
        return "" if found is None else render(found.cpus)


def v2(
    number: int, held: str, containers: Mapping[int, str] | None = None, above: str = "0-15"
) -> PodGroups:
    """A pod's cgroups on v2, below one that has all CPUs of SIXTEEN."""
    return on_v2(number, held, containers=containers, above=above)


def v1(number: int, containers: Mapping[int, str]) -> PodGroups:
    """A pod's cgroups on v1, below one that has all CPUs of SIXTEEN."""
    return on_v1(number, containers, held="0-15")


def told(outcome: Outcome) -> list[tuple[str, str]]:
    """Codes and subjects of what was said."""
    return [(each.code, each.subject) for each in outcome.conditions]


__all__ = ["GIB", "SIXTEEN", "SPEC", "Mode", "Scene", "asks", "cpus", "demand", "granted", "told"]
