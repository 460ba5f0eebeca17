"""What one pass saw, did and failed at."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.asked import NOTHING, Asked, fulfilled
from numa_agent.core.conditions import Condition
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import LeftAlone, Refusal, Step
from numa_agent.core.pods import Container, Pod
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.slots import NO_SLOTS, SlotsNow, slots_json
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Verdict
from numa_agent.core.view import Json

PODS = "pods"
"""The name of the source that tells which containers run."""

_AS_WANTED = {Outcome.PENDING, Outcome.CREATED, Outcome.CHANGED, Outcome.UNCHANGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One step as it went: `error` is None when the kernel took it."""

    step: Step
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The verdict on one container with CPUs of its own.

    `tasks_seen` are those whose masks were read, `tasks_unseen` those that are hidden from here.
    `cpu_quota` are the CPUs' worth of time that it may use, None where that isn't bounded.
    `asked` is what it was to have.
    """

    pod: Pod
    container: Container
    verdict: Verdict
    asked: Asked = NOTHING
    tasks_seen: int = 0
    tasks_unseen: int = 0
    cpu_quota: float | None = None

    @property
    def has_it(self) -> bool | None:
        """Whether a container that asked for alignment has it; None where nobody asked."""
        return None if not self.asked.alignment else fulfilled(self.verdict, self.asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """An object, and what became of it; None where it isn't sent: a recorded machine's."""

    manifest: Json
    published: Published | None

    @property
    def good(self) -> bool:
        """Whether the server holds it now, if it was meant to."""
        return self.published is None or self.published.outcome in _AS_WANTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A pod and the CPUs that are its own, by an assignment that is followed."""

    pod: Pod
    cpus: CpuSet


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAge:
    """How old what a source gave is: 0 where it answered, None where it never did.

    `unavailable` says that it is the API server that doesn't answer, or is ill.
    """

    source: str
    age_seconds: float | None
    error: str | None
    unavailable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When a pass began, had bound and proved, and ended: seconds of a clock that never goes back.

    What it waits for after `bound` kept no container from its CPUs.
    """

    began: float
    bound: float
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One pass. `failures` are sources that gave nothing, `problems` pods or containers left out.

    `drift` counts, since the start, how often a set was found changed, by the likely writer.
    `conditions` are what sources disagree about and what couldn't be published. `looked` says
    whether the pods and kubelet's CPUs were known, so that binding was looked at.

    `accounts` are the NUMA nodes with CPUs, whatever the scheduler's language tells of them; none
    where nothing could be told. `reserved` are the CPUs kept for the system, `kubelet_exclusive`
    those that kubelet's static policy gave out. `slots` are how many more pods fit. `times` is
    None where nobody looked at a clock.
    """

    topology: Topology
    publications: tuple[Publication, ...]
    conditions: tuple[Condition, ...]
    refusals: tuple[Refusal, ...]
    left_alone: tuple[LeftAlone, ...]
    writes: tuple[Write, ...]
    proofs: tuple[Proof, ...]
    problems: tuple[str, ...]
    failures: tuple[str, ...]
    sources: tuple[SourceAge, ...]
    drift: Mapping[str, int]
    looked: bool
    accounts: tuple[NodeAccount, ...] = ()
    bindings: tuple[Binding, ...] = ()
    reserved: CpuSet = frozenset()
    kubelet_exclusive: CpuSet = frozenset()
    slots: SlotsNow = NO_SLOTS
    times: Times | None = None

    @property
    def good(self) -> bool:
        """Whether everything that was wanted is so, and was seen to be."""
        return (
            not self.failures
            and not self.refusals
            and not self.problems
            and all(publication.good for publication in self.publications)
            and all(write.error is None for write in self.writes)
            and all(proof.verdict.kept for proof in self.proofs)
        )


def to_json(report: Report) -> Json:
    """The report for programs, without the map (which `numa-agent topology` shows)."""
    return {
        "format": "numa-agent.report/v1",
        "good": report.good,
        "publications": [_publication(publication) for publication in report.publications],
        "conditions": [
            {"code": each.code, "subject": each.subject, "message": each.message}
            for each in report.conditions
        ],
        "refusals": [
            {"pod": refusal.pod.full_name, "code": refusal.code, "message": refusal.message}
            for refusal in report.refusals
        ],
        "left_alone": [
            {"pod": each.pod.full_name, "code": each.code, "message": each.message}
            for each in report.left_alone
        ],
        "writes": [write_json(write) for write in report.writes],
        "containers": [_proof(proof) for proof in report.proofs],
        "problems": list(report.problems),
        "failures": list(report.failures),
        "sources": [
            {"source": each.source, "age_seconds": each.age_seconds, "error": each.error}
            for each in report.sources
        ],
        "drift": dict(sorted(report.drift.items())),
        "zones": [_zone(account) for account in report.accounts],
        "bindings": [
            {"pod": each.pod.full_name, "uid": each.pod.uid, "cpus": render(each.cpus)}
            for each in report.bindings
        ],
        "cpus": {
            "reserved": render(report.reserved),
            "kubelet_exclusive": render(report.kubelet_exclusive),
        },
        "slots": slots_json(report.slots),
    }


def bindings(pods: Iterable[Pod], assigned: Mapping[str, CpuSet]) -> tuple[Binding, ...]:
    """The pods with CPUs of their own, in the pods' order; `assigned` is by pod uid."""
    return tuple(Binding(pod=pod, cpus=assigned[pod.uid]) for pod in pods if pod.uid in assigned)


def _zone(account: NodeAccount) -> Json:
    amounts = sorted(account.resources.items())
    return {
        "numa_node": account.node.id,
        "resources": {
            name: {
                "capacity": each.capacity,
                "allocatable": each.allocatable,
                "available": each.available,
            }
            for name, each in amounts
        },
    }


def _publication(publication: Publication) -> Json:
    published = publication.published
    return {
        "outcome": "not-sent" if published is None else published.outcome.value,
        "detail": "" if published is None else published.detail,
        "object": publication.manifest,
    }


def write_json(write: Write) -> Json:
    """One write for programs."""
    step = write.step
    return {
        "pod": step.pod,
        "container": step.container,
        "cgroup": step.path,
        "file": step.file,
        "before": render(step.before),
        "after": render(step.after),
        "reason": step.reason,
        "error": write.error,
    }


def _proof(proof: Proof) -> Json:
    verdict = proof.verdict
    return {
        "pod": proof.pod.full_name,
        "container": proof.container.name,
        "verdict": verdict.alignment.value,
        "reason": verdict.reason,
        "decided": None if verdict.decided is None else render(verdict.decided),
        "effective": None if verdict.effective is None else render(verdict.effective),
        "tasks_seen": proof.tasks_seen,
        "tasks_unseen": proof.tasks_unseen,
        "cpu_quota": proof.cpu_quota,
        "notes": list(proof.verdict.notes),
    }
