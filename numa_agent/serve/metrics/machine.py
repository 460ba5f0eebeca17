"""The machine: what its NUMA nodes offer, where its GPUs are, what its CPUs are for."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import Metric

from numa_agent.core.cpu_use import cpu_use
from numa_agent.core.devices import Gpu
from numa_agent.core.report import Report
from numa_agent.core.topology import NodeKind
from numa_agent.serve.metrics.families import gauge

UNKNOWN = "unknown"
UNPLACED = "extended-resource-unplaced"


def machine(report: Report) -> Iterator[Metric]:
    """The families of the map."""
    yield from _zones(report)
    topology = report.topology
    kinds = Counter(UNKNOWN if node.kind is None else node.kind.value for node in topology.nodes)
    yield gauge(
        "numa_agent_numa_nodes",
        "Online NUMA nodes by what they have.",
        ["kind"],
        (((kind,), kinds[kind]) for kind in (*NodeKind, UNKNOWN)),
    )
    yield gauge(
        "numa_agent_gpus",
        "GPUs and accelerators by NUMA node and by health.",
        ["numa_node", "health"],
        sorted(Counter((_place(gpu), gpu.health or UNKNOWN) for gpu in topology.gpus).items()),
    )
    yield gauge(
        "numa_agent_map_warnings",
        "Facts of the map that are missing, odd or contradicted, by code.",
        ["code"],
        sorted(Counter((each.code,) for each in topology.warnings).items()),
    )
    yield gauge(
        "numa_agent_extended_resource_unplaced",
        "1 for an extended resource that is left out of every zone.",
        ["resource"],
        sorted({((each.subject,), 1) for each in report.conditions if each.code == UNPLACED}),
    )
    yield gauge(
        "numa_agent_cpus",
        "Online CPUs by NUMA node and by what they are for, each counted once.",
        ["numa_node", "use"],
        (
            ((UNKNOWN if node is None else str(node), use), count)
            for node, uses in cpu_use(report).items()
            for use, count in uses.items()
        ),
    )


def _zones(report: Report) -> Iterator[Metric]:
    amounts = [
        ((str(account.node.id), resource), amount)
        for account in report.accounts
        for resource, amount in sorted(account.resources.items())
    ]
    labels = ["numa_node", "resource"]
    yield gauge(
        "numa_agent_zone_capacity",
        "How much of a resource a NUMA node has: CPUs, bytes or devices.",
        labels,
        ((values, amount.capacity) for values, amount in amounts),
    )
    yield gauge(
        "numa_agent_zone_allocatable",
        "What of a NUMA node's resource pods may get at all.",
        labels,
        ((values, amount.allocatable) for values, amount in amounts),
    )
    yield gauge(
        "numa_agent_zone_available",
        "What of a NUMA node's resource no pod holds.",
        labels,
        ((values, amount.available) for values, amount in amounts),
    )


def _place(gpu: Gpu) -> str:
    device = gpu.device
    if device.node is not None:
        return str(device.node)
    return "several" if len(device.nodes) > 1 else UNKNOWN
