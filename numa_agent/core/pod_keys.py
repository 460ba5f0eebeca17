"""The annotations and labels of a pod that are read, and so the only ones that are kept.

Anybody who may make a pod may write 256 KiB of annotations on it, and change them at any time.
What isn't in here costs no memory and is no news. A key is defined here and nowhere else: a Pod
hasn't got any other (numa_agent.core.pods), so that a reader of one finds nothing.
"""

from collections.abc import Mapping

from numa_agent.core.strict_json import MAX_LENGTH

ASSIGNMENT = "numa-agent.io/assignment"
RESOURCE_STATUS = "scheduling.koordinator.sh/resource-status"
CPUSET = "cpuset"

DECIDING = (ASSIGNMENT, RESOURCE_STATUS, CPUSET)
"""Those that decide a pod's CPUs: of these it is read, too, who owns them."""

SCHEDULER = "cpuset-scheduler"

TOPOLOGY_SPECS = (
    "scheduling.alibabacloud.com/numa-topology-spec",
    "scheduling.koordinator.sh/numa-topology-spec",
)
"""ACK's key and Koordinator's for one shape: NUMATopologySpec in apis/extension/numa_aware.go of
https://github.com/koordinator-sh/koordinator."""

RESOURCE_SPEC = "scheduling.koordinator.sh/resource-spec"
"""Which threads of cores a pod's CPUs are to be: ResourceSpec in apis/extension/resource.go."""

CPU_KIND = "numa-agent.io/cpu-kind"
"""The kind of CPUs that a pod wants of a machine that has several, by its name in the map."""

BIND = "numa-agent.io/bind"
"""The annotation that keeps a pod from being bound, with the value `off`."""

ALLOW_ISOLATED = "numa-agent.io/allow-isolated"
"""The annotation by which a pod asks for isolated CPUs, with the value `true`."""

ASSIGNED = "numa-agent.io/assigned"
"""What the agent's own assigner decided, as it tells it: never read as a decision."""

NOT_PLACED = "numa-agent.io/not-placed"
"""Why the agent's own assigner could not place the pod as it asked, as it tells it."""

MARKS = (ASSIGNED, NOT_PLACED)
"""Those that the agent writes itself; kept to see what a pod has: numa_agent.core.marking."""

MARK_LENGTH = 4096
"""So many characters of a mark at most: the agent writes no longer ones."""

CONFIG_HASH = "kubernetes.io/config.hash"
MIRROR = "kubernetes.io/config.mirror"

QOS_CLASS = "koordinator.sh/qosClass"

ANNOTATIONS = frozenset(
    (
        *DECIDING,
        *MARKS,
        SCHEDULER,
        *TOPOLOGY_SPECS,
        RESOURCE_SPEC,
        CPU_KIND,
        BIND,
        ALLOW_ISOLATED,
        CONFIG_HASH,
        MIRROR,
    )
)
LABELS = frozenset((QOS_CLASS,))

_CRIO = (
    "cpu-load-balancing.crio.io",
    "cpu-quota.crio.io",
    "irq-load-balancing.crio.io",
    "cpu-shared.crio.io",
)


def crio_binds(key: str, value: str) -> bool:
    """Whether an annotation hands the pod to CRI-O's hooks; a container's name may follow it.

    https://github.com/cri-o/cri-o/blob/main/docs/crio.conf.5.md
    """
    return key.partition("/")[0] in _CRIO and value != "enable"


def kept_annotations(found: Mapping[str, str]) -> Mapping[str, str]:
    """Those that are read, one of CRI-O's among them; the same object where that is all."""
    kept = {key: found[key] for key in ANNOTATIONS if key in found}
    crio = min((key for key, value in found.items() if crio_binds(key, value)), default=None)
    if crio is not None:
        kept[crio] = found[crio]
    return _bounded(found, kept)


def kept_labels(found: Mapping[str, str]) -> Mapping[str, str]:
    """Those that are read; the same object where that is all."""
    return _bounded(found, {key: found[key] for key in LABELS if key in found})


def _bounded(found: Mapping[str, str], kept: dict[str, str]) -> Mapping[str, str]:
    """With values that are too long by one character at most: they are refused for that."""
    if len(kept) == len(found) and all(len(kept[key]) <= _most(key) for key in kept):
        return found
    return {key: kept[key][: _most(key) + 1] for key in sorted(kept)}


def _most(key: str) -> int:
    return MARK_LENGTH if key in MARKS else MAX_LENGTH
