"""kubelet's state files as it writes them: compact JSON, no final newline, a checksum of its own.

The checksum is FNV-1a over the value as Go's dump library prints it. kubelet refuses a state file
whose checksum doesn't agree.
"""

import json
from collections.abc import Mapping
from typing import Any


def cpu_checkpoint(policy: str, shared: str, entries: dict[str, dict[str, str]]) -> str:
    """cpu_manager_state: the shared CPUs, and pod uid -> container -> exclusive CPUs."""
    printed = (
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy}"
        f" DefaultCPUSet:(string){shared}"
        f" Entries:(map[string]map[string]string){_go(entries)} Checksum:(checksum.Checksum)0}}"
    )
    return _render({"policyName": policy, "defaultCpuSet": shared, "entries": entries}, printed)


def memory_checkpoint(policy: str, nodes: dict[int, Any], entries: dict[str, Any]) -> str:
    """memory_manager_state: node id -> its memory tables, pod uid -> container -> blocks."""
    machine_state = _go({node_id: _go_node(state) for node_id, state in nodes.items()})
    printed = (
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string){policy}"
        f" MachineState:(state.NUMANodeMap){machine_state}"
        f" Entries:(state.ContainerMemoryAssignments){_go(entries)}"
        " Checksum:(checksum.Checksum)0}"
    )
    by_text = {node_id: nodes[node_id] for node_id in sorted(nodes, key=str)}
    state = {"policyName": policy, "machineState": by_text, "entries": entries}
    return _render(state, printed)


def _render(state: Mapping[str, object], printed: str) -> str:
    """Go leaves empty entries out of the JSON, yet counts them in the checksum."""
    told = {name: value for name, value in state.items() if value or name != "entries"}
    return json.dumps(told | {"checksum": _fnv(printed)}, separators=(",", ":"))


def _go(value: object) -> str:
    """A value of maps, lists and texts in the form that Go prints: `map[a:1 b:2]`, sorted."""
    if isinstance(value, dict) and "numaAffinity" in value:
        nodes, kind, size = _go(value["numaAffinity"]), value["type"], value["size"]
        return f"{{NUMAAffinity:([]int){nodes} Type:(v1.ResourceName){kind} Size:(uint64){size}}}"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_go(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_go, value)) + "]"
    return str(value)


def _go_node(state: dict[str, Any]) -> str:
    """A NUMA node's state, whose types and pointers the form spells out."""
    tables = {name: _go_table(table) for name, table in state["memoryMap"].items()}
    return (
        f"<*>{{NumberOfAssignments:(int){state['numberOfAssignments']}"
        f" MemoryMap:(map[v1.ResourceName]*state.MemoryTable){_go(tables)}"
        f" Cells:([]int){_go(state['cells'])}}}"
    )


def _go_table(table: dict[str, int]) -> str:
    return (
        f"<*>{{TotalMemSize:(uint64){table['total']}"
        f" SystemReserved:(uint64){table['systemReserved']}"
        f" Allocatable:(uint64){table['allocatable']}"
        f" Reserved:(uint64){table['reserved']} Free:(uint64){table['free']}}}"
    )


def _fnv(text: str) -> int:
    """FNV-1a, 32 bits."""
    result = 0x811C9DC5
    for byte in text.encode():
        result = (result ^ byte) * 0x01000193 & 0xFFFFFFFF
    return result
