"""The verdict: the worst that a reason leads to.

A bad thing that was seen outweighs what wasn't seen, and what wasn't seen outweighs all that is
good: less knowledge never makes a container aligned.
"""

from collections.abc import Iterable

from numa_agent.core.cpulist import render
from numa_agent.core.topology import Topology
from numa_agent.core.verdict.cpus import cpu_reasons, home_nodes
from numa_agent.core.verdict.devices import device_reasons
from numa_agent.core.verdict.facts import Facts
from numa_agent.core.verdict.memory import memory_reasons
from numa_agent.core.verdict.values import Alignment, Reason, Verdict
from numa_agent.core.verdict.wording import amount, devices, in_force

_WORST_FIRST = (Alignment.REMOTE, Alignment.SPLIT, Alignment.UNKNOWN)


def judge(facts: Facts, topology: Topology) -> Verdict:
    """The verdict on a container of which this was seen, on this machine."""
    home = home_nodes(facts, topology)
    reasons = (
        *cpu_reasons(facts, topology),
        *memory_reasons(facts, topology, home),
        *device_reasons(facts, topology, home),
    )
    alignment = _worst(reasons)
    if alignment is Alignment.ALIGNED:
        reasons = (Reason(code="aligned", message=_together(facts, home)), *reasons)
    return Verdict(
        alignment=alignment,
        reasons=tuple(sorted(reasons, key=_rank)),
        decided=facts.decided,
        effective=facts.effective,
        used=facts.used,
        memory=facts.memory,
        devices=facts.devices,
    )


def _worst(reasons: Iterable[Reason]) -> Alignment:
    found = {reason.leads_to for reason in reasons}
    return next((each for each in _WORST_FIRST if each in found), Alignment.ALIGNED)


def _rank(reason: Reason) -> int:
    """The worst first, and what leads to nothing last."""
    order = (*_WORST_FIRST, Alignment.ALIGNED, None)
    return order.index(reason.leads_to)


def _together(facts: Facts, home: frozenset[int] | None) -> str:
    also = []
    near = home or frozenset()
    own = sum(facts.memory.own.get(node, 0) for node in near) if facts.memory else 0
    if own:
        also.append(f"{amount(own)} of memory")
    if facts.devices:
        also.append(devices(facts.devices))
    beside = f", with {' and '.join(also)}" if also else ""
    return f"{in_force(facts)}, all in node {render(near)}{beside}"
