"""What on a node hurts NUMA locality or the agent: pure checks over facts that others read.

A check gives findings (weight, evidence, fix, a public source), or says which fact it lacks; only
one that saw all that it needs and found nothing is well. docs/doctor.md lists every code.
"""

from numa_agent.core.doctor.diagnosis import CHECKS, Diagnosis, NotLooked, diagnose, to_json
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Finding, Rule, Told, Unseen, Weight

__all__ = [
    "CHECKS",
    "Diagnosis",
    "Examination",
    "Finding",
    "NotLooked",
    "Rule",
    "Told",
    "Unseen",
    "Weight",
    "diagnose",
    "to_json",
]
