"""The agent itself: whether one runs here, and what a pass of it would be short of."""

from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight

_FLOCK = "https://man7.org/linux/man-pages/man2/flock.2.html"

NOT_RUNNING = Rule(
    code="agent-not-running",
    weight=Weight.NOTE,
    costs="what is bound stays bound; nothing new is bound or published",
    source=_FLOCK,
)
SOURCE_FAILING = Rule(
    code="source-failing",
    weight=Weight.FAULT,
    costs="a pass lacks this: depending on it nothing is bound, or nothing published",
    source="https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net"
    "/device-plugins/#monitoring-device-plugin-resources",
)
NOTED = Rule(
    code="pass-condition",
    weight=Weight.WARNING,
    costs="of two numbers that differ one is taken, or what nobody can place is left out",
    source="https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/",
)


def _running(seen: Examination) -> Results:
    told = seen.agent.running
    if told.value is None:
        yield told.unseen
    elif not told.value:
        yield NOT_RUNNING.found(
            "numa-agent",
            f"no process that is seen from here holds {told.source}",
            "kubectl get pods -n numa-agent -o wide shows whether this node has one",
        )


def _sources(seen: Examination) -> Results:
    failures, conditions = seen.agent.failures, seen.agent.conditions
    if failures.value is None:
        yield failures.unseen
    for failure in failures.value or ():
        yield SOURCE_FAILING.found(
            "pass", failure, "follow the message; docs/runbooks/NumaAgentSourceFailing.md"
        )
    if conditions.value is None:
        yield conditions.unseen
    for condition in conditions.value or ():
        yield NOTED.found(
            condition.subject,
            f"{condition.code}: {condition.message}",
            "follow the message; docs/troubleshooting.md has a line for each code",
        )


CHECKS = (
    Check(name="agent", rules=(NOT_RUNNING,), look=_running),
    Check(name="pass-sources", rules=(SOURCE_FAILING, NOTED), look=_sources),
)
