"""The fingerprint of a node's pods, by which kube-scheduler knows what an object accounts for.

Text form v001 of https://github.com/k8stopologyawareschedwg/podfingerprint; the hash is XXH64:
https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md. The scheduler drops what it assumed
about a node only once the published fingerprint equals its own, so both must count the same pods.
"""

import struct
from collections.abc import Collection, Iterable

from numa_agent.core.node import native
from numa_agent.core.pods import Pod, QosClass
from numa_agent.core.requests import Demand, Role
from numa_agent.core.view import View

ALL = "all"
WITH_EXCLUSIVE_RESOURCES = "with-exclusive-resources"
METHODS = (ALL, WITH_EXCLUSIVE_RESOURCES)

DEDICATED = "Dedicated"
"""Every pod that isn't Pending, finished ones too: what the plugin counts by default."""
SHARED = "Shared"
"""Running pods alone."""
INFORMER_MODES = (DEDICATED, SHARED)

_MASK = (1 << 64) - 1
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """The 24 characters for these pods' (namespace, name), in any order; a repeat counts again."""
    hashes = sorted(xxh64(_bytes(name), xxh64(_bytes(namespace))) for namespace, name in pods)
    digest = xxh64(b"".join(value.to_bytes(8, "little") for value in hashes))
    return f"pfp0v001{digest:016x}"


def fingerprinted(view: View, zone_resources: Collection[str]) -> list[tuple[str, str]]:
    """The (namespace, name) of the pods that the scheduler's plugin counts on this node, sorted.

    `zone_resources` are the names that the published zones list. Raises ValueError for a method or
    an informer mode that the plugin doesn't have.
    """
    if view.fingerprint_method not in METHODS:
        raise ValueError(f"fingerprint method {view.fingerprint_method!r}: not one of {METHODS}")
    if view.fingerprint_pods not in INFORMER_MODES:
        raise ValueError(f"informer mode {view.fingerprint_pods!r}: not one of {INFORMER_MODES}")
    return sorted(
        (pod.namespace, pod.name)
        for pod in view.pods
        if _counted(pod, view.fingerprint_pods)
        and (view.fingerprint_method == ALL or exclusive(pod, zone_resources))
    )


def exclusive(pod: Pod, zone_resources: Collection[str]) -> bool:
    """Whether the plugin takes the pod for one that holds something alone, by its spec alone.

    What kubelet gave out doesn't matter: a Guaranteed pod with memory counts under memory manager
    None too. Init containers that end don't count, requests of the pod as a whole neither
    (scheduler-plugins, pkg/noderesourcetopology/resourcerequests/exclusive.go).
    """
    guaranteed = pod.qos is QosClass.GUARANTEED
    return any(
        _exclusive(demand, guaranteed, zone_resources)
        for demand in pod.demands.containers
        if demand.role is not Role.INIT
    )


def xxh64(data: bytes, seed: int = 0) -> int:
    """The unsigned 64-bit XXH64 of the bytes."""
    stripes = len(data) // 32 * 32
    value = _stripes(data[:stripes], seed) if stripes else (seed + _P5) & _MASK
    value = (value + len(data)) & _MASK
    words = (len(data) - stripes) // 8 * 8 + stripes
    for (word,) in struct.iter_unpack("<Q", data[stripes:words]):
        value = (_rotate(value ^ _round(0, word), 27) * _P1 + _P4) & _MASK
    if len(data) - words >= 4:
        (half,) = struct.unpack_from("<I", data, words)
        value = (_rotate(value ^ half * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        words += 4
    for byte in data[words:]:
        value = _rotate(value ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def _stripes(data: bytes, seed: int) -> int:
    lanes = [(seed + start) & _MASK for start in (_P1 + _P2, _P2, 0, -_P1)]
    for stripe in struct.iter_unpack("<4Q", data):
        lanes = [_round(lane, word) for lane, word in zip(lanes, stripe, strict=True)]
    rotated = zip(lanes, (1, 7, 12, 18), strict=True)
    value = sum(_rotate(lane, places) for lane, places in rotated) & _MASK
    for lane in lanes:
        value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return value


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotate(value: int, places: int) -> int:
    return (value << places | value >> (64 - places)) & _MASK


def _bytes(name: str) -> bytes:
    # JSON can spell half of a surrogate pair; no pod is named so, but none may stop the pass.
    return name.encode("utf-8", "surrogatepass")


def _counted(pod: Pod, informer_mode: str) -> bool:
    return pod.phase == "Running" if informer_mode == SHARED else pod.phase != "Pending"


def _exclusive(demand: Demand, guaranteed: bool, zone_resources: Collection[str]) -> bool:
    for resource, count in demand.requests.items():
        if not native(resource):
            # A device counts even at 0, and only where a zone lists it.
            if resource in zone_resources:
                return True
        elif guaranteed and _holds_alone(resource, count):
            return True
    return False


def _holds_alone(resource: str, count: int) -> bool:
    if resource == "cpu":
        return count > 0 and count % 1000 == 0
    return count > 0 and (resource == "memory" or resource.startswith("hugepages-"))
