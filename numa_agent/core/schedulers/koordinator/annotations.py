"""The eight annotations on the NodeResourceTopology, each a JSON text.

Their keys and shapes are in apis/extension/numa_aware.go, cpu_normalization.go,
node_reservation.go and system_qos.go in https://github.com/koordinator-sh/koordinator. Members
that say nothing are left out as Go's omitempty does, the numbers of a CPU never.
"""

import json
from collections.abc import Mapping, Sequence

from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import render
from numa_agent.core.schedulers.koordinator.cpus import Cpu
from numa_agent.core.schedulers.koordinator.pools import (
    best_effort_cpus,
    kubelet_allocations,
    pools,
    shared_cpus,
)
from numa_agent.core.schedulers.koordinator.settings import (
    NOTHING,
    RESERVATION,
    SYSTEM_QOS,
    Setting,
    reservation,
    system_qos,
)
from numa_agent.core.view import Json, View

CPU_BASIC_INFO = "node.koordinator.sh/cpu-basic-info"
CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
SHARED_POOLS = "node.koordinator.sh/cpu-shared-pools"
BE_SHARED_POOLS = "node.koordinator.sh/be-cpu-shared-pools"
POD_CPU_ALLOCS = "node.koordinator.sh/pod-cpu-allocs"
CPU_MANAGER_POLICY = "kubelet.koordinator.sh/cpu-manager-policy"


def annotations(
    view: View, cpus: Sequence[Cpu]
) -> tuple[Mapping[str, str], tuple[Condition, ...]]:
    """The annotations by key, sorted, and what on the Node can't be understood."""
    reserved, bad_reservation = _reservation(view, cpus)
    system, bad_system = _system_qos(view)
    kept = reserved.cpus | system.cpus
    values: dict[str, object] = {
        CPU_BASIC_INFO: _basic_info(view, cpus),
        CPU_TOPOLOGY: {"detail": [_detail(cpu) for cpu in cpus]},
        SHARED_POOLS: pools(cpus, shared_cpus(view), kept),
        BE_SHARED_POOLS: pools(cpus, best_effort_cpus(view), kept),
        # koordlet's empty list is Go's nil.
        POD_CPU_ALLOCS: kubelet_allocations(view) or None,
        CPU_MANAGER_POLICY: _cpu_manager_policy(view),
        RESERVATION: reserved.members,
        SYSTEM_QOS: system.members,
    }
    texts = {key: json.dumps(values[key], separators=(",", ":")) for key in sorted(values)}
    return texts, (*bad_reservation, *bad_system)


def _detail(cpu: Cpu) -> Json:
    return {"id": cpu.id, "core": cpu.core, "socket": cpu.socket, "node": cpu.node}


def _basic_info(view: View, cpus: Sequence[Cpu]) -> Json:
    info: Json = {}
    if view.cpu_info is not None and view.cpu_info.model:
        info["cpuModel"] = view.cpu_info.model
    if len({cpu.core for cpu in cpus}) < len(cpus):
        info["hyperThreadEnabled"] = True
    if view.cpu_info is not None and view.cpu_info.vendor:
        info["vendorID"] = view.cpu_info.vendor
    return info


def _cpu_manager_policy(view: View) -> Json:
    settings = view.settings
    found: Json = {"policy": settings.cpu_manager_policy} if settings.cpu_manager_policy else {}
    if settings.cpu_manager_options:
        found["options"] = dict(sorted(settings.cpu_manager_options.items()))
    if settings.cpu_manager_policy == "static" and view.reserved:
        found["reservedCPUs"] = render(view.reserved)
    return found


def _reservation(view: View, cpus: Sequence[Cpu]) -> tuple[Setting, tuple[Condition, ...]]:
    try:
        return reservation(view.node.annotations.get(RESERVATION), cpus), ()
    except ValueError as error:
        return NOTHING, (_bad(view, RESERVATION, error),)


def _system_qos(view: View) -> tuple[Setting, tuple[Condition, ...]]:
    try:
        return system_qos(view.node.annotations.get(SYSTEM_QOS)), ()
    except ValueError as error:
        return NOTHING, (_bad(view, SYSTEM_QOS, error),)


def _bad(view: View, key: str, error: ValueError) -> Condition:
    text = repr(view.node.annotations.get(key))
    shown = text if len(text) <= 200 else text[:197] + "..."
    return Condition(
        code="koordinator-annotation-refused",
        subject=view.node.name,
        message=f"node {view.node.name}: {key} {shown} is taken as not set: {error}",
    )
