"""Whether a Node tells what its kubelet's settings keep back, or of a time before them."""

import pytest

from numa_agent.core.accounting import is_of
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node

GIB = 1 << 30
SETTINGS = KubeletSettings(reserved={"cpu": 2000, "memory": GIB}, eviction_memory="1Gi")


def node(*, cpu: int = 2000, memory: int = 2 * GIB, hugepages: int = 0) -> Node:
    """One that keeps so much back of 8 CPUs and 16 GiB."""
    return Node(
        name="n",
        uid=None,
        capacity={"cpu": 8000, "memory": 16 * GIB, "hugepages-2Mi": hugepages},
        allocatable={"cpu": 8000 - cpu, "memory": 16 * GIB - memory - hugepages},
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (node(), True),
        (node(hugepages=4 * GIB), True),
        (node(memory=2 * GIB + 4096), True),
        (node(cpu=0), False),
        (node(cpu=2001), False),
        (node(memory=GIB), False),
        (node(memory=2 * GIB + (1 << 20)), False),
        (Node(name="n", uid=None), True),
        (Node(name="n", uid=None, allocatable={"cpu": 6000}), True),
    ],
)
def test_a_node_is_of_its_kubelets_settings(told: Node, expected: bool) -> None:
    assert is_of(told, SETTINGS) is expected


def test_a_percentage_is_of_the_nodes_own_memory() -> None:
    settings = KubeletSettings(reserved={"cpu": 2000, "memory": GIB}, eviction_memory="6.25%")
    assert is_of(node(), settings)
