"""What of kubelet's configuration and of its managers' states comes into a recording.

The members are those that core.kubelet_config and core.kubelet_state read. What they can't read is
answered with something else that they can't read, so that it costs the same.
"""

import json
import re
from collections.abc import Mapping
from typing import TypeGuard

from numa_agent.core.documents import Document, mapping
from numa_agent.core.kubelet_config import KIND
from numa_agent.core.kubelet_state import parse_cpu_state, parse_memory_state
from numa_agent.core.recording import words
from numa_agent.core.recording.fields import (
    AMOUNTS,
    QUANTITY,
    Entries,
    Leaf,
    flag,
    number,
    one_of,
    reduced,
    text,
)
from numa_agent.core.recording.groups import cgroup_root
from numa_agent.core.recording.pseudonyms import Kind, Names

UNREADABLE_CONFIG = "[]\n"
"""No object of YAML: read as a configuration, it is refused."""
UNREADABLE_STATE = "{"
"""Not JSON."""

_CPUS = text(words.cpus)
_OPTIONS = {
    *("full-pcpus-only", "distribute-cpus-across-numa", "align-by-socket"),
    *(
        "distribute-cpus-across-cores",
        "strict-cpu-reservation",
        "prefer-align-cpus-by-uncorecache",
    ),
    *("prefer-closest-numa-nodes", "max-allowable-numa-nodes"),
}
_OPTION_VALUES = Entries(
    lambda names, key: words.listed(names, key, _OPTIONS),
    lambda _: text(
        lambda names, value: (
            value
            if value in {"true", "false"} or (value.isdecimal() and value.isascii())
            else names.word(value)
        )
    ),
)
_RESERVED = [{"numaNode": number, "limits": AMOUNTS}]

_CONFIG: Mapping[str, object] = {
    "kind": one_of(KIND),
    "cpuManagerPolicy": one_of("", "none", "static"),
    "cpuManagerPolicyOptions": _OPTION_VALUES,
    "memoryManagerPolicy": one_of("", "None", "Static", "BestEffort"),
    "topologyManagerPolicy": one_of("", "none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": one_of("", "container", "pod"),
    "topologyManagerPolicyOptions": _OPTION_VALUES,
    "reservedSystemCPUs": _CPUS,
    "systemReserved": AMOUNTS,
    "kubeReserved": AMOUNTS,
    "evictionHard": {"memory.available": QUANTITY},
    "mergeDefaultEvictionSettings": flag,
    "reservedMemory": _RESERVED,
    "cgroupRoot": text(cgroup_root),
}


def config(document: Document, names: Names) -> Document:
    """kubelet's configuration, as its file has it."""
    return mapping(reduced(_CONFIG, document, names))


def configz(document: Document, names: Names) -> Document:
    """kubelet's configuration, as `/configz` answers with it."""
    told = document.get("kubeletconfig")
    if not isinstance(told, Mapping):
        return config(document, names)
    return {"kubeletconfig": config(told, names)}


def _holder(names: Names, key: str) -> str:
    """Whose CPUs or memory: a pod's by its uid, in old states a container's by its id."""
    if re.fullmatch(r"[0-9a-f]{64}", key):
        return names.of(Kind.CONTAINER_ID, key)
    return words.uuid(names, key)


def _container(names: Names, key: str) -> str:
    return names.of(Kind.CONTAINER, key)


def _cpu_entry(names: Names, value: object) -> object:
    """What a pod's containers hold, in old states a container itself."""
    if isinstance(value, str):
        return words.cpus(names, value)
    return reduced(Entries(_container, lambda _: _CPUS), value, names)


_BLOCKS = [{"type": text(words.resource), "size": number, "numaAffinity": [number]}]
_POOL: Mapping[str, Leaf] = dict.fromkeys(
    ("total", "systemReserved", "allocatable", "reserved", "free"), number
)


def _node(names: Names, key: str) -> str:
    return key if key.isascii() and key.isdecimal() else names.word(key)


_STATE: Mapping[str, object] = {
    "policyName": one_of("none", "static", "None", "Static", "BestEffort"),
    "defaultCpuSet": _CPUS,
}
_CPU_STATE = {
    **_STATE,
    "entries": Entries(_holder, lambda _: _cpu_entry),
    "podEntries": Entries(_holder, lambda _: {"cpuSet": _CPUS}),
}
_MEMORY_STATE = {
    **_STATE,
    "machineState": Entries(
        _node, lambda _: {"memoryMap": Entries(words.resource, lambda _: _POOL)}
    ),
    "entries": Entries(_holder, lambda _: Entries(_container, lambda _: _BLOCKS)),
    "podEntries": Entries(_holder, lambda _: {"memoryBlocks": _BLOCKS}),
}


def cpu_state(content: str, names: Names) -> str:
    """cpu_manager_state."""
    return _state(content, _CPU_STATE, parse_cpu_state, names)


def memory_state(content: str, names: Names) -> str:
    """memory_manager_state."""
    return _state(content, _MEMORY_STATE, parse_memory_state, names)


def _state(content: str, shape: Mapping[str, object], parse: object, names: Names) -> str:
    try:
        parse(content)  # type: ignore[operator]
        state = json.loads(content)
    except (ValueError, RecursionError):
        return UNREADABLE_STATE
    inner = state.get("data")
    if _is_text(inner):
        state = {"data": json.dumps(reduced(shape, json.loads(inner), names))}
    else:
        state = reduced(shape, state, names)
    return json.dumps(state) + "\n"


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)
