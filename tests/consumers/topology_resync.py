"""When the plugin's cache takes a node's object over (see topology_match.py for `SP` and `API`).

The hash is the `xxhash` package's, so that ours is held against another's.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import xxhash

from tests.consumers.topology_match import Amounts, Pod, amounts, native

EXCLUSIVE = "with-exclusive-resources"


def resyncs(nrt: Mapping[str, Any], pods: Iterable[Pod], informer_mode: str = "Dedicated") -> bool:
    """Whether the object accounts for the pods that the scheduler knows on its node."""
    said = _attribute(nrt, "nodeTopologyPodsFingerprint")
    # SP cache/store.go, podFingerprintForNodeTopology: without one, never.
    if said is None:
        return False
    # Any other method is taken for `all`.
    only = _attribute(nrt, "nodeTopologyPodsFingerprintMethod") == EXCLUSIVE
    # SP cache/nrt_resources.go: the names in zones of any type.
    names = {row["name"] for zone in nrt["zones"] for row in zone.get("resources", [])}
    return said == signed(
        (pod.namespace, pod.name)
        for pod in pods
        if relevant(pod, informer_mode) and (not only or exclusive(pod, names))
    )


def relevant(pod: Pod, informer_mode: str) -> bool:
    """SP podprovider/podprovider.go: Dedicated counts all but Pending, Shared only Running."""
    return pod.phase == "Running" if informer_mode == "Shared" else pod.phase != "Pending"


def exclusive(pod: Pod, names: set[str]) -> bool:
    """SP resourcerequests/exclusive.go, AreExclusiveForPod: no init container that ends."""
    return any(
        _exclusive(amounts(container), pod.qos, names)
        for container in (*pod.sidecars, *pod.containers)
    )


def signed(pods: Iterable[tuple[str, str]]) -> str:
    """The fingerprint v001 (https://github.com/k8stopologyawareschedwg/podfingerprint)."""
    hashes = sorted(
        xxhash.xxh64_intdigest(name.encode(), xxhash.xxh64_intdigest(namespace.encode()))
        for namespace, name in pods
    )
    joined = b"".join(value.to_bytes(8, "little") for value in hashes)
    return f"pfp0v001{xxhash.xxh64_hexdigest(joined)}"


def _exclusive(wanted: Amounts, qos: str, names: set[str]) -> bool:
    for name, amount in wanted.items():
        if not native(name):
            if name in names:
                return True
        elif qos == "Guaranteed" and amount > 0:
            whole_cpus = name == "cpu" and amount.denominator == 1
            if whole_cpus or name == "memory" or name.startswith("hugepages-"):
                return True
    return False


def _attribute(nrt: Mapping[str, Any], name: str) -> str | None:
    # API v1alpha2/helper/attribute: the first of a name.
    values = (a["value"] for a in nrt.get("attributes", []) if a["name"] == name)
    return next(values, None)
