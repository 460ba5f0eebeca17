"""What one pass saw, did and failed at."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.binding import Refusal, Step, Target
from numa_agent.core.cpulist import render
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Verdict

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One step as it went: `error` is None when the kernel took it."""

    step: Step
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The verdict on one container that has a target."""

    target: Target
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The object, and what became of it: created, changed, unchanged, not sent or failed."""

    manifest: Mapping[str, object]
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One pass. `failures` are sources that gave nothing, `problems` pods or containers left out.

    `looked` says whether the pods and kubelet's CPUs were known, so that binding was looked at.
    """

    topology: Topology
    publication: Publication | None
    refusals: tuple[Refusal, ...]
    writes: tuple[Write, ...]
    proofs: tuple[Proof, ...]
    problems: tuple[str, ...]
    failures: tuple[str, ...]
    looked: bool

    @property
    def good(self) -> bool:
        """Whether everything that was wanted is so, and was seen to be."""
        return (
            not self.failures
            and not self.refusals
            and not self.problems
            and all(write.error is None for write in self.writes)
            and all(proof.verdict.kept for proof in self.proofs)
        )


def to_json(report: Report) -> Json:
    """The report for programs, without the map (which `numa-agent topology` shows)."""
    publication = report.publication
    return {
        "format": "numa-agent.report/v1",
        "good": report.good,
        "publication": None
        if publication is None
        else {"outcome": publication.outcome, "object": publication.manifest},
        "refusals": [
            {"pod": refusal.pod.full_name, "code": refusal.code, "message": refusal.message}
            for refusal in report.refusals
        ],
        "writes": [_write(write) for write in report.writes],
        "containers": [_proof(proof) for proof in report.proofs],
        "problems": list(report.problems),
        "failures": list(report.failures),
    }


def _write(write: Write) -> Json:
    step = write.step
    return {
        "pod": step.target.pod.full_name,
        "container": step.target.container.name,
        "cgroup": step.path,
        "before": None if step.before is None else render(step.before),
        "cpus": render(step.cpus),
        "error": write.error,
    }


def _proof(proof: Proof) -> Json:
    verdict = proof.verdict
    return {
        "pod": proof.target.pod.full_name,
        "container": proof.target.container.name,
        "verdict": verdict.alignment.value,
        "reason": verdict.reason,
        "decided": render(verdict.decided),
        "effective": None if verdict.effective is None else render(verdict.effective),
    }
