"""The faults of a node, and the alerts that tell of each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.monitoring import faults
from tests.monitoring.faults import Change, Lay, Setting
from tests.monitoring.recording import Agent


def _nothing(_: object) -> None:
    """All is as it is."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One agent on one machine.

    `before` lays out the machine before the agent starts, `then` changes something once it runs,
    `again` in each second after that. `fires` are the alerts that fire in the end, and no other
    one may. `settings` are the agent's.
    """

    fires: frozenset[str] = frozenset()
    machine: str = "two-socket-8gpu"
    before: Lay = _nothing
    then: Change = _nothing
    again: Change = _nothing
    settings: Callable[[Path], Setting] = field(default=lambda _: {})


def fires(*names: str) -> frozenset[str]:
    return frozenset(f"NumaAgent{name}" for name in names)


SCENES = {
    "healthy": Scene(before=faults.memory_bound),
    "ended": Scene(before=faults.memory_bound, then=Agent.end, fires=fires("Absent", "Down")),
    "misspelled": Scene(
        before=faults.memory_bound, then=faults.misspelled, fires=fires("NotReady")
    ),
    "no-map": Scene(
        before=faults.memory_bound,
        then=faults.without_machine,
        fires=fires("PassesFailing", "PassesOverdue", "SourceOld"),
    ),
    "source": Scene(
        before=faults.memory_bound,
        then=faults.broken("answers/podresources.json"),
        # Which devices a container holds isn't known then, and so not whether it is aligned.
        fires=fires("SourceFailing", "SourceOld", "ContainersMisaligned"),
    ),
    "kubelet-state": Scene(
        before=faults.memory_bound,
        then=faults.broken(faults.KUBELETS_STATE),
        fires=fires("SourceFailing", "SourceOld", "BindingImpossible"),
    ),
    "never-bound": Scene(
        before=faults.without_kubelets_state,
        fires=fires("NotReady", "SourceFailing", "BindingImpossible"),
    ),
    "pod-unreadable": Scene(
        before=faults.memory_bound, then=faults.unreadable_pod, fires=fires("PodsLeftOut")
    ),
    "refused": Scene(before=faults.assigned("0-999", "web"), fires=fires("AssignmentsRefused")),
    "opted-out": Scene(before=faults.annotated("web", {"numa-agent.io/bind": "off"})),
    "split": Scene(before=faults.assigned("54-57", "train"), fires=fires("ContainersMisaligned")),
    "unwritable": Scene(
        before=faults.unwritable,
        fires=fires("BindingsFailing", "ContainersMisaligned", "PassIncomplete"),
    ),
    "drift": Scene(
        before=faults.memory_bound,
        again=faults.taken_away,
        fires=fires("CpusetDrift", "DriftConflict", "BindingsFailing", "ContainersMisaligned"),
    ),
    "throttled": Scene(before=faults.quota, fires=fires("ContainersThrottled")),
    "memory": Scene(fires=fires("MemoryNotBound")),
    "gpu-lost": Scene(machine="lost-gpu", fires=fires("GpuUnhealthy")),
    "gpu-unknown": Scene(
        machine="vm-unknown-locality", fires=fires("GpuPlaceUnknown", "ResourceUnplaced")
    ),
    "restarting": Scene(
        before=faults.memory_bound, again=faults.restarting, fires=fires("Restarting")
    ),
    "certificate": Scene(
        before=faults.memory_bound,
        settings=faults.certificate,
        then=faults.bad_certificate,
        fires=fires("CertificateReloadFailing"),
    ),
}
"""By the name of its Node."""
