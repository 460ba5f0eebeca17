"""Whole decisions of the assigner: from a pod and its GPUs to its CPUs, on a machine that fills.

A part of `python -m benchmarks.assigner`.
"""

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from numa_agent.core.assigner import Kept, Setting, Situation, decide
from numa_agent.core.cpusets import Inputs
from numa_agent.core.devices import DeviceKind, NodeSource
from numa_agent.core.grants import ContainerGrant, DeviceGrant, PodResources
from numa_agent.core.holding import Holders
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.topology import Cache, NodeKind, NumaNode, Topology
from tests.machine_tree import machine, numa_node, pci_device, pod, uid

SPEC = "scheduling.alibabacloud.com/numa-topology-spec"
POLICIES = ("SingleNUMANode", "Restricted", "BestEffort")
RESOURCE = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """A machine: nodes with CPUs and without, GPUs spread over those with, two threads a core."""

    cpus: int
    nodes: int
    empty: int
    gpus: int
    caches: int


LARGE: Mapping[str, Large] = {
    "2 nodes, 224 CPUs, 8 GPUs": Large(cpus=224, nodes=2, empty=0, gpus=8, caches=2),
    "34 nodes (32 without CPUs), 512 CPUs, 16 GPUs": Large(
        cpus=512, nodes=2, empty=32, gpus=16, caches=64
    ),
    "8 nodes, 256 CPUs, 8 GPUs": Large(cpus=256, nodes=8, empty=0, gpus=8, caches=32),
}


def times(large: Large, rounds: int, seed: int) -> tuple[int, int, list[float]]:
    """How many pods asked and how many were placed, and milliseconds for each, ascending."""
    chance = random.Random(seed)
    topology = _topology(large)
    placed, found = 0, list[float]()
    for _ in range(rounds):
        kept: Mapping[str, Kept] = {}
        grants: list[ContainerGrant] = []
        pods: list[Pod] = []
        for number, (each, grant) in enumerate(_arrivals(large, chance), 1):
            pods.append(each)
            grants += [] if grant is None else [grant]
            situation = _situation(topology, pods, grants)
            start = time.thread_time()
            outcome = decide(situation, Setting(), kept)
            found.append((time.thread_time() - start) * 1000)
            kept = outcome.kept
            if uid(number) in kept:
                placed += 1
            else:
                pods.pop()
    return len(found), placed, sorted(found)


def _arrivals(large: Large, chance: random.Random) -> Iterator[tuple[Pod, ContainerGrant | None]]:
    """Pods until every GPU is given out, with GPUs as a plugin that knows nothing gives them."""
    free = list(range(large.gpus))
    number = 0
    while free:
        number += 1
        gpus = chance.choice([each for each in (0, 1, 1, 2, 4) if each <= len(free)])
        own = [free.pop(0) for _ in range(gpus)]
        cpus = 1000 * chance.choice((2, 6, 8, 12, 24))
        policy = chance.choice(POLICIES)
        said = f'{{"numaTopologyPolicy": "{policy}", "singleNUMANodeExclusive": "Preferred"}}'
        amounts = {"cpu": cpus} | ({RESOURCE: gpus} if gpus else {})
        demand = Demand(container=f"c{number}", role=Role.APP, requests=amounts, limits=amounts)
        each = replace(
            pod(number, annotations={SPEC: said}), demands=Demands(containers=(demand,))
        )
        yield each, _grant(number, own) if own else None


def _grant(number: int, gpus: list[int]) -> ContainerGrant:
    ids = tuple(_address(each) for each in gpus)
    return ContainerGrant(
        namespace="shop",
        pod=f"p{number}",
        container=f"c{number}",
        cpus=frozenset(),
        devices=(DeviceGrant(resource=RESOURCE, ids=ids, nodes=()),),
        memory=(),
        dynamic=(),
    )


def _situation(topology: Topology, pods: list[Pod], grants: list[ContainerGrant]) -> Situation:
    answer = PodResources(
        pods=frozenset((each.namespace, each.name) for each in pods),
        containers=tuple(grants),
        offer=None,
    )
    return Situation(
        inputs=Inputs(pods=pods, decisions={}, topology=topology, reserved=frozenset({0, 1})),
        theirs={},
        alone=frozenset(),
        accounts=tuple,
        holders=Holders(topology, answer, ""),
        known={each.uid: 60.0 for each in pods},
        now=0.0,
    )


def _topology(large: Large) -> Topology:
    cores = large.cpus // 2
    per_node, per_cache = cores // large.nodes, cores // large.caches
    everything = range(large.nodes + large.empty)
    nodes = tuple(_node(number, large, per_node, everything) for number in everything)
    devices = tuple(
        pci_device(
            _address(number),
            kind=DeviceKind.GPU,
            node=number * large.nodes // large.gpus,
            nodes=(number * large.nodes // large.gpus,),
            node_source=NodeSource.SYSFS,
        )
        for number in range(large.gpus)
    )
    return replace(
        machine(*nodes),
        cores=tuple(frozenset({core, core + cores}) for core in range(cores)),
        caches=tuple(
            Cache(level=3, cpus=_threads(first, first + per_cache, cores), size_bytes=None)
            for first in range(0, cores, per_cache)
        ),
        pci_devices=devices,
    )


def _node(number: int, large: Large, per_node: int, everything: range) -> NumaNode:
    first = number * per_node
    cpus = _threads(first, first + per_node, large.cpus // 2) if number < large.nodes else set()
    distances = {other: 10 if other == number else 21 for other in everything}
    made = numa_node(number, "", distances=distances)
    kind = NodeKind.CPU if cpus else NodeKind.MEMORY
    return replace(made, cpus=frozenset(cpus), kind=kind)


def _threads(first: int, end: int, cores: int) -> frozenset[int]:
    return frozenset(cpu for core in range(first, end) for cpu in (core, core + cores))


def _address(number: int) -> str:
    return f"0000:{number + 1:02x}:00.0"
