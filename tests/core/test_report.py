"""What one pass saw, did and failed at: whether all is well, and the same for programs."""

from dataclasses import replace

import pytest

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import LeftAlone, Refusal, Step
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import (
    Proof,
    Publication,
    Report,
    SourceAge,
    Write,
    bindings,
    to_json,
)
from tests.machine_tree import TWO_NODES, cpus, pod
from tests.verdicts import verdict as judged

POD = pod(1, "0-3")
STEP = Step(
    path="kubepods/p1",
    file="cpus",
    before=cpus(""),
    after=cpus("0-3"),
    pod="shop/p1",
    container="",
    reason="it was decided",
)
WRITE = Write(step=STEP, error=None)
PROOF = Proof(
    pod=POD,
    container=POD.containers[0],
    verdict=judged(cpus("0-3"), cpus("0-3")),
)
TASKS: dict[str, object] = {"tasks_seen": 0, "tasks_unseen": 0, "cpu_quota": None, "notes": []}
ALONE = LeftAlone(pod=pod(3), code="opted-out", message="off")
REFUSAL = Refusal(pod=pod(2), code="malformed", message="odd")

ACCOUNT = NodeAccount(
    node=TWO_NODES.nodes[0],
    resources={"cpu": Amount(capacity=4, allocatable=3, available=1)},
)

GOOD = Report(
    topology=TWO_NODES,
    publications=(
        Publication(
            manifest={"kind": "NodeResourceTopology"},
            published=Published(outcome=Outcome.CREATED, detail="the object was made"),
        ),
    ),
    conditions=(),
    refusals=(),
    left_alone=(),
    writes=(WRITE,),
    proofs=(PROOF,),
    problems=(),
    failures=(),
    sources=(SourceAge(source="pods", age_seconds=0.0, error=None),),
    drift={"systemd": 2},
    looked=True,
)


ODD = Condition(code="odd", subject="s", message="m")
NOT_SENT = Publication(manifest={"kind": "Device"}, published=None)
STOOD_BACK = Publication(
    manifest={"kind": "Device"}, published=Published(outcome=Outcome.STOOD_BACK, detail="")
)


def proved(effective: str | None) -> Proof:
    seen = None if effective is None else cpus(effective)
    return replace(PROOF, verdict=judged(cpus("0-5"), seen))


def test_a_pass_that_did_all_it_wanted_is_good() -> None:
    assert GOOD.good
    assert replace(GOOD, publications=(), writes=(), proofs=()).good
    assert replace(GOOD, conditions=(ODD,), left_alone=(ALONE,)).good


@pytest.mark.parametrize(
    "report",
    [
        replace(GOOD, failures=("no pods",)),
        replace(GOOD, publications=(*GOOD.publications, STOOD_BACK)),
        replace(GOOD, refusals=(REFUSAL,)),
        replace(GOOD, problems=("pod a/b is left out",)),
        replace(GOOD, writes=(WRITE, replace(WRITE, error="wasn't taken"))),
        replace(GOOD, proofs=(PROOF, proved(None))),
        replace(GOOD, proofs=(PROOF, proved("0-7"))),
        replace(GOOD, proofs=(PROOF, proved("0-5"))),
    ],
)
def test_one_bad_thing_makes_a_pass_not_good(report: Report) -> None:
    assert not report.good


def test_programs_read_the_same_with_sets_as_kernel_lists() -> None:
    refused = replace(WRITE, step=replace(STEP, before=cpus("0-7")), error="wasn't taken")
    report = replace(
        GOOD,
        refusals=(REFUSAL,),
        left_alone=(ALONE,),
        writes=(WRITE, refused),
        proofs=(PROOF, proved(None)),
        problems=("p",),
        failures=("f",),
        conditions=(ODD,),
        publications=(*GOOD.publications, NOT_SENT),
        sources=(SourceAge(source="node", age_seconds=None, error="down"),),
        accounts=(ACCOUNT,),
        bindings=bindings((POD, pod(3)), {POD.uid: cpus("0-3")}),
        reserved=cpus("4"),
        kubelet_exclusive=cpus("5-6"),
    )
    write = {
        "pod": "shop/p1",
        "container": "",
        "cgroup": "kubepods/p1",
        "file": "cpus",
        "after": "0-3",
        "reason": "it was decided",
    }
    assert to_json(report) == {
        "format": "numa-agent.report/v1",
        "good": False,
        "publications": [
            {
                "outcome": "created",
                "detail": "the object was made",
                "object": {"kind": "NodeResourceTopology"},
            },
            {"outcome": "not-sent", "detail": "", "object": {"kind": "Device"}},
        ],
        "conditions": [{"code": "odd", "subject": "s", "message": "m"}],
        "refusals": [{"pod": "shop/p2", "code": "malformed", "message": "odd"}],
        "left_alone": [{"pod": "shop/p3", "code": "opted-out", "message": "off"}],
        "writes": [
            {**write, "before": "", "error": None},
            {**write, "before": "0-7", "error": "wasn't taken"},
        ],
        "containers": [
            {
                "pod": "shop/p1",
                "container": "c1",
                "verdict": "aligned",
                "reason": "CPUs 0-3 are in force, all in node 0",
                "decided": "0-3",
                "effective": "0-3",
                **TASKS,
            },
            {
                "pod": "shop/p1",
                "container": "c1",
                "verdict": "unknown",
                "reason": "its cgroup wasn't found, so the CPUs in force were not seen",
                "decided": "0-5",
                "effective": None,
                **TASKS,
            },
        ],
        "problems": ["p"],
        "failures": ["f"],
        "sources": [{"source": "node", "age_seconds": None, "error": "down"}],
        "drift": {"systemd": 2},
        "zones": [
            {
                "numa_node": 0,
                "resources": {"cpu": {"capacity": 4, "allocatable": 3, "available": 1}},
            }
        ],
        "bindings": [{"pod": "shop/p1", "uid": POD.uid, "cpus": "0-3"}],
        "cpus": {"reserved": "4", "kubelet_exclusive": "5-6"},
        "slots": {"gpu_resource": None, "shapes_from": "named", "shapes": [], "notes": []},
    }
