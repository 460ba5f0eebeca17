"""A device's NUMA node, with the source of the answer; unknown stays unknown.

The kernel's numa_node is -1 where firmware gives no locality (Documentation/ABI/testing/
sysfs-bus-pci: "-1 means unknown"), and local_cpulist then names every CPU, which says nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import NodeSource
from numa_agent.core.topology import NumaNode


@dataclass(frozen=True, slots=True)
class Place:
    """A device's node, always one with CPUs, and where the answer came from."""

    node: int | None
    source: NodeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What each source says of one device's place; `bridges` are numa_nodes, the nearest first.

    `override` is a node with CPUs. `nvml_nodes` is the driver's memory affinity.
    """

    override: int | None
    numa_node: int | None
    bridges: Iterable[int | None]
    local_cpus: CpuSet | None
    nvml_nodes: frozenset[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A device's node, or the nodes that a source names without deciding between them.

    `contradictions` are sentences, one for each source that disagrees with the one believed.
    """

    node: int | None
    nodes: tuple[int, ...]
    source: NodeSource
    contradictions: tuple[str, ...] = ()


class Locator:
    """Finds a device's place among the nodes of one machine."""

    def __init__(self, nodes: Iterable[NumaNode], online: CpuSet) -> None:
        """Take the machine's nodes and its online CPUs."""
        listed = tuple(nodes)
        self._online = online
        self._cpus = {node.id: node.cpus for node in listed if node.cpus}
        self._nearest: Mapping[int, tuple[int, ...]] = {
            node.id: node.nearest_cpu_nodes for node in listed
        }
        unsure = any(node.cpus is None for node in listed)
        self._only = next(iter(self._cpus)) if len(self._cpus) == 1 and not unsure else None

    def place(self, evidence: Evidence) -> Placement:
        """The place by the first source that names one node, else by the first that names several.

        Sources in the order of NodeSource.
        """
        answers = [answer for answer in self._answers(evidence) if self._says_something(answer[1])]
        best = next((a for a in answers if len(a[1]) == 1), answers[0] if answers else None)
        if best is None:
            last = self.otherwise()
            nodes = () if last.node is None else (last.node,)
            return Placement(node=last.node, nodes=nodes, source=last.source)
        source, found, _ = best
        return Placement(
            node=min(found) if len(found) == 1 else None,
            nodes=tuple(sorted(found)),
            source=source,
            contradictions=tuple(_contradictions(best, answers)),
        )

    def _says_something(self, nodes: frozenset[int]) -> bool:
        """Whether these are fewer than all nodes with CPUs, or the only one."""
        return bool(nodes) and (len(nodes) == 1 or nodes != self._cpus.keys())

    def _answers(self, evidence: Evidence) -> Iterator["_Answer"]:
        if evidence.override is not None:
            # The operator knows better than the sources that this repairs.
            yield NodeSource.OVERRIDE, frozenset({evidence.override}), f"node {evidence.override}"
            return
        for raw, source in (
            (evidence.numa_node, NodeSource.SYSFS),
            (self._first_placed(evidence.bridges), NodeSource.BRIDGE),
        ):
            place = self.of_node_id(raw, source)
            if place is not None and place.node is not None:
                yield source, frozenset({place.node}), f"node {raw}"
                break
        if self.several:
            words = f"CPUs {cpulist.render(evidence.local_cpus or ())}"
            yield NodeSource.LOCAL_CPULIST, self._holders(evidence.local_cpus), words
        if evidence.nvml_nodes:
            said = f"nodes {cpulist.render(evidence.nvml_nodes)}"
            yield NodeSource.NVML, self._with_cpus(evidence.nvml_nodes), said

    def _first_placed(self, raws: Iterable[int | None]) -> int | None:
        return next((raw for raw in raws if self.of_node_id(raw) is not None), None)

    def _with_cpus(self, nodes: frozenset[int]) -> frozenset[int]:
        """The nodes of a set that have CPUs; if none has, the nearest of them that do."""
        direct = nodes & self._cpus.keys()
        if direct or len(nodes) > 1:
            return direct
        return frozenset(self._nearest.get(min(nodes), ()))

    @property
    def several(self) -> bool:
        """Whether there is a choice of nodes, or may be."""
        return self._only is None

    def of_node_id(self, raw: int | None, source: NodeSource = NodeSource.SYSFS) -> Place | None:
        """The place that a numa_node number gives, None when it gives none.

        A node without CPUs stands for the nearest node with CPUs, if that is a single one.
        """
        if raw is None or raw < 0:
            return None
        near = self._nearest.get(raw, ())
        return Place(near[0], source) if len(near) == 1 else None

    def of_local_cpus(self, cpus: CpuSet | None) -> Place | None:
        """The place that local CPUs give: their node, if they lie in one and aren't all CPUs."""
        holders = self._holders(cpus)
        return Place(min(holders), NodeSource.LOCAL_CPULIST) if len(holders) == 1 else None

    def _holders(self, cpus: CpuSet | None) -> frozenset[int]:
        """The nodes of local CPUs; none if they are all CPUs, or some are in an unknown node."""
        local = (cpus or frozenset()) & self._online
        if not local or local == self._online:
            return frozenset()
        holders = {node: own for node, own in self._cpus.items() if own & local}
        return frozenset(holders) if local <= frozenset().union(*holders.values()) else frozenset()

    def otherwise(self) -> Place:
        """The place of a device that no file places: the only node there is, or unknown."""
        if self._only is not None:
            return Place(self._only, NodeSource.SINGLE_NODE)
        return Place(None, NodeSource.UNKNOWN)


_Answer = tuple[NodeSource, frozenset[int], str]
"""A source, the nodes with CPUs that it names, and its own words."""


def _contradictions(best: _Answer, answers: Iterable[_Answer]) -> Iterator[str]:
    for source, nodes, words in answers:
        if not nodes & best[1]:
            yield f"{best[0]} says {best[2]}, {source} says {words}"
