"""Binding: who has CPUs of its own, what was written, and what the kernel has in force."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import Metric

from numa_agent.core.drift import Writer
from numa_agent.core.report import Proof, Report
from numa_agent.core.verdict import Alignment
from numa_agent.serve.metrics.families import counter, gauge, histogram, one
from numa_agent.serve.tally import Tally

STATES = ("in-force", "failing", "waiting")
FILES = ("cpus", "mems")
WRITE_OUTCOMES = ("taken", "refused")


def counted(tally: Tally) -> Iterator[Metric]:
    """What is counted over the passes, and between them."""
    yield histogram(
        "numa_agent_binding_latency_seconds",
        "From when a pod was first seen without the CPUs decided for it to when it had them.",
        tally.latency,
    )
    pairs = [(file, outcome) for file in FILES for outcome in WRITE_OUTCOMES]
    yield counter(
        "numa_agent_cpuset_writes",
        "Writes of cpuset files by what became of them.",
        ["file", "outcome"],
        ((pair, tally.writes.get(pair, 0)) for pair in pairs),
    )


def binding(report: Report) -> Iterator[Metric]:
    """The families of the pods' CPUs."""
    states = Counter(_state(report, each.pod.uid) for each in report.bindings)
    yield gauge(
        "numa_agent_bindings",
        "Pods with CPUs of their own by whether the kernel has these in force.",
        ["state"],
        (((state,), states[state]) for state in STATES),
    )
    yield counter(
        "numa_agent_drift",
        "How often a cpuset was found changed by somebody else, by the likely writer.",
        ["writer"],
        (((writer,), report.drift.get(writer, 0)) for writer in Writer),
    )
    yield gauge(
        "numa_agent_assignments_refused",
        "Pods whose assignment isn't followed, by code.",
        ["code"],
        sorted(Counter((each.code,) for each in report.refusals).items()),
    )
    yield gauge(
        "numa_agent_pods_left_alone",
        "Pods that are somebody else's to bind, by code.",
        ["code"],
        sorted(Counter((each.code,) for each in report.left_alone).items()),
    )
    yield one(
        "numa_agent_pods_left_out",
        "Pods or containers that can't be used as the API server tells them.",
        len(report.problems),
    )
    verdicts = Counter(each.verdict.alignment for each in report.proofs)
    yield gauge(
        "numa_agent_containers",
        "Running containers with CPUs of their own, by verdict.",
        ["verdict"],
        (((verdict,), verdicts[verdict]) for verdict in Alignment),
    )
    yield one(
        "numa_agent_containers_quota_below_cpus",
        "Containers whose CPU quota is less than their own CPUs.",
        sum(
            each.cpu_quota is not None and each.cpu_quota < len(each.verdict.decided or ())
            for each in report.proofs
        ),
    )
    yield one(
        "numa_agent_binding_possible",
        "1 where the last pass could bind.",
        int(report.looked),
    )


def each_container(report: Report, most: int) -> tuple[list[Metric], int]:
    """The families with series for each of so many containers, and how many series lack."""
    proofs = sorted(report.proofs, key=_name)
    shown = proofs[:most]
    labels = ["namespace", "pod", "container"]
    verdicts = gauge(
        "numa_agent_container_verdict",
        "1 for the verdict on a container with CPUs of its own.",
        [*labels, "verdict"],
        (((*_name(each), each.verdict.alignment.value), 1) for each in shown),
    )
    cpus = gauge(
        "numa_agent_container_cpus",
        "The CPUs that the kernel has in force for a container.",
        labels,
        (
            (_name(each), len(each.verdict.effective))
            for each in shown
            if each.verdict.effective is not None
        ),
    )
    left = sum(1 + (each.verdict.effective is not None) for each in proofs[most:])
    return [verdicts, cpus], left


def _name(proof: Proof) -> tuple[str, str, str]:
    return proof.pod.namespace, proof.pod.name, proof.container.name


def _state(report: Report, uid: str) -> str:
    verdicts = [each.verdict for each in report.proofs if each.pod.uid == uid]
    if not verdicts:
        return "waiting"
    kept = all(each.effective == each.decided for each in verdicts)
    return "in-force" if kept else "failing"
