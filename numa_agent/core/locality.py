"""A device's NUMA node, with the source of the answer; unknown stays unknown.

The kernel's numa_node is -1 where firmware gives no locality (Documentation/ABI/testing/
sysfs-bus-pci: "-1 means unknown"), and local_cpulist then names every CPU, which says nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import NodeSource
from numa_agent.core.topology import NumaNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What each source says of one device's place; `bridges` are numa_nodes, the nearest first.

    `override` is a node with CPUs. `nvml_nodes` is the driver's memory affinity.
    """

    override: int | None
    numa_node: int | None
    bridges: Sequence[int | None]
    local_cpus: CpuSet | None
    nvml_nodes: frozenset[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A device's node, or the nodes that a source names without deciding between them.

    `contradictions` are sentences: a source that disagrees with the one believed, or a number
    that is no node.
    """

    node: int | None
    nodes: tuple[int, ...]
    source: NodeSource
    contradictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Answer:
    """A source, the nodes with CPUs that it names, and its own words."""

    source: NodeSource
    nodes: frozenset[int]
    words: str


class Locator:
    """Finds a device's place among the nodes of one machine."""

    def __init__(self, nodes: Iterable[NumaNode], online: CpuSet) -> None:
        """Take the machine's nodes and its online CPUs."""
        listed = tuple(nodes)
        self._online = online
        self._cpus = {node.id: node.cpus for node in listed if node.cpus}
        self._nearest = {node.id: frozenset(node.nearest_cpu_nodes) for node in listed}
        # A node that isn't listed, or whose CPUs aren't known, may be the other one.
        whole = [node for node, cpus in self._cpus.items() if cpus >= online]
        self._only = whole[0] if len(self._cpus) == len(whole) == 1 else None

    def place(self, evidence: Evidence) -> Placement:
        """The place by the first source, in the order of NodeSource, that says anything.

        Where it names several nodes, a later source may choose among them. One that names all
        nodes with CPUs says nothing.
        """
        numbers = [raw for raw in (evidence.numa_node, *evidence.bridges) if raw is not None]
        strange = sorted({raw for raw in numbers if raw >= 0 and not self._with_cpus(raw)})
        contradictions = [f"numa_node {raw} is no online node near any CPUs" for raw in strange]
        answers = [answer for answer in self._answers(evidence) if self._tells(answer)]
        if not answers:
            # A number that can't be followed still says that the device isn't just anywhere.
            node = None if strange else self._only
            source = NodeSource.UNKNOWN if node is None else NodeSource.SINGLE_NODE
            return _placement(source, frozenset() if node is None else {node}, contradictions)
        best = answers[0]
        for answer in answers[1:]:
            if answer.nodes < best.nodes:
                best = answer
        contradictions += [
            f"{answers[0].source} says {answers[0].words}, {answer.source} says {answer.words}"
            for answer in answers[1:]
            if not answer.nodes & best.nodes
        ]
        return _placement(best.source, best.nodes, contradictions)

    def _answers(self, evidence: Evidence) -> Iterator[_Answer]:
        if evidence.override is not None:
            nodes = frozenset({evidence.override})
            yield _Answer(NodeSource.OVERRIDE, nodes, f"node {evidence.override}")
        bridge = next((raw for raw in evidence.bridges if raw is not None and raw >= 0), None)
        for raw, source in ((evidence.numa_node, NodeSource.SYSFS), (bridge, NodeSource.BRIDGE)):
            if raw is not None and raw >= 0:
                yield _Answer(source, self._with_cpus(raw), f"node {raw}")
        if evidence.local_cpus:
            words = f"CPUs {cpulist.render(evidence.local_cpus)}"
            yield _Answer(NodeSource.LOCAL_CPULIST, self._holders(evidence.local_cpus), words)
        if evidence.nvml_nodes:
            words = f"nodes {cpulist.render(evidence.nvml_nodes)}"
            yield _Answer(NodeSource.NVML, self._with_cpus(*evidence.nvml_nodes), words)

    def _tells(self, answer: _Answer) -> bool:
        """Whether an answer names some nodes and not all; local CPUs can't tell one from one."""
        if len(self._cpus) == 1:
            return bool(answer.nodes) and answer.source is not NodeSource.LOCAL_CPULIST
        return bool(answer.nodes) and answer.nodes != self._cpus.keys()

    def _with_cpus(self, *nodes: int) -> frozenset[int]:
        """The nodes that have CPUs; if none has, those nearest to a single one of them."""
        direct = self._cpus.keys() & set(nodes)
        if direct or len(nodes) != 1:
            return frozenset(direct)
        return self._nearest.get(nodes[0], frozenset()) & self._cpus.keys()

    def _holders(self, cpus: CpuSet) -> frozenset[int]:
        """The nodes of local CPUs; none if they are all CPUs, or some are in an unknown node."""
        local = cpus & self._online
        if not local or local == self._online:
            return frozenset()
        holders = {node: own for node, own in self._cpus.items() if own & local}
        return frozenset(holders) if local <= frozenset().union(*holders.values()) else frozenset()


def _placement(
    source: NodeSource, nodes: frozenset[int] | set[int], contradictions: Iterable[str]
) -> Placement:
    return Placement(
        node=min(nodes) if len(nodes) == 1 else None,
        nodes=tuple(sorted(nodes)),
        source=source,
        contradictions=tuple(contradictions),
    )
