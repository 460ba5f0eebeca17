"""The agent on a simulated node: its real passes, writes that are watched, and its sudden end."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from numa_agent.agent import Binder, Kept, NodeSources, Planned, Ports, Seen, run_pass
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Options
from numa_agent.core.drift import Drift
from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings
from numa_agent.core.node import Node as ApiNode
from numa_agent.core.pods import PodsRead
from numa_agent.core.report import Report
from numa_agent.core.view import Rendering
from numa_agent.host.cgroups import CpusetTree
from tests.walk.node import Node

Put = Callable[[Path, str], None]


class DiedError(BaseException):
    """The agent's process ends here. No `except` of the product catches it."""


@dataclass(slots=True)
class Sources:
    """Whether the API server answers, and kubelet's state can be read."""

    api: bool = True
    kubelet: bool = True


@dataclass(slots=True, kw_only=True)
class Pass:
    """One pass; `states` are the tasks' CPUs before the first write and after each."""

    report: Report
    planned: Planned | None
    writes: list[tuple[str, str]]
    states: list[dict[int, CpuSet]]

    @property
    def held_back(self) -> set[str]:
        """The pods that weren't written since somebody else keeps changing them."""
        return {each.subject for each in self.report.conditions if each.code.startswith("drift-")}

    @property
    def failed(self) -> set[str]:
        """The pods of which a write was refused."""
        return {each.step.pod for each in self.report.writes if each.error is not None}


@dataclass(slots=True)
class Watching:
    """Tells the agent of the cgroups of a node that were touched, as inotify would."""

    node: Node
    tree: CpusetTree
    degraded: str | None = None
    followed: set[str] = field(default_factory=set)
    state: CpuManagerState | None = None

    def follow(self, paths: Iterable[str]) -> None:
        self.followed = set(paths)

    def changed(self) -> frozenset[str]:
        found = frozenset(self.node.touched & self.followed)
        self.node.touched.clear()
        return found

    def stale(self) -> bool:
        found = self.state is not self.node.kubelet
        self.state = self.node.kubelet
        return found

    def parents(self) -> tuple[str, ...]:
        return self.tree.parents()

    def pods(self) -> frozenset[str]:
        return frozenset(self.tree.pod_directories())


class Agent:
    """One life of the agent; what it remembers ends with it.

    `put` writes in the kernel's place; None is the node's kernel. `clock` is in seconds.
    """

    def __init__(
        self,
        node: Node,
        sources: Sources | None = None,
        *,
        options: Options | None = None,
        put: Put | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._node = node
        self._sources = sources or Sources()
        self._put_to = put or node.kernel.put
        self._left: int | None = None
        self._planned: Planned | None = None
        self._writes: list[tuple[str, str]] = []
        self._states: list[dict[int, CpuSet]] = []
        self.warnings: list[str] = []
        self.drift = Drift(lambda: 0.5)
        tree = CpusetTree(node.root, put=self._put, warn=self.warnings.append)
        options = options or Options()
        sources_of = self._node_sources()
        self._ports = Ports(
            sources=sources_of,
            render=lambda _: Rendering(manifests=()),
            publish=lambda _: None,
            cpusets=tree,
            damaged=self._damaged,
            drift=self.drift,
            clock=clock,
            planned=self._take_in,
            options=options,
        )
        self._binder = Binder(
            tree,
            Watching(node, tree),
            self.drift,
            clock,
            sources_of.cpu_state.read,
            memory=self._ports.memory,
        )

    def run(self, *, die_after: int | None = None) -> Pass:
        """One pass. Raises DiedError at the write after `die_after` of them."""
        self._left = die_after
        self._writes, self._states = [], [self._node.tasks()]
        self._planned = None
        report = run_pass(self._ports)
        return Pass(
            report=report,
            planned=self._planned,
            writes=self._writes,
            states=self._states,
        )

    def dies(self, after: int) -> bool:
        """A pass that ends at the write after so many, if there are more; whether it did."""
        try:
            self.run(die_after=after)
        except DiedError:
            return True
        return False

    def hear(self) -> Seen:
        """What the agent does between passes when it is told what was touched."""
        self._left = None
        return self._binder.work()

    def _take_in(self, planned: Planned | None) -> None:
        self._planned = planned
        self._binder.know(planned)

    def _put(self, path: Path, text: str) -> None:
        if self._left == 0:
            raise DiedError
        if self._left is not None:
            self._left -= 1
        where = path.relative_to(self._node.mount).as_posix()
        self._put_to(path, text)
        self._node.touched.add(where.rpartition("/")[0])
        self._writes.append((where, text))
        self._states.append(self._node.tasks())

    def _damaged(self) -> list[str]:
        found = [*self.warnings]
        self.warnings.clear()
        return found

    def _node_sources(self) -> NodeSources:
        node = self._node
        return NodeSources(
            topology=lambda: node.topology,
            node=Kept("node", lambda: ApiNode(name="n1", uid="u1")),
            pods=Kept("pods", self._pods),
            settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
            cpu_state=Kept("cpu-manager-state", self._state),
            memory_state=Kept("memory-manager-state", lambda: None),
            granted=Kept("podresources", lambda: None),
            cpu_info=Kept("cpuinfo", lambda: None),
            free_memory=lambda nodes: dict.fromkeys(nodes, 1 << 40),
        )

    def _pods(self) -> PodsRead:
        if not self._sources.api:
            raise SourceError("pods: the API server doesn't answer")
        return PodsRead(self._node.listed, ())

    def _state(self) -> CpuManagerState:
        if not self._sources.kubelet:
            raise SourceError("cpu_manager_state: cut short")
        return self._node.kubelet
