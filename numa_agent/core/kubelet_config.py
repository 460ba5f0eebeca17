"""kubelet's configuration: its file and drop-ins laid over each other, and what they say.

https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ for members and defaults,
https://kubernetes.io/docs/reference/node/kubelet-config-directory-merging/ for drop-ins.
"""

import re
import struct
from collections.abc import Mapping, Sequence

from numa_agent.core import quantity
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import Document, mapping
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.kubelet_members import Members, shown

KIND = "KubeletConfiguration"

_HARD = "evictionHard"
_MERGE_DEFAULTS = "mergeDefaultEvictionSettings"
_MEMORY_SIGNAL = "memory.available"
_DEFAULTS = KubeletSettings()
_DEPTH = 5
"""How deep KubeletConfiguration has objects in objects (logging.options.json), and one more."""

_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})%")
_MEMORY_KIND = re.compile(r"memory|hugepages-[1-9][0-9]{0,8}[KMGTPE]i")


def merge(documents: Sequence[Document]) -> Document:
    """kubelet's configuration file and then its drop-ins, each laid over those before it.

    Objects are merged key by key, everything else is replaced, and null takes a member back to its
    default (a JSON merge patch, RFC 7396). kubelet fills in its evictionHard before it reads the
    drop-ins: one of theirs adds to the defaults, while one in the file itself takes their place.
    """
    if len(documents) < 2:
        return documents[0] if documents else {}
    main, *drop_ins = documents
    merged: Document = {**main, _HARD: _filled_in(main)}
    for drop_in in drop_ins:
        merged = _laid_over(merged, drop_in, _DEPTH)
    # Nothing is filled in after the drop-ins, whatever they ask for.
    given = {_HARD: {}, **merged}
    return {**given, _MERGE_DEFAULTS: False} if given.get(_MERGE_DEFAULTS) is True else given


def parse_settings(document: Document) -> tuple[KubeletSettings, tuple[str, ...]]:
    """The settings, with kubelet's defaults, and sentences that name what can't be read.

    A member that can't be read has its default; one entry of an object costs that entry alone.
    Takes the configuration as kubelet's file has it and as `/configz` answers with it.
    """
    told = document.get("kubeletconfig")
    # What runs has its defaults filled in, so that an evictionHard left out is an empty one.
    running = isinstance(told, Mapping)
    members = Members(mapping(told) if running else document)
    reserved_cpus = members.cpus("reservedSystemCPUs")
    settings = KubeletSettings(
        cpu_manager_policy=members.text("cpuManagerPolicy", _DEFAULTS.cpu_manager_policy),
        cpu_manager_options=members.texts("cpuManagerPolicyOptions"),
        memory_manager_policy=members.text("memoryManagerPolicy", _DEFAULTS.memory_manager_policy),
        topology_manager_policy=members.text(
            "topologyManagerPolicy", _DEFAULTS.topology_manager_policy
        ),
        topology_manager_scope=members.text(
            "topologyManagerScope", _DEFAULTS.topology_manager_scope
        ),
        topology_manager_options=members.texts("topologyManagerPolicyOptions"),
        reserved_cpus=reserved_cpus,
        reserved=_reserved(members, reserved_cpus),
        eviction_memory=_eviction(members, running),
        reserved_memory=_reserved_memory(members),
        cgroup_root=members.text("cgroupRoot", _DEFAULTS.cgroup_root),
    )
    return settings, tuple(members.problems)


def eviction_bytes(settings: KubeletSettings, machine_memory_bytes: int) -> int:
    """The bytes of memory that kubelet keeps free by evictionHard, to the byte as it counts them.

    Raises ValueError when the settings' text is neither a quantity nor a percentage.
    """
    text = settings.eviction_memory
    match = _PERCENTAGE.fullmatch(text)
    if match is None:
        return quantity.whole(text) if text else 0
    # kubelet works with a 32-bit fraction: 10% of 64 GiB is 102 bytes more than a tenth.
    return int(machine_memory_bytes * _single(_single(float(match[1])) / 100))


