"""The machines that pods are placed on: each one's object, and what its Node offers."""

from dataclasses import replace
from typing import Any

from tests.consumers.kube_nodes import (
    ALIGNED,
    BIG,
    GIB,
    GPU,
    SMALL,
    account,
    amount,
    nodes,
    published,
)
from tests.consumers.topology_match import Requests

Nrt = dict[str, Any]

TWO, SPARSE, WITH_MEMORY = nodes(0, 1), nodes(0, 8), nodes(0, 1, memory=[2])

MACHINES: dict[str, tuple[Nrt, Requests]] = {
    # 32 CPUs a socket, two of them reserved on the first; a pod holds 16 CPUs there.
    "two sockets": (
        published(
            account(TWO[0], amount(32, 30, 14), gpu=amount(4, 4, 2)),
            account(TWO[1], amount(32, 32, 32), gpu=amount(4)),
        ),
        {"cpu": "62", "memory": "128Gi", GPU: "8"},
    ),
    "container scope": (
        published(
            account(TWO[0], amount(8), gpu=amount(1)),
            account(TWO[1], amount(8), gpu=amount(1)),
            settings=replace(ALIGNED, topology_manager_scope="container"),
        ),
        {"cpu": "16", "memory": "128Gi", GPU: "2"},
    ),
    # Case 14.
    "ids 0 and 8": (
        published(account(SPARSE[0], amount(8, 8, 2)), account(SPARSE[8], amount(8))),
        {"cpu": "16", "memory": "128Gi"},
    ),
    # Case 15: node 2 is a GPU's memory.
    "memory-only node": (
        published(
            account(WITH_MEMORY[0], amount(8, 8, 1)),
            account(WITH_MEMORY[1], amount(8)),
            others=[WITH_MEMORY[2]],
            memory_zones=True,
        ),
        {"cpu": "16", "memory": "128Gi"},
    ),
    # Case 45: eight GPUs, one in use on each node.
    "one GPU used on each": (
        published(
            account(TWO[0], amount(96), gpu=amount(4, 4, 3)),
            account(TWO[1], amount(96), gpu=amount(4, 4, 3)),
        ),
        {"cpu": "192", "memory": "128Gi", GPU: "8"},
    ),
    # Case 40.
    "all CPUs of node 0 reserved": (
        published(account(TWO[0], amount(8, 0, 0)), account(TWO[1], amount(8))),
        {"cpu": "8", "memory": "128Gi"},
    ),
    "hugepages on node 1": (
        published(
            account(TWO[0], amount(8), small=amount(0)),
            account(TWO[1], amount(8), small=amount(GIB)),
        ),
        {"cpu": "16", "memory": "128Gi", SMALL: "1Gi", BIG: "0"},
    ),
    # A GPU's place isn't known, so that no zone lists any.
    "GPUs left out": (
        published(account(TWO[0], amount(8, 8, 1)), account(TWO[1], amount(8))),
        {"cpu": "16", "memory": "128Gi", GPU: "2"},
    ),
    "policy none": (
        published(
            account(TWO[0], amount(8, 8, 0)),
            account(TWO[1], amount(8, 8, 0)),
            settings=replace(ALIGNED, topology_manager_policy="none"),
        ),
        {"cpu": "16", "memory": "128Gi"},
    ),
    "ids 0 and 64": (
        published(*(account(node, amount(8)) for node in nodes(0, 64).values())),
        {"cpu": "16", "memory": "128Gi"},
    ),
}
