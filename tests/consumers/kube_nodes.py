"""Nodes for the scheduler's plugin: accounts of NUMA nodes, and the objects published for them."""

from collections.abc import Sequence
from typing import Any

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod as ApiPod
from numa_agent.core.schedulers.kube_scheduler import publish
from numa_agent.core.topology import NumaNode
from numa_agent.core.view import Rendering, View
from tests.consumers.topology_match import Pod, Requests
from tests.machine_tree import machine, numa_node

GIB = 1 << 30
GPU = "nvidia.com/gpu"
SMALL, BIG = "hugepages-2Mi", "hugepages-1Gi"


def amount(capacity: int, allocatable: int | None = None, available: int | None = None) -> Amount:
    """All of it is to be had and free unless said."""
    allocatable = capacity if allocatable is None else allocatable
    available = allocatable if available is None else available
    return Amount(capacity=capacity, allocatable=allocatable, available=available)


def account(node: NumaNode, cpus: Amount, **resources: Amount) -> NodeAccount:
    """What a node with 64 GiB of memory offers; `gpu` and others by their short names."""
    names = {"gpu": GPU, "small": SMALL, "big": BIG}
    more = {names.get(name, name): found for name, found in resources.items()}
    return NodeAccount(node=node, resources={"memory": amount(64 * GIB), **more, "cpu": cpus})


def nodes(*ids: int, memory: Sequence[int] = (), distance: int = 21) -> dict[int, NumaNode]:
    """Nodes with a CPU each, and memory-only ones; the first with CPUs is nearest to these."""
    every = sorted([*ids, *memory])
    return {
        number: numa_node(
            number,
            "" if number in memory else str(number),
            memory_bytes=96 * GIB if number in memory else 64 * GIB,
            near=ids[:1] if number in memory else None,
            distances={other: 10 if other == number else distance for other in every},
        )
        for number in every
    }


def view(
    *accounts: NodeAccount,
    settings: KubeletSettings | None = None,
    pods: Sequence[ApiPod] = (),
    others: Sequence[NumaNode] = (),
    allocatable: dict[str, int] | None = None,
    **more: Any,
) -> View:
    """The node n1 with these accounts, and other NUMA nodes that nothing is accounted for."""
    every = sorted([*(a.node for a in accounts), *others], key=lambda node: node.id)
    return View(
        node=Node(name="n1", uid="u1", allocatable=allocatable or {}),
        topology=machine(*every),
        accounts=accounts,
        settings=settings or ALIGNED,
        pods=pods,
        **more,
    )


ALIGNED = KubeletSettings(
    topology_manager_policy="single-numa-node",
    topology_manager_scope="pod",
    cpu_manager_policy="static",
    memory_manager_policy="Static",
)


def told(rendering: Rendering) -> Any:
    """The one object of a rendering."""
    (manifest,) = rendering.manifests
    return manifest


def published(*accounts: NodeAccount, **more: Any) -> Any:
    """The object for a node with these accounts."""
    return told(publish(view(*accounts, **more)))


def pod(*containers: Requests, **more: Any) -> Pod:
    """A pod as the plugin sees it."""
    return Pod(containers=containers, **more)


def asking(cpu: str, **more: str) -> Requests:
    """CPUs, 1 GiB of memory, and others by their short names."""
    names = {"gpu": GPU, "small": SMALL, "big": BIG, "storage": "ephemeral-storage"}
    return {"cpu": cpu, "memory": "1Gi", **{names[name]: text for name, text in more.items()}}


def say(nrt: Any, name: str, value: str | None) -> None:
    """Give the object's attribute another value, or take it away."""
    kept = [attribute for attribute in nrt["attributes"] if attribute["name"] != name]
    nrt["attributes"] = kept if value is None else [*kept, {"name": name, "value": value}]
