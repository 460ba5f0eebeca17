"""What the log of a running agent says: each thing once, until it changes."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.agent import Seen
from numa_agent.cli.changes import Changes
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Proof, Publication, Report, SourceAge, Write
from tests.core.test_report import ALONE, GOOD, PROOF, REFUSAL, WRITE
from tests.machine_tree import cpus, pod
from tests.verdicts import memory
from tests.verdicts import verdict as judged

IDLE = replace(GOOD, writes=())
DRIFT = Condition(code="drift", subject="shop/p1", message="pod shop/p1: written 3 times in 2 s")


class Log:
    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.troubles: list[str] = []
        self.writes: list[Write] = []

    def report(self, report: Report, indent: int | None) -> None:
        assert indent is None
        self.reports.append(report)

    def trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)

    def write(self, write: Write) -> None:
        self.writes.append(write)


def told(*passes: Report | Seen | SourceError) -> Log:
    log = Log()
    changes = Changes(log)
    for each in passes:
        changes.tell(each)
    return log


def published(outcome: Outcome, detail: str = "") -> tuple[Publication, ...]:
    said = Published(outcome=outcome, detail=detail)
    return (Publication(manifest={"kind": "NodeResourceTopology"}, published=said),)


OWN = cpus("0-3")


def with_verdict(effective: CpuSet | None = OWN, **more: Any) -> Proof:
    return replace(PROOF, verdict=judged(OWN, effective, **more))


def hiding(tasks: int) -> Proof:
    return with_verdict(tasks_unseen=tasks)


NO_NEWS = {
    "tasks": replace(IDLE, proofs=(replace(PROOF, tasks_seen=7, tasks_unseen=2),)),
    "count in a note": replace(IDLE, proofs=(hiding(2),)),
    "memory": replace(IDLE, proofs=(with_verdict(memory=memory({0: 7})),)),
    "published": replace(IDLE, publications=published(Outcome.UNCHANGED)),
    "zones": replace(IDLE, accounts=()),
    "drift counted": replace(IDLE, drift={"unknown": 9}),
    "age": replace(
        IDLE, sources=tuple(replace(each, age_seconds=5.0) for each in GOOD.sources), drift={}
    ),
}
"""What changes from pass to pass while nothing happens that anybody has to know."""


@pytest.mark.parametrize("name", NO_NEWS)
def test_a_pass_that_says_nothing_else_is_not_printed(name: str) -> None:
    noted = replace(IDLE, proofs=(hiding(1),))
    first = noted if name == "count in a note" else IDLE
    log = told(first, NO_NEWS[name], first, NO_NEWS[name])
    assert log.reports == [first]
    assert not log.troubles


NEWS = {
    "not looked": replace(IDLE, looked=False),
    "verdict": replace(IDLE, proofs=(with_verdict(None),)),
    "reason": replace(IDLE, proofs=(with_verdict(cpu_quota=2.0),)),
    "quota": replace(IDLE, proofs=(replace(PROOF, cpu_quota=2.0),)),
    "refused to publish": replace(IDLE, publications=published(Outcome.FORBIDDEN, "no right")),
    "condition": replace(IDLE, conditions=(DRIFT,)),
    "refusal": replace(IDLE, refusals=(REFUSAL,)),
    "left alone": replace(IDLE, left_alone=(ALONE,)),
    "problem": replace(IDLE, problems=("pod x is left out",)),
    "failure": replace(IDLE, failures=("can't get Node n: down",)),
    "source": replace(IDLE, sources=(SourceAge(source="pods", age_seconds=1.0, error="down"),)),
    "reserved": replace(IDLE, reserved=CpuSet({1})),
}


@pytest.mark.parametrize("name", NEWS)
def test_a_pass_that_says_something_else_is_printed_once_and_so_is_its_end(name: str) -> None:
    before = replace(IDLE, sources=(), left_alone=(), refusals=(), proofs=())
    after = replace(
        before,
        **{
            key: getattr(NEWS[name], key)
            for key in Report.__slots__
            if getattr(NEWS[name], key) != getattr(IDLE, key)
        },
    )
    log = told(before, after, after, after, before, before)
    assert log.reports == [before, after, before]


def test_a_pass_that_wrote_is_printed_though_it_says_the_same() -> None:
    assert told(IDLE, GOOD, IDLE, GOOD).reports == [IDLE, GOOD, GOOD]


def test_a_failure_that_lasts_is_printed_once_though_it_grows_old() -> None:
    log = told(*(SourceError(f"kubelet: no answer for {age} s; waited for") for age in range(9)))
    assert log.troubles == ["kubelet: no answer for 0 s; waited for"]
    old = [
        replace(IDLE, failures=(f"node is {age} s old and the pods are of now",))
        for age in (60, 120, 180)
    ]
    assert told(*old).reports == old[:1]


def test_what_lasts_between_passes_is_said_once_until_a_pass_saw_it_over() -> None:
    seen = [
        Seen(
            conditions=(replace(DRIFT, message=f"pod shop/p1: written {n} times in {n} s"),),
            failures=(f"node is {n} s old",),
        )
        for n in range(449)
    ]
    log = told(IDLE, *seen)
    assert len(log.troubles) == 2
    log = told(*seen, IDLE, *seen)
    assert len(log.troubles) == 4
    found = replace(IDLE, conditions=(DRIFT,), failures=("node is 7 s old",))
    assert not told(found, *seen, found, *seen).troubles


def test_another_condition_or_another_pods_is_said() -> None:
    others = [
        replace(DRIFT, code="conflict"),
        replace(DRIFT, subject="shop/p2"),
        replace(DRIFT, message="pod shop/p1: by koordlet"),
    ]
    log = told(*(Seen(conditions=(each,)) for each in (DRIFT, *others, DRIFT, *others)))
    assert log.troubles == [each.message for each in (DRIFT, *others)]


def test_each_write_between_passes_is_said() -> None:
    writes = [replace(WRITE, step=replace(WRITE.step, pod=pod(n).full_name)) for n in (1, 2)]
    assert told(*(Seen(writes=(each,)) for each in (*writes, *writes))).writes == [
        *writes,
        *writes,
    ]