def reserved_cpu_count(settings: KubeletSettings) -> int:
    """How many whole CPUs are kept for the system, as the static policy rounds them up."""
    if settings.reserved_cpus is not None:
        return len(settings.reserved_cpus)
    return -(-settings.reserved.get("cpu", 0) // 1000)


def _reserved(members: Members, reserved_cpus: CpuSet | None) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for name in ("systemReserved", "kubeReserved"):
        for resource, value in members.entries(name):
            found = members.amount(f"{name}.{resource}", resource, value)
            if found is not None:
                total[resource] = total.get(resource, 0) + found
    if reserved_cpus is not None:
        total["cpu"] = 1000 * len(reserved_cpus)
    return dict(sorted(total.items()))


def _eviction(members: Members, running: bool) -> str:
    signals = dict(members.entries(_HARD))
    defaults_too = members.flag(_MERGE_DEFAULTS) and not running
    value = signals.get(_MEMORY_SIGNAL)
    if value is None:
        hard = members.get(_HARD)
        given = running if hard is None else isinstance(hard, Mapping)
        # A signal that a given evictionHard leaves out has no threshold.
        return "" if given and not defaults_too else _DEFAULTS.eviction_memory
    if value in ("0%", "100%"):
        # kubelet's two ways to say that there is no threshold.
        return ""
    if isinstance(value, str) and _is_threshold(value):
        return value
    members.refuse(
        f"{_HARD}.{_MEMORY_SIGNAL}",
        "not a threshold (a quantity above 0 such as 100Mi, or a percentage such as 5%):"
        f" {shown(value)}; {_DEFAULTS.eviction_memory} is taken",
    )
    return _DEFAULTS.eviction_memory


def _is_threshold(text: str) -> bool:
    match = _PERCENTAGE.fullmatch(text)
    if match is not None:
        return float(match[1]) <= 100
    try:
        return quantity.parse(text) > 0
    except ValueError:
        return False


def _reserved_memory(members: Members) -> Mapping[int, Mapping[str, int]]:
    value = members.get("reservedMemory")
    if value is None:
        return {}
    if not isinstance(value, list | tuple):
        members.refuse("reservedMemory", f"not a list: {shown(value)}")
        return {}
    found: dict[int, dict[str, int]] = {}
    for place, item in enumerate(value):
        name = f"reservedMemory[{place}]"
        node_id = mapping(item).get("numaNode")
        limits = mapping(item).get("limits")
        if isinstance(node_id, bool) or not isinstance(node_id, int) or node_id < 0:
            members.refuse(f"{name}.numaNode", f"not a NUMA node's id: {shown(node_id)}")
        elif not isinstance(limits, Mapping):
            members.refuse(f"{name}.limits", f"not an object: {shown(limits)}")
        else:
            _limits(members, f"{name}.limits", limits, found.setdefault(node_id, {}))
    return {node_id: found[node_id] for node_id in sorted(found) if found[node_id]}


def _limits(members: Members, name: str, limits: Document, node: dict[str, int]) -> None:
    """Take one node's limits in; the first that names a kind of memory stands."""
    for kind, value in limits.items():
        if not isinstance(kind, str) or _MEMORY_KIND.fullmatch(kind) is None:
            members.refuse(name, f"neither memory nor hugepages: {shown(kind)}")
        elif kind in node:
            members.refuse(f"{name}.{kind}", "given for this NUMA node before, which stands")
        elif (size := members.amount(f"{name}.{kind}", kind, value)) is not None:
            node[kind] = size


def _filled_in(main: Document) -> object:
    """The file's evictionHard, with kubelet's default where that is asked for."""
    default = {_MEMORY_SIGNAL: _DEFAULTS.eviction_memory}
    hard = main.get(_HARD)
    if hard is None:
        return default
    if isinstance(hard, Mapping) and main.get(_MERGE_DEFAULTS) is True:
        return {**default, **hard}
    return hard


def _laid_over(base: Document, over: Document, depth: int) -> Document:
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif depth and isinstance(value, Mapping):
            merged[key] = _laid_over(mapping(merged.get(key)), value, depth - 1)
        else:
            merged[key] = value
    return merged


def _single(number: float) -> float:
    """The nearest number that 32 bits can hold."""
    (nearest,) = struct.unpack("f", struct.pack("f", number))
    return float(nearest)
