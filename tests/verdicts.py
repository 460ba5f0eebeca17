"""Facts and verdicts for tests: all was seen, and there is nothing to see, unless said."""

from typing import Any

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.memory_use import MemorySource, MemoryUse
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Facts, HeldDevice, Verdict, judge
from tests.machine_tree import TWO_NODES

NO_MEMORY = MemoryUse(own={}, cache={}, source=MemorySource.CGROUP)


def facts(decided: CpuSet | None, effective: CpuSet | None, **more: Any) -> Facts:
    """What was seen of a container without memory and devices."""
    members: dict[str, Any] = {"memory": NO_MEMORY, "devices": (), "devices_unseen": None} | more
    return Facts(decided=decided, effective=effective, **members)


def verdict(
    decided: CpuSet | None,
    effective: CpuSet | None,
    topology: Topology = TWO_NODES,
    **more: Any,
) -> Verdict:
    """The verdict on it."""
    return judge(facts(decided, effective, **more), topology)


def memory(own: dict[int, int], cache: dict[int, int] | None = None) -> MemoryUse:
    """Memory by node, in MiB."""
    return MemoryUse(
        own={node: size << 20 for node, size in own.items()},
        cache={node: size << 20 for node, size in (cache or {}).items()},
        source=MemorySource.CGROUP,
    )


def device(name: str, *nodes: int, memory_node: int | None = None) -> HeldDevice:
    """A GPU in one of these nodes."""
    return HeldDevice(
        id=name,
        kind="gpu",
        nodes=nodes,
        node_source="sysfs" if nodes else "unknown",
        seen_by="podresources",
        memory_node=memory_node,
    )
