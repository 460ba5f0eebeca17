"""The faults in a Report, each as a notice about the pod that has it, or about the Node."""

from collections.abc import Iterable, Iterator, Mapping

from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import RESERVED_UNKNOWN, Refusal
from numa_agent.core.pods import Pod
from numa_agent.core.publishing import Outcome
from numa_agent.core.report import PODS, Report
from numa_agent.core.telling import reasons
from numa_agent.core.telling.notices import About, Notice, Reason, about_node, about_pod, notice
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Alignment, Aspect, Verdict

_UNTOLD = {Outcome.STOOD_BACK, Outcome.UNAVAILABLE, Outcome.THROTTLED}
"""Standing back is the second publisher's fault, which has a reason of its own; and a server that
is ill isn't helped by an Event from every node when it is back."""

_SHOWN = 3
"""So many messages of one reason are told in one Event about the Node."""

Found = Iterator[tuple[Reason, str]]


def faults(report: Report, pods: Iterable[Pod], node_name: str) -> tuple[Notice, ...]:
    """What of a pass is to be told."""
    by_name = _by_name(pods)
    of_pods = (
        *_of_conditions(report.conditions, by_name),
        *(
            notice(about_pod(each.pod), _why_refused(each), f"{each.code}: {each.message}")
            for each in report.refusals
        ),
        *_of_writes(report, by_name),
        *_of_proofs(report),
    )
    of_node = (
        *_of_gpus(report.topology),
        *_of_publications(report),
        *_of_sources(report),
        *((reasons.POD_UNREADABLE, problem) for problem in report.problems),
        *(
            (reason, each.message)
            for each in report.conditions
            if (reason := reasons.EVENT_REASONS.get(each.code)) and reason.about is About.NODE
        ),
    )
    return _once_each((*of_pods, *_merged(of_node, node_name)))


def _why_refused(refusal: Refusal) -> Reason:
    so_far = refusal.code == RESERVED_UNKNOWN
    return reasons.REFUSED_SO_FAR if so_far else reasons.REFUSED


def between(conditions: Iterable[Condition], pods: Iterable[Pod]) -> tuple[Notice, ...]:
    """What is to be told of what was done between passes."""
    return _once_each(_of_conditions(conditions, _by_name(pods)))


def _by_name(pods: Iterable[Pod]) -> Mapping[str, Pod]:
    # A finished pod's name may be another's by now.
    return {pod.full_name: pod for pod in sorted(pods, key=lambda pod: not pod.finished)}


def _once_each(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    found: dict[object, Notice] = {}
    for each in notices:
        found.setdefault(each.identity, each)
    return tuple(found.values())


def _of_conditions(conditions: Iterable[Condition], pods: Mapping[str, Pod]) -> Iterator[Notice]:
    for each in conditions:
        reason = reasons.EVENT_REASONS.get(each.code)
        # The name of a container may follow that of its pod.
        pod = pods.get(each.subject.partition(" ")[0])
        if reason is not None and reason.about is About.POD and pod is not None:
            yield notice(about_pod(pod), reason, each.message, _key(each))


def _key(condition: Condition) -> str:
    """What tells a condition from others of its pod where its words are volatile.

    Why a pod isn't placed has a code of its own in them; the numbers beside it change with every
    pod that comes and goes.
    """
    if condition.code != "assigner-unplaced":
        return condition.code
    return " ".join((condition.code, *condition.message.split(": ", 2)[1:2]))


def _of_writes(report: Report, pods: Mapping[str, Pod]) -> Iterator[Notice]:
    for each in report.writes:
        pod = pods.get(each.step.pod)
        if each.error is not None and pod is not None:
            key = f"{each.step.container} {each.step.file}"
            yield notice(about_pod(pod), reasons.WRITE_FAILED, each.error, key)


def _of_proofs(report: Report) -> Iterator[Notice]:
    old = any(each.source == PODS and each.error is not None for each in report.sources)
    for each in report.proofs:
        verdict = each.verdict
        # A container that was started since has another cgroup, and nobody tells its id.
        if verdict.kept or (old and verdict.effective is None):
            continue
        notes = "".join(f"; {note}" for note in verdict.notes)
        message = f"container {each.container.name}: {verdict.reason}{notes}"
        yield notice(about_pod(each.pod), _of_verdict(verdict), message, each.container.name)


def _of_verdict(verdict: Verdict) -> Reason:
    led = {each.about for each in verdict.reasons if each.leads_to is verdict.alignment}
    if verdict.effective != verdict.decided or verdict.alignment is Alignment.UNKNOWN:
        return reasons.NOT_IN_FORCE
    if Aspect.CPUS not in led:
        return reasons.MISPLACED
    return reasons.SPLIT if verdict.alignment is Alignment.SPLIT else reasons.NOT_IN_FORCE


def _of_gpus(topology: Topology) -> Found:
    lost = [
        str(gpu.device.address)
        for gpu in topology.gpus
        if not gpu.device.nodes and not gpu.device.given_away
    ]
    if lost:
        what = f"GPU {lost[0]}" if len(lost) == 1 else f"GPUs {', '.join(lost)}"
        yield (
            reasons.TOPOLOGY_UNKNOWN,
            f"no source tells the NUMA node of {what}: no CPUs can be chosen beside it;"
            " `numa-agent topology` says what each source told",
        )


def _of_publications(report: Report) -> Found:
    for each in report.publications:
        published = each.published
        if published is None or each.good or published.outcome in _UNTOLD:
            continue
        kind = each.manifest["kind"]
        yield reasons.PUBLISH_FAILED, f"{kind}: {published.outcome.value}: {published.detail}"


def _of_sources(report: Report) -> Found:
    errors = {each.error for each in report.sources if each.error is not None}
    for each in report.sources:
        if each.error is not None:
            reason = reasons.SERVER_AWAY if each.unavailable else reasons.SOURCE_FAILED
            yield reason, f"{each.source}: {each.error}"
    for failure in report.failures:
        if failure not in errors:
            yield reasons.PASS_INCOMPLETE, failure


def _merged(of_node: Iterable[tuple[Reason, str]], node_name: str) -> Iterator[Notice]:
    """One notice for each reason, so that the Node's Events are few whatever is wrong."""
    messages: dict[Reason, dict[str, None]] = {}
    for reason, message in of_node:
        messages.setdefault(reason, {})[message] = None
    for reason, own in messages.items():
        shown = "; ".join([*own][:_SHOWN])
        more = f"; and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
        # Two that have one name last each for itself.
        key = "away" if reason is reasons.SERVER_AWAY else ""
        yield notice(about_node(node_name), reason, f"{shown}{more}", key)
