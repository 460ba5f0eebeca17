"""Which pods may be evicted: those whose loss costs least."""

from dataclasses import replace

import pytest

from numa_agent.core.marking import Young, kept_because
from numa_agent.core.pod_keys import MIRROR
from numa_agent.core.pods import Pod
from tests.machine_tree import pod

YOUNG = Young(seconds=300, since="2026-03-02T08:00:00Z", until="2026-03-02T08:05:00Z")


def of(controller: str | None, started: str = "2026-03-02T08:04:00Z") -> Pod:
    return replace(pod(1), controller=controller, started=started)


@pytest.mark.parametrize(
    "kind", ["ReplicaSet", "StatefulSet", "ReplicationController", "CloneSet"]
)
def test_a_young_pod_that_is_made_anew_elsewhere_may_be(kind: str) -> None:
    assert kept_because(of(f"{kind}/web"), YOUNG) is None


KEPT = {
    "no controller": (of(None), "no controller"),
    "a DaemonSet's": (of("DaemonSet/agent"), "DaemonSet"),
    "a Job's": (of("Job/train"), "counts as a failure"),
    "a static pod's mirror": (of("Node/n1"), "static pod"),
    "a training's": (of("PyTorchJob/train"), "PyTorchJob's, of which it isn't known"),
    "a workflow's": (of("Workflow/nightly"), "isn't known whether it bears"),
    "a cluster's": (of("RayCluster/r"), "isn't known whether it bears"),
    "one of a kind that looks like another": (of("replicaset/web"), "isn't known whether"),
    "a mirror without an owner": (replace(of("X/y"), annotations={MIRROR: "a"}), "static pod"),
    "one that has ended": (replace(of("ReplicaSet/web"), phase="Succeeded"), "ended"),
    "one that failed": (replace(of("ReplicaSet/web"), phase="Failed"), "ended"),
    "an old one": (of("ReplicaSet/web", "2026-03-02T07:59:59Z"), "too long"),
    "one of last year": (of("ReplicaSet/web", "2025-12-31T23:59:59Z"), "too long"),
    "one that hasn't started": (of("ReplicaSet/web", ""), "isn't known"),
    "one of tomorrow": (of("ReplicaSet/web", "2026-03-03T00:00:00Z"), "isn't known"),
    "one with a strange moment": (of("ReplicaSet/web", "2026-03-02 08:04"), "isn't known"),
    "one in another zone": (of("ReplicaSet/web", "2026-03-02T08:04:00+00:00"), "isn't known"),
    "one with fractions": (of("ReplicaSet/web", "2026-03-02T08:04:00.5Z"), "isn't known"),
}


@pytest.mark.parametrize("which", KEPT)
def test_others_are_kept_and_it_is_said_why(which: str) -> None:
    found, why = KEPT[which]
    said = kept_because(found, YOUNG)
    assert said is not None
    assert why in said


@pytest.mark.parametrize("started", ["2026-03-02T08:00:00Z", "2026-03-02T08:05:00Z"])
def test_both_ends_of_the_time_belong_to_it(started: str) -> None:
    assert kept_because(of("ReplicaSet/web", started), YOUNG) is None
