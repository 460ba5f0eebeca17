"""Who may have written a cpuset file, by the set that is in it now.

The kernel doesn't tell who wrote. kubelet's static policy writes the sets that its state file
names (https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/), systemd those
of AllowedCPUs= and AllowedMemoryNodes= at a daemon-reload
(https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html), a runtime
those of the container's spec at any update of its resources
(https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#cpu). On cgroup v1 the
kernel itself takes an offline CPU out of every set
(https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet


class Writer(StrEnum):
    """Whose set it looks like; the values are those of a metric's label."""

    KUBELET_STATIC = "kubelet-static"
    SYSTEMD = "systemd"
    RUNTIME_UPDATE = "runtime-update"
    KERNEL_HOTPLUG = "kernel-hotplug"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What others are known to want of one file, CPUs or memory nodes alike.

    `online` is what the machine has. `shared` and `exclusive` are kubelet's default set and what
    it gave the container alone; None where its static policy is off or the set isn't known.
    `spec` is the set in the container's spec and `allowed` that of the systemd unit's AllowedCPUs,
    None where not known and empty where none is set. `systemd` says whether systemd made the
    cgroup.
    """

    online: CpuSet
    shared: CpuSet | None = None
    exclusive: CpuSet | None = None
    spec: CpuSet | None = None
    allowed: CpuSet | None = None
    systemd: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """The likely writer, and the sentence that says why."""

    writer: Writer
    because: str


def likely_writer(wanted: CpuSet, seen: CpuSet, evidence: Evidence) -> Suspect:
    """Who wrote `seen` where `wanted` was; UNKNOWN where nobody is known to want that set.

    The sentence names the others who want the same set too.
    """
    shown = cpulist.render(seen) or "the empty set"
    suspects = list(_suspects(wanted, seen, evidence))
    if not suspects:
        return Suspect(writer=Writer.UNKNOWN, because=f"{shown} is what nobody is known to want")
    because = " and ".join(suspect.because for suspect in suspects)
    return Suspect(writer=suspects[0].writer, because=f"{shown} is {because}")


def _suspects(wanted: CpuSet, seen: CpuSet, evidence: Evidence) -> Iterator[Suspect]:
    """Those who want the set, the surest first."""
    if seen and seen != wanted and seen == wanted & evidence.online:
        yield Suspect(writer=Writer.KERNEL_HOTPLUG, because="ours without what is offline")
    # kubelet comes before those whom it told its set: its runtime, and by that systemd.
    for writer, theirs, because in (
        (Writer.KUBELET_STATIC, evidence.exclusive, "what kubelet's static policy gave it alone"),
        (Writer.KUBELET_STATIC, evidence.shared, "the shared pool of kubelet's static policy"),
        (Writer.SYSTEMD, evidence.allowed, "what the systemd unit allows"),
        (Writer.RUNTIME_UPDATE, evidence.spec, "the set of the container's spec"),
    ):
        if theirs and theirs == seen:
            yield Suspect(writer=writer, because=because)
    if evidence.systemd and seen in (frozenset(), evidence.online):
        # What a unit without AllowedCPUs is given at a daemon-reload.
        yield Suspect(writer=Writer.SYSTEMD, because="what systemd leaves a unit without a set")
