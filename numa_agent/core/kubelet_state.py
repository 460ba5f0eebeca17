"""kubelet's cpu_manager_state and memory_manager_state, in each form that kubelet has written.

https://github.com/kubernetes/kubernetes/tree/master/pkg/kubelet/cm/cpumanager/state and
.../memorymanager/state. Since KEP-5526 whole pods have entries too (`podEntries`), and newer
kubelets repeat everything as JSON text in `data`, which is then what counts: the memory manager
has its pods' entries only there.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from numa_agent.core import cpulist
from numa_agent.core.cpulist import MAX_ID, CpuSet
from numa_agent.core.documents import Document
from numa_agent.core.grants import MemoryGrant
from numa_agent.core.kubelet import CpuManagerState, MemoryManagerState, MemoryPool

_MAX_BYTES = 2**63 - 1
"""kubelet counts in unsigned 64 bits, so a subtraction gone wrong there looks like 16 EiB."""

_NODE_ID = re.compile(r"0|[1-9][0-9]{0,4}")

_T = TypeVar("_T")


def parse_cpu_state(text: str) -> CpuManagerState:
    """The CPU manager's state. Raises ValueError, with what is wrong, for anything else.

    A missing `defaultCpuSet` is the empty set and missing entries are none. What a state of
    another policy than `static` has for entries isn't looked at: that policy gives no CPU out.
    """
    state = _state(text)
    policy = _policy(state)
    static = policy == "static"
    return CpuManagerState(
        policy=policy,
        shared=_cpus(state.get("defaultCpuSet"), "its defaultCpuSet"),
        entries=_cpu_entries(state) if static else {},
        pod_entries=_members(state, "podEntries", _cpus_of_a_pod) if static else {},
    )


def parse_memory_state(text: str) -> MemoryManagerState:
    """The memory manager's state. Raises ValueError, with what is wrong, for anything else.

    The nodes that a block of several nodes has joined (`cells`, once `nodes`) aren't read.
    """
    state = _state(text)
    pools = {
        _node_id(key): _pools(value, f"node {_shown(key)}")
        for key, value in _object(state.get("machineState"), "its machineState").items()
    }
    return MemoryManagerState(
        policy=_policy(state),
        pools=pools,
        entries=_members(state, "entries", _blocks_by_container),
        pod_entries=_members(state, "podEntries", _blocks_of_a_pod),
    )


def _state(text: str) -> Document:
    if not text.strip():
        raise ValueError("it is empty")
    state = _decoded(text, "it")
    inner = state.get("data")
    return _decoded(inner, "its data") if isinstance(inner, str) else state


def _decoded(text: str, what: str) -> Document:
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"{what} is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{what} isn't JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{what} isn't an object with a policyName")
    return value


def _policy(state: Document) -> str:
    policy = state.get("policyName")
    if not isinstance(policy, str) or not policy:
        raise ValueError("it isn't an object with a policyName")
    return policy


def _cpu_entries(state: Document) -> Mapping[str, Mapping[str, CpuSet]]:
    entries = _object(state.get("entries"), "its entries")
    if entries and all(isinstance(value, str) for value in entries.values()):
        # The form of kubelet up to 1.17: container ids and their sets.
        return {
            key: {key: _cpus(value, f"the entry of container {_shown(key)}")}
            for key, value in entries.items()
        }
    return _members(state, "entries", _cpus_by_container)


def _cpus_by_container(value: object, who: str) -> Mapping[str, CpuSet]:
    if not isinstance(value, dict):
        raise ValueError(f"{who} isn't an object of CPU lists by container")
    return {name: _cpus(cpus, f"{who}, container {_shown(name)}") for name, cpus in value.items()}


def _cpus_of_a_pod(value: object, who: str) -> CpuSet:
    return _cpus(_object(value, who).get("cpuSet"), who)


def _cpus(value: object, what: str) -> CpuSet:
    """A CPU list; none at all is the empty one, which kubelet leaves out for pods."""
    if value is None:
        return frozenset()
    if not isinstance(value, str):
        raise ValueError(f"{what} isn't a CPU list but {_shown(value)}")
    try:
        return cpulist.parse(value)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def _node_id(key: str) -> int:
    if _NODE_ID.fullmatch(key) is None:
        raise ValueError(f"its machineState has {_shown(key)}, which isn't a NUMA node's id")
    return int(key)


def _pools(value: object, where: str) -> Mapping[str, MemoryPool]:
    kinds = _object(_object(value, where).get("memoryMap"), f"the memoryMap of {where}")
    return {kind: _pool(pool, f"{_shown(kind)} of {where}") for kind, pool in kinds.items()}


def _pool(value: object, what: str) -> MemoryPool:
    pool = _object(value, what)
    return MemoryPool(
        total=_bytes(pool, "total", what),
        system_reserved=_bytes(pool, "systemReserved", what),
        allocatable=_bytes(pool, "allocatable", what),
        reserved=_bytes(pool, "reserved", what),
        free=_bytes(pool, "free", what),
    )


def _blocks_by_container(value: object, who: str) -> Mapping[str, tuple[MemoryGrant, ...]]:
    return {
        name: _blocks(blocks, f"{who}, container {_shown(name)}")
        for name, blocks in _object(value, who).items()
    }


def _blocks_of_a_pod(value: object, who: str) -> tuple[MemoryGrant, ...]:
    return _blocks(_object(value, who).get("memoryBlocks"), who)


def _blocks(value: object, who: str) -> tuple[MemoryGrant, ...]:
    return tuple(_block(block, f"a block of {who}") for block in _array(value, who))


def _block(value: object, what: str) -> MemoryGrant:
    block = _object(value, what)
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        raise ValueError(f"{what} has no type")
    nodes = _array(block.get("numaAffinity"), f"the numaAffinity of {what}")
    return MemoryGrant(
        kind=kind,
        size=_bytes(block, "size", what),
        nodes=tuple(sorted({_number(node, MAX_ID, f"a node of {what}") for node in nodes})),
    )


def _bytes(document: Document, member: str, what: str) -> int:
    return _number(document.get(member), _MAX_BYTES, f"the {member} of {what}")


def _number(value: object, largest: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise ValueError(f"{what} isn't a number from 0 to {largest} but {_shown(value)}")
    return value


def _members(state: Document, member: str, parse: Callable[[object, str], _T]) -> Mapping[str, _T]:
    """What a member of the state holds of each pod."""
    return {
        uid: parse(value, f"the entry of pod {_shown(uid)}")
        for uid, value in _object(state.get(member), f"its {member}").items()
    }


def _object(value: object, what: str) -> Document:
    """An object; none at all is an empty one, as kubelet reads its own files."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{what} isn't an object but {_shown(value)}")
    return value


def _array(value: object, what: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{what} isn't an array but {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """A value in a sentence, at most 80 characters of it."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
