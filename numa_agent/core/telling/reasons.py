"""Every reason of an Event, and the conditions that each is made of; docs/events.md explains them.

A condition that isn't an Event stays in the report and the metrics.
"""

from numa_agent.core.telling.notices import About, Kind, Reason

_NODE = About.NODE

BIND = Reason(name="CPUSetBind", kind=Kind.NORMAL, lasting=False)
REFUSED = Reason(name="CPUSetRefused")
REFUSED_SO_FAR = Reason(name="CPUSetRefused", patience=30.0)
"""For want of an answer, as an agent that has just started may have none yet."""
WRITE_FAILED = Reason(name="CPUSetWriteFailed", volatile=True, patience=30.0)
NOT_IN_FORCE = Reason(name="CPUSetNotInForce", volatile=True, patience=60.0)
SPLIT = Reason(name="CPUSetSplit", volatile=True, patience=60.0)
MISPLACED = Reason(name="NUMAMisplaced", volatile=True, patience=120.0)
TOPOLOGY_UNKNOWN = Reason(name="TopologyUnknown", about=_NODE)
SECOND_PUBLISHER = Reason(name="SecondPublisher", about=_NODE)
PUBLISH_FAILED = Reason(name="PublishFailed", about=_NODE, volatile=True, patience=60.0)
SOURCE_FAILED = Reason(name="SourceFailed", about=_NODE, volatile=True, patience=120.0)
SERVER_AWAY = Reason(name="SourceFailed", about=_NODE, volatile=True, patience=600.0)
"""Of the API server: when it can be told there, it is mostly over, and on every node at once."""
PASS_INCOMPLETE = Reason(name="PassIncomplete", about=_NODE, volatile=True, patience=120.0)
POD_UNREADABLE = Reason(name="PodUnreadable", about=_NODE)
HELD_BACK = Reason(name="EventsHeldBack", about=_NODE, volatile=True)

_QUOTA_LIFTED = Reason(name="CPUQuotaLifted", kind=Kind.NORMAL, lasting=False)
_DEGRADED = Reason(name="CPUSetDegraded")
_PARTLY_ISOLATED = Reason(name="CPUSetPartlyIsolated")
_DRIFT = Reason(name="CPUSetDrift", volatile=True)
_CONFLICT = Reason(name="CPUSetConflict", volatile=True)
_CONTAINERS_SHARE = Reason(name="ContainersShareCPUs")
_MEMORY_NOT_BOUND = Reason(name="MemoryNotBound", volatile=True)
_MEMORY_NOT_ASKED = Reason(name="MemoryNotAsked", kind=Kind.NORMAL)
_MEMORY_REMOTE = Reason(name="MemoryRemote")
_MEMORY_DROPPED = Reason(name="MemoryNodesDropped")
_MOVE_SLOW = Reason(name="MemoryMoveSlow", volatile=True)
_SHARED_EMPTY = Reason(name="SharedCPUsEmpty", about=_NODE, volatile=True)
_GPU_PLUGIN = Reason(name="GPUPluginTrouble", about=_NODE, volatile=True, patience=60.0)
_GPU_UNHEALTHY = Reason(name="GPUUnhealthy", about=_NODE)
_INCOMPLETE = Reason(name="PublishIncomplete", about=_NODE, patience=60.0)
_MISLED = Reason(name="SchedulerMisled", about=_NODE, patience=60.0)
_SETTING_REFUSED = Reason(name="NodeSettingRefused", about=_NODE)
_KUBELET_UNKNOWN = Reason(name="KubeletSettingsUnknown", about=_NODE, patience=60.0)
_PODS_LOST = Reason(name="PodsLost", about=_NODE, volatile=True, patience=60.0)
_ASSIGNED = Reason(name="NUMAAssigned", kind=Kind.NORMAL, lasting=False)
_YIELDED = Reason(name="NUMAYielded", lasting=False)
_NOT_PLACED = Reason(name="NUMANotPlaced", patience=5.0, volatile=True)
_FORGOTTEN = Reason(name="DecisionsLost", about=_NODE, lasting=False)
_UNSAVED = Reason(name="DecisionsNotKept", about=_NODE, volatile=True, patience=60.0)
_DISAGREE = Reason(name="SourcesDisagree", about=_NODE, volatile=True, patience=300.0)

