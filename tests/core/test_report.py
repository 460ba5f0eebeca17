"""What one pass saw, did and failed at: whether all is well, and the same for programs."""

from dataclasses import replace

import pytest

from numa_agent.core.binding import Refusal, Step, Target
from numa_agent.core.conditions import Condition
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Proof, Publication, Report, SourceAge, Write, to_json
from numa_agent.core.verdict import judge
from tests.machine_tree import TWO_NODES, container_id, cpus, pod

POD = pod(1, "0-3")
TARGET = Target(
    pod=POD, container=POD.containers[0], container_id=container_id(1), cpus=cpus("0-3")
)
WRITE = Write(
    step=Step(target=TARGET, path="kubepods/c1", before=None, cpus=cpus("0-3")), error=None
)
PROOF = Proof(target=TARGET, verdict=judge(cpus("0-3"), cpus("0-3"), TWO_NODES))
REFUSAL = Refusal(pod=pod(2), code="malformed", message="odd")

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
    writes=(WRITE,),
    proofs=(PROOF,),
    problems=(),
    failures=(),
    sources=(SourceAge(source="pods", age_seconds=0.0, error=None),),
    looked=True,
)


ODD = Condition(code="odd", subject="s", message="m")
NOT_SENT = Publication(manifest={"kind": "Device"}, published=None)
STOOD_BACK = Publication(
    manifest={"kind": "Device"}, published=Published(outcome=Outcome.STOOD_BACK, detail="")
)


def proved(effective: str | None) -> Proof:
    seen = None if effective is None else cpus(effective)
    return replace(PROOF, verdict=judge(cpus("0-5"), seen, TWO_NODES))


def test_a_pass_that_did_all_it_wanted_is_good() -> None:
    assert GOOD.good
    assert replace(GOOD, publications=(), writes=(), proofs=()).good
    assert replace(GOOD, conditions=(ODD,)).good


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
    refused = replace(WRITE, step=replace(WRITE.step, before=cpus("0-7")), error="wasn't taken")
    report = replace(
        GOOD,
        refusals=(REFUSAL,),
        writes=(WRITE, refused),
        proofs=(PROOF, proved(None)),
        problems=("p",),
        failures=("f",),
        conditions=(ODD,),
        publications=(*GOOD.publications, NOT_SENT),
        sources=(SourceAge(source="node", age_seconds=None, error="down"),),
    )
    write = {"pod": "shop/p1", "container": "c1", "cgroup": "kubepods/c1", "cpus": "0-3"}
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
        "writes": [
            {**write, "before": None, "error": None},
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
            },
            {
                "pod": "shop/p1",
                "container": "c1",
                "verdict": "unknown",
                "reason": "its cgroup wasn't found, so the CPUs in force were not seen",
                "decided": "0-5",
                "effective": None,
            },
        ],
        "problems": ["p"],
        "failures": ["f"],
        "sources": [{"source": "node", "age_seconds": None, "error": "down"}],
    }
