"""When a pod's CPUs have come into force by this agent, so that it is told once."""

from collections.abc import Iterable, Iterator, Mapping

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof, Report, Write
from numa_agent.core.telling.notices import Notice, about_pod, notice
from numa_agent.core.telling.reasons import BIND
from numa_agent.core.topology import Topology

_Sets = Mapping[str, CpuSet]


class Bindings:
    """What is in force of each pod, and whose writes led there.

    A pod that this agent found bound when it started, and never wrote to, isn't told of: a restart
    says nothing.
    """

    def __init__(self) -> None:
        self._bound: dict[str, _Sets] = {}
        self._found: frozenset[str] | None = None
        self._written: set[str] = set()

    def saw(self, writes: Iterable[Write]) -> None:
        """Take in writes, those between passes as well."""
        self._written.update(
            each.step.pod for each in writes if each.error is None and each.step.file == "cpus"
        )

    def hear(self, report: Report, pods: Iterable[Pod]) -> tuple[Notice, ...]:
        """The pods whose CPUs are in force since this pass, or differ from the last ones."""
        if not report.looked:
            return ()
        live = {pod.uid: pod for pod in pods if not pod.finished}
        if self._found is None:
            self._found = frozenset(live)
        self._found &= live.keys()
        self._bound = {uid: sets for uid, sets in self._bound.items() if uid in live}
        self.saw(report.writes)
        told = tuple(self._new(report))
        self._written &= {pod.full_name for pod in live.values()}
        return told

    def _new(self, report: Report) -> Iterator[Notice]:
        for pod, proofs in _by_pod(report.proofs):
            sets = {each.container.name: each.verdict.decided or frozenset() for each in proofs}
            if any(each.verdict.effective != each.verdict.decided for each in proofs):
                continue
            own = pod.full_name in self._written or pod.uid not in (self._found or ())
            if self._bound.get(pod.uid) != sets:
                self._bound[pod.uid] = sets
                if own:
                    yield notice(about_pod(pod), BIND, _message(sets, report.topology))
            self._written.discard(pod.full_name)


def _by_pod(proofs: Iterable[Proof]) -> Iterator[tuple[Pod, list[Proof]]]:
    found: dict[str, list[Proof]] = {}
    for each in proofs:
        found.setdefault(each.pod.uid, []).append(each)
    for own in found.values():
        yield own[0].pod, own


def _message(sets: _Sets, topology: Topology) -> str:
    named: dict[CpuSet, list[str]] = {}
    for name, cpus in sets.items():
        named.setdefault(cpus, []).append(name)
    return "; ".join(
        f"CPUs {render(cpus)}{_nodes(topology.nodes_of(cpus))} are in force for"
        f" container{'s' if len(names) > 1 else ''} {', '.join(sorted(names))}"
        for cpus, names in named.items()
    )


def _nodes(ids: frozenset[int]) -> str:
    return f" of NUMA node{'s' if len(ids) > 1 else ''} {render(ids)}" if ids else ""