EVENT_REASONS = {
    "accounts-unknown": _INCOMPLETE,
    "ack-cpu-manager-policy": _MISLED,
    "ack-gpu-links-unknown": TOPOLOGY_UNKNOWN,
    "ack-gpu-mig-mode": _MISLED,
    "ack-gpu-mode-removed": _MISLED,
    "ack-gpu-mode-unknown": _SETTING_REFUSED,
    "ack-gpu-mode-without-gpus": _MISLED,
    "ack-node-name-too-long": _INCOMPLETE,
    "allocatable-differs": _DISAGREE,
    "assigner-assigned": _ASSIGNED,
    "assigner-forgot": _FORGOTTEN,
    "assigner-moves": _ASSIGNED,
    "assigner-unplaced": _NOT_PLACED,
    "assigner-unsaved": _UNSAVED,
    "assigner-yields": _YIELDED,
    "claimed-device-unmatched": _DISAGREE,
    "containers-left-to-kubelet": _CONTAINERS_SHARE,
    "cpu-capacity-differs": _DISAGREE,
    "cpu-quota-lifted": _QUOTA_LIFTED,
    "cpu-sources-differ": _DISAGREE,
    "degraded": _DEGRADED,
    "device-node-differs": _DISAGREE,
    "drift-conflict": _CONFLICT,
    "drift-wait": _DRIFT,
    "extended-resource-count-differs": _DISAGREE,
    "extended-resource-unplaced": TOPOLOGY_UNKNOWN,
    "gpu-card-unhealthy": _GPU_UNHEALTHY,
    "gpu-events-unheard": _GPU_PLUGIN,
    "gpu-plugin-rival": _GPU_PLUGIN,
    "gpu-plugin-unregistered": _GPU_PLUGIN,
    "gpu-topology-withheld": TOPOLOGY_UNKNOWN,
    "isolated-mixed": _PARTLY_ISOLATED,
    "koordinator-annotation-refused": _SETTING_REFUSED,
    "koordinator-devices-unknown": _INCOMPLETE,
    "koordinator-gpu-left-out": _INCOMPLETE,
    "koordinator-gpu-place-unknown": TOPOLOGY_UNKNOWN,
    "koordinator-gpu-unhealthy": _GPU_UNHEALTHY,
    "koordinator-topology-unknown": _INCOMPLETE,
    "koordinator-zone-positions": _MISLED,
    "kubelet-setting-unread": _KUBELET_UNKNOWN,
    "kubelet-settings-unknown": _KUBELET_UNKNOWN,
    "measured-distances-unusable": _INCOMPLETE,
    "memory-sources-differ": _DISAGREE,
    "mems-away-from-cpus": _MEMORY_REMOTE,
    "mems-dropped": _MEMORY_DROPPED,
    "mems-not-set": _MEMORY_NOT_BOUND,
    "mems-untold": _MEMORY_NOT_ASKED,
    "move-lasts-long": _MOVE_SLOW,
    "pods-lost": _PODS_LOST,
    "policy-differs": _DISAGREE,
    "reservation-differs": _DISAGREE,
    "reserved-cpus-differ": _DISAGREE,
    "reserved-cpus-offline": _DISAGREE,
    "second-publisher": SECOND_PUBLISHER,
    "shared-cpus-empty": _SHARED_EMPTY,
    "topology-manager-unknown": _MISLED,
    "zones-many": _MISLED,
    "zones-unpublishable": _INCOMPLETE,
}
"""The reason by the code of a condition."""

NO_EVENT = frozenset(
    {"ack-gpu-mode-absent", "ack-gpu-mode-other", "assigner-adopted", "gpu-card-left-out"}
)
"""Codes of conditions that are no fault: an admin's choice, or where all is as it was."""

_OTHERS = (
    *(BIND, REFUSED, WRITE_FAILED, NOT_IN_FORCE, SPLIT, MISPLACED, PUBLISH_FAILED, SOURCE_FAILED),
    *(PASS_INCOMPLETE, POD_UNREADABLE, HELD_BACK),
)

REASONS = {each.name: each for each in (*EVENT_REASONS.values(), *_OTHERS)}
"""Every reason by its name."""
