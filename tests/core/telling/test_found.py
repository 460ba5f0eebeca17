"""Which faults of a pass are told, about which object and in which words."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.cpusets import LeftAlone, Refusal
from numa_agent.core.devices import DeviceKind, Gpu
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Publication, SourceAge
from numa_agent.core.telling import (
    EVENT_REASONS,
    NO_EVENT,
    About,
    Ledger,
    Notice,
    about_node,
    about_pod,
    between,
    faults,
)
from tests.core.telling.values import condition, proof, report, write
from tests.machine_tree import TWO_NODES, container, cpus, pci_device, pod
from tests.verdicts import device, memory, verdict

P1, P2 = pod(1), pod(2)


def found(**members: Any) -> list[tuple[str, str, str]]:
    """Object, reason and words of what is told."""
    return [shown(each) for each in faults(report(**members), (P1, P2), "n1")]


def shown(notice: Notice) -> tuple[str, str, str]:
    return notice.subject.full_name, notice.reason.name, notice.message


@pytest.mark.parametrize("code", sorted(EVENT_REASONS))
def test_every_condition_with_a_reason_is_told_about_its_object(code: str) -> None:
    reason = EVENT_REASONS[code]
    who = "shop/p1" if reason.about is About.POD else "n1"
    assert found(conditions=(condition(code),)) == [(who, reason.name, "odd")]


def test_why_a_pod_is_not_placed_is_told_again_for_another_code_and_not_for_other_numbers() -> (
    None
):
    """With every pod that comes and goes, what is free is another number."""
    said = (
        "pod shop/p1: no-room: node 0: 2 CPUs short",
        "pod shop/p1: no-room: node 0: 1 CPU short",
        "pod shop/p1: never-fits: node 0: 9 CPUs short",
    )
    first, second, third = (
        faults(report(conditions=(condition("assigner-unplaced", message=each),)), (P1,), "n1")
        for each in said
    )
    assert first[0].identity == second[0].identity != third[0].identity
    assert [each[0].message for each in (first, second, third)] == [*said]


@pytest.mark.parametrize("code", sorted({*NO_EVENT, "never-heard-of"}))
def test_a_condition_without_a_reason_is_not_told(code: str) -> None:
    assert found(conditions=(condition(code),)) == []


def test_a_good_pass_tells_nothing() -> None:
    alone = LeftAlone(pod=P1, code="opted-out", message="off")
    good = Publication(
        manifest={"kind": "Device"}, published=Published(outcome=Outcome.PENDING, detail="")
    )
    not_sent = Publication(manifest={"kind": "Device"}, published=None)
    assert (
        found(
            left_alone=(alone,),
            writes=(write(1),),
            proofs=(proof(P1, "0-3"),),
            publications=(good, not_sent),
            sources=(SourceAge(source="node", age_seconds=0.0, error=None),),
        )
        == []
    )


def test_a_refused_assignment_is_told_of_the_pod_with_code_and_words() -> None:
    refusal = Refusal(pod=P1, code="cpus-taken", message="CPUs 0-3 are p2's")
    assert found(refusals=(refusal,)) == [
        ("shop/p1", "CPUSetRefused", "cpus-taken: CPUs 0-3 are p2's")
    ]


@pytest.mark.parametrize(("code", "patience"), [("cpus-taken", 0.0), ("reserved-unknown", 30.0)])
def test_what_is_refused_for_want_of_an_answer_has_to_last(code: str, patience: float) -> None:
    refusal = Refusal(pod=P1, code=code, message="neither says so far")
    [told] = faults(report(refusals=(refusal,)), (P1,), "n1")
    assert (told.reason.name, told.reason.patience) == ("CPUSetRefused", patience)


def test_a_write_that_failed_is_told_of_its_pod() -> None:
    assert found(writes=(write(2, "wasn't taken"),)) == [
        ("shop/p2", "CPUSetWriteFailed", "wasn't taken")
    ]


@pytest.mark.parametrize(
    ("decided", "effective", "reason"),
    [
        ("0-3", "0-7", "CPUSetNotInForce"),
        ("0-3", "0-1", "CPUSetNotInForce"),
        ("2-5", "2-5", "CPUSetSplit"),
        ("2-5", "2-6", "CPUSetNotInForce"),
    ],
)
def test_cpus_that_are_not_as_decided_are_told(decided: str, effective: str, reason: str) -> None:
    ((who, name, words),) = found(proofs=(proof(P1, decided, effective),))
    assert (who, name) == ("shop/p1", reason)
    assert words.startswith(f"container c1: CPUs {effective} are in force")


def test_a_container_without_a_cgroup_is_told_only_while_the_pods_are_of_now() -> None:
    gone = replace(proof(P1, "0-3"), verdict=verdict(cpus("0-3"), None))
    outside = proof(P2, "0-3", "0-7")
    of_now = SourceAge(source="pods", age_seconds=0.0, error=None)
    both = [who for who, *_ in found(proofs=(gone, outside), sources=(of_now,))]
    assert both == ["shop/p1", "shop/p2"]
    old = SourceAge(source="pods", age_seconds=120.0, error="can't watch pods")
    of_pods = [who for who, *_ in found(proofs=(gone, outside), sources=(old,)) if who != "n1"]
    assert of_pods == ["shop/p2"]


def test_what_limits_a_container_is_told_with_it() -> None:
    limit = "kubepods has CPUs 0-1 only"
    limited = replace(proof(P1, "0-3"), verdict=verdict(cpus("0-3"), cpus("0-1"), limit=limit))
    assert found(proofs=(limited,))[0][2].endswith(f"aren't in force ({limit})")


def test_memory_or_a_device_elsewhere_is_told_as_such() -> None:
    own = cpus("0-3")
    for found_so in ({"memory": memory({1: 64})}, {"devices": (device("g", 1),)}):
        away = replace(proof(P1, "0-3"), verdict=verdict(own, own, **found_so))
        ((who, name, _),) = found(proofs=(away,))
        assert (who, name) == ("shop/p1", "NUMAMisplaced")
    unseen = replace(proof(P1, "0-3"), verdict=verdict(own, own, memory=None))
    assert found(proofs=(unseen,)) == []


def test_a_container_is_told_from_another_and_not_by_the_set_of_the_moment() -> None:
    own = pod(1, containers=(container(1), container(2)))
    proofs = (proof(own, "0-3", "0-7"), proof(own, "0-3", "0-7", container=1))
    told = faults(report(proofs=proofs), (own,), "n1")
    later = faults(report(proofs=(proof(own, "0-3", "0-6"),)), (own,), "n1")
    assert len({each.identity for each in told}) == 2
    assert later[0].identity == told[0].identity


def test_the_numbers_of_a_volatile_fault_do_not_make_another_one_and_those_of_others_do() -> None:
    def identities(code: str) -> set[object]:
        words = ("8 bytes are free", "9 bytes are free")
        told = [
            faults(report(conditions=(condition(code, message=each),)), (P1,), "n1")
            for each in words
        ]
        return {each.identity for (each,) in told}

    assert len(identities("mems-not-set")) == 1
    assert len(identities("degraded")) == 2


def test_the_container_in_a_condition_s_subject_is_not_taken_for_the_pod_s_name() -> None:
    assert found(conditions=(condition("cpu-quota-lifted", "shop/p1 c1"),))[0][0] == "shop/p1"


def test_a_condition_about_a_pod_that_is_not_there_is_told_of_nobody() -> None:
    assert found(conditions=(condition("degraded", "shop/gone"),)) == []


def test_of_two_pods_of_one_name_the_one_that_has_not_finished_is_meant() -> None:
    old = replace(pod(1), uid="0" * 32, phase="Succeeded")
    for pods in ((old, P1), (P1, old)):
        (told,) = faults(report(conditions=(condition("degraded"),)), pods, "n1")
        assert told.subject.uid == P1.uid


def test_a_static_pod_s_uid_is_the_one_that_kubectl_looks_for() -> None:
    annotations = {"kubernetes.io/config.mirror": "a" * 32, "kubernetes.io/config.hash": "a" * 32}
    assert about_pod(pod(1, annotations=annotations)).uid == "a" * 32
    assert about_pod(P1).uid == P1.uid


def test_much_that_is_wrong_with_the_node_is_one_event_for_each_reason() -> None:
    many = tuple(condition("policy-differs", str(n), f"odd {n}") for n in range(100))
    other = condition("reserved-cpus-offline", "x", "CPU 9 is offline")
    (told,) = found(conditions=(*many, other))
    assert told == ("n1", "SourcesDisagree", "odd 0; odd 1; odd 2; and 98 more")


def gpu(address: str, **facts: Any) -> Gpu:
    device = pci_device(address, kind=DeviceKind.GPU, **facts)
    return Gpu(device=device, cpus=None, memory_node=None, nics=(), nvml=None)


def test_gpus_without_a_place_are_one_event_on_the_node() -> None:
    gpus = (
        gpu("0000:18:00.0"),
        gpu("0000:3b:00.0"),
        gpu("0000:5e:00.0", node=0, nodes=(0,)),
        gpu("0000:86:00.0", nodes=(0, 1)),
    )
    ((who, reason, words),) = found(topology=replace(TWO_NODES, gpus=gpus))
    assert (who, reason) == ("n1", "TopologyUnknown")
    assert "GPUs 0000:18:00.0, 0000:3b:00.0:" in words


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome.NO_CRD, [("n1", "PublishFailed", "Device: no-crd: why")]),
        (Outcome.FORBIDDEN, [("n1", "PublishFailed", "Device: forbidden: why")]),
        (Outcome.TOO_LARGE, [("n1", "PublishFailed", "Device: too-large: why")]),
        (Outcome.UNAVAILABLE, []),
        (Outcome.THROTTLED, []),
        (Outcome.STOOD_BACK, []),
        (Outcome.UNCHANGED, []),
    ],
)
def test_an_object_that_is_not_published_is_told(
    outcome: Outcome, told: list[tuple[str, str, str]]
) -> None:
    published = Published(outcome=outcome, detail="why")
    publication = Publication(manifest={"kind": "Device"}, published=published)
    assert found(publications=(publication,)) == told


def test_a_source_s_failure_is_told_once_and_other_failures_besides() -> None:
    down = SourceAge(source="pods", age_seconds=40.0, error="can't list pods")
    assert found(
        sources=(down,),
        failures=("can't list pods", "no CPU is given out: why"),
        problems=("pod a/b is left out",),
    ) == [
        ("n1", "SourceFailed", "pods: can't list pods"),
        ("n1", "PassIncomplete", "no CPU is given out: why"),
        ("n1", "PodUnreadable", "pod a/b is left out"),
    ]


@pytest.mark.parametrize(("unavailable", "patience"), [(False, 120.0), (True, 600.0)])
def test_a_server_that_is_away_is_told_of_late(unavailable: bool, patience: float) -> None:
    down = SourceAge(source="pods", age_seconds=40.0, error="down", unavailable=unavailable)
    (told,) = faults(report(sources=(down,)), (), "n1")
    assert (told.reason.name, told.reason.patience) == ("SourceFailed", patience)


def test_what_is_away_and_what_fails_are_told_each_in_its_own_time() -> None:
    sources = tuple(
        SourceAge(source=name, age_seconds=40.0, error=f"no {name}", unavailable=away)
        for name, away in (("podresources", False), ("pods", True), ("node", True))
    )
    both = faults(report(sources=sources), (), "n1")
    assert [(each.reason.patience, each.message) for each in both] == [
        (120.0, "podresources: no podresources"),
        (600.0, "pods: no pods; node: no node"),
    ]
    ledger = Ledger(about_node("n1"), lambda: 0.0)
    ledger.hear(0.0, both[1:])
    # kubelet's silence begins when the server has been away for long, and isn't told at once.
    ledger.hear(300.0, both)
    assert ledger.take(310.0) is None
    told = ledger.take(425.0)
    assert told is not None
    assert told.notice.message == "podresources: no podresources"


def test_what_is_found_between_passes_is_told_of_its_pod() -> None:
    fights = [condition("drift-conflict"), condition("drift-conflict", message="another file")]
    assert [shown(each) for each in between(fights, (P1,))] == [
        ("shop/p1", "CPUSetConflict", "odd")
    ]


def test_a_node_is_told_of_by_its_name_for_a_uid() -> None:
    assert (about_node("n1").uid, about_node("n1").namespace) == ("n1", "")
