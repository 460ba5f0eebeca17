"""A machine to simulate on: two NUMA nodes with two GPUs each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.assigner import Kept, Situation
from numa_agent.core.assignment import Assignment
from numa_agent.core.cpusets import Inputs, claimed
from numa_agent.core.grants import DeviceGrant, Offer, PodResources
from numa_agent.core.holding import Holders
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.simulating import Start
from tests.assigner.scene import GIB, SIXTEEN, asks, granted

NAME = "aliyun.com/gpu"
NODE_OF = {f"GPU-{number}": number // 2 for number in range(4)}

OFFER = Offer(
    cpus=frozenset(),
    memory=(),
    devices=(
        *(DeviceGrant(resource=NAME, ids=(gpu,), nodes=(n,)) for gpu, n in NODE_OF.items()),
        *(DeviceGrant(resource="x.io/nic", ids=(nic,), nodes=()) for nic in ("n0", "n1")),
    ),
)

NODE = Node(
    name="one",
    uid="1",
    allocatable={"cpu": 14_000, NAME: 4, "x.io/nic": 2, "pods": 20, "memory": 64 << 30},
)


def accounts_of(gpus: int, gib: int) -> tuple[NodeAccount, ...]:
    """On each node so many of its 2 GPUs free, and so many of its 8 GiB."""
    memory = Amount(capacity=8 * GIB, allocatable=8 * GIB, available=gib * GIB)
    cards = Amount(capacity=2, allocatable=2, available=gpus)
    return tuple(
        NodeAccount(node=node, resources={"memory": memory, NAME: cards})
        for node in SIXTEEN.cpu_nodes
    )


def start(
    pods: Sequence[Pod] = (),
    kept: dict[str, Kept] | None = None,
    said: dict[str, Assignment] | None = None,
    held: dict[str, Sequence[str]] | None = None,
    accounts: Sequence[NodeAccount] = (),
    **more: Any,
) -> Start:
    """The machine with pods that have something: by `kept` CPUs, by `held` GPUs."""
    inputs = Inputs(
        pods=list(pods),
        decisions=dict(said or {}),
        topology=SIXTEEN,
        reserved=frozenset({0, 8}),
    )
    theirs, alone = claimed(inputs)
    answer: PodResources = replace(granted(**(held or {})), offer=OFFER)
    situation = Situation(
        inputs=inputs,
        theirs=theirs,
        alone=alone,
        accounts=lambda: accounts,
        holders=Holders(SIXTEEN, answer, "kubelet isn't there"),
        known={},
        now=0.0,
    )
    found = Start(situation=situation, kept=kept or {}, node=NODE, granted=answer, gpus=NAME)
    return replace(found, **more)


__all__ = ["NAME", "NODE", "NODE_OF", "OFFER", "accounts_of", "asks", "start"]
