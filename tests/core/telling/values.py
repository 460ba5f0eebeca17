"""Reports and notices for tests of what is told."""

from dataclasses import replace
from typing import Any

from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Step
from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof, Report, Write
from numa_agent.core.telling import Notice, Reason, about_node, about_pod
from tests.machine_tree import TWO_NODES, cpus, pod
from tests.verdicts import verdict as judged

NODE = about_node("n1")
FAULT = Reason(name="Fault")

EMPTY = Report(
    topology=TWO_NODES,
    publications=(),
    conditions=(),
    refusals=(),
    left_alone=(),
    writes=(),
    proofs=(),
    problems=(),
    failures=(),
    sources=(),
    drift={},
    looked=True,
)


def report(**members: Any) -> Report:
    """A pass that found nothing but this."""
    return replace(EMPTY, **members)


def of(number: int, reason: Reason = FAULT, message: str = "odd", key: str = "") -> Notice:
    """A notice about pod number."""
    return Notice(subject=about_pod(pod(number)), reason=reason, message=message, key=key)


def condition(code: str, subject: str = "shop/p1", message: str = "odd") -> Condition:
    return Condition(code=code, subject=subject, message=message)


def write(number: int, error: str | None = None) -> Write:
    """A write of CPUs to a pod's own directory."""
    step = Step(
        path=f"kubepods/p{number}",
        file="cpus",
        before=cpus(""),
        after=cpus("0-3"),
        pod=f"shop/p{number}",
        container="",
        reason="it was decided",
    )
    return Write(step=step, error=error)


def proof(own: Pod, decided: str, effective: str | None = None, *, container: int = 0) -> Proof:
    """What a container of a pod has, which is what was decided unless said."""
    seen = cpus(decided if effective is None else effective)
    return Proof(
        pod=own,
        container=own.containers[container],
        verdict=judged(cpus(decided), seen),
    )
