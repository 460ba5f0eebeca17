"""All checks, and what they found together."""

from collections.abc import Sequence
from dataclasses import dataclass

from numa_agent.core.doctor import (
    agent,
    alignment,
    amounts,
    cgroups,
    cluster,
    cpus,
    devices,
    kubelet,
    memory,
    nodes,
    reserved,
    tuning,
)
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Finding, Unseen, Weight
from numa_agent.core.view import Json

CHECKS: tuple[Check, ...] = (
    *nodes.CHECKS,
    *amounts.CHECKS,
    *devices.CHECKS,
    *cpus.CHECKS,
    *tuning.CHECKS,
    *memory.CHECKS,
    *alignment.CHECKS,
    *kubelet.CHECKS,
    *reserved.CHECKS,
    *cgroups.CHECKS,
    *cluster.CHECKS,
    *agent.CHECKS,
)
"""Every check, in the order of the answer."""

_WEIGHTS = list(Weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLooked:
    """A fact that wasn't to be had, and the checks that wanted it."""

    unseen: Unseen
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The findings, the heaviest first; what couldn't be looked at; the checks that are well.

    A check that lacked any of its facts is never among the latter.
    """

    findings: tuple[Finding, ...]
    not_looked: tuple[NotLooked, ...]
    well: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is at fault, as far as could be seen."""
        return self.count(Weight.FAULT) == 0

    def count(self, weight: Weight) -> int:
        """How many findings have this weight."""
        return sum(finding.rule.weight is weight for finding in self.findings)


def diagnose(seen: Examination, checks: Sequence[Check] = CHECKS) -> Diagnosis:
    """What every check says of a node."""
    findings: list[Finding] = []
    not_looked: dict[Unseen, list[str]] = {}
    well: list[str] = []
    for check in checks:
        results = list(check.look(seen))
        for result in results:
            if isinstance(result, Finding):
                findings.append(result)
            else:
                not_looked.setdefault(result, []).append(check.name)
        if not results:
            well.append(check.name)
    findings.sort(key=lambda finding: _WEIGHTS.index(finding.rule.weight))
    return Diagnosis(
        findings=tuple(findings),
        not_looked=tuple(
            NotLooked(unseen=unseen, checks=tuple(dict.fromkeys(names)))
            for unseen, names in not_looked.items()
        ),
        well=tuple(well),
    )


def to_json(diagnosis: Diagnosis) -> Json:
    """The diagnosis for programs."""
    return {
        "format": "numa-agent.doctor/v1",
        "good": diagnosis.good,
        "findings": [
            {
                "code": finding.rule.code,
                "weight": finding.rule.weight.value,
                "subject": finding.subject,
                "evidence": finding.evidence,
                "costs": finding.rule.costs,
                "fix": finding.fix,
                "source": finding.rule.source,
            }
            for finding in diagnosis.findings
        ],
        "not_looked": [
            {
                "fact": each.unseen.source,
                "why": each.unseen.why,
                "checks": list(each.checks),
            }
            for each in diagnosis.not_looked
        ],
        "well": list(diagnosis.well),
    }
